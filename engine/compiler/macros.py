"""`macros/*.sql`: CREATE MACRO statements, made temporary in every session that may need them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from interlock.engine.compiler.expansion import Bodies, defaults_of
from interlock.engine.compiler.functions import TABLE_FUNCTIONS, is_outside, is_volatile
from interlock.engine.compiler.reading import Call, Reading
from interlock.engine.compiler.text import Edit, Text
from interlock.engine.compiler.variables import Values, substitution, uses
from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.project.project import MacroFile
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.binder import Binder, Macro, NotBound
from interlock.engine.warehouse.duckdb.parser import NotParsed, NotSelect, Statements, Token
from interlock.machines.records import digest

_HEAD_TOKENS = 3
"""CREATE, MACRO and the name."""


class ProjectMacro(NamedTuple):
    """A macro of the project, with all that follows from calling it."""

    name: str
    statement: str
    digest: str
    """Of its tokens before variables are put in: layout and comments change nothing."""
    variables: tuple[str, ...]
    calls: frozenset[str]
    """Macros of the project that it calls, directly."""
    volatile: frozenset[str]


class Macros:
    """The macros of a project. Those that are wrong leave findings and are not there."""

    def __init__(self, ordered: Iterable[ProjectMacro], findings: Iterable[Diagnostic], wrong: Iterable[str] = ()) -> None:
        """In the order in which they can be created; and the names of those that are wrong, as far as these are known."""
        self.ordered = tuple(ordered)
        self.wrong = frozenset(wrong) - {macro.name for macro in self.ordered}
        self.by_name: Mapping[str, ProjectMacro] = {macro.name: macro for macro in self.ordered}
        self.findings = tuple(findings)

    @functools.cached_property
    def bodies(self) -> Bodies:
        """What calls of them stand for."""
        return Bodies(macro.statement for macro in self.ordered)

    def reached(self, names: Iterable[str]) -> tuple[ProjectMacro, ...]:
        """The macros among these names and all that they call, sorted by name."""
        found: dict[str, ProjectMacro] = {}
        waiting = [name for name in names if name in self.by_name]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self.by_name[name]
                waiting += [call for call in found[name].calls if call in self.by_name]
        return tuple(found[name] for name in sorted(found))


class _Draft(NamedTuple):
    name: str
    statement: str
    digest: str
    variables: tuple[str, ...]
    text: Text
    start: int
    shift: int
    """Bytes that the statement is longer than the text before its name."""


def macros_of(files: Iterable[MacroFile], values: Values, binder: Binder) -> Macros:
    """Read the files and create their macros in the binder, each after what it calls."""
    findings: list[Diagnostic] = []
    drafts: dict[str, _Draft] = {}
    named: set[str] = set()
    for file in sorted(files, key=lambda each: each.path):
        for draft in _drafts(file, values, findings, named):
            if draft.name in drafts:
                before = drafts[draft.name].text.path
                findings.append(
                    _finding(
                        draft,
                        "S106",
                        f"two macros are called `{draft.name}`",
                        f"the other one is in {before}",
                        "rename one; overloads go in one statement",
                    )
                )
            elif draft.name in parser.functions().names:
                named.discard(draft.name)  # who calls that name means the engine's
                findings.append(
                    _finding(
                        draft,
                        "S106",
                        f"macro `{draft.name}` is called like a function of DuckDB",
                        "it would stand in that function's place everywhere, in the statements that count and check rows, too",
                        "give it another name",
                    )
                )
            else:
                drafts[draft.name] = draft
    created = _created(drafts, binder, findings)
    definitions: dict[str, list[Macro]] = {}
    for macro in binder.macros() if created else ():
        definitions.setdefault(macro.name, []).append(macro)
    ordered: list[ProjectMacro] = []
    for draft in created:
        calls = _calls(draft.statement, definitions.get(draft.name, []))
        if calls is None:
            findings.append(
                _finding(
                    draft,
                    "L224",
                    f"what macro `{draft.name}` calls cannot be told",
                    "its parts are not read as they are written, so that nothing would tell when what it calls changes",
                    "write it in another way: each overload as `(parameters) AS body`, each default as `name := value`",
                )
            )
            continue
        outside = sorted({call.name for call in calls if _is_outside(call, definitions)})
        if outside:
            findings.append(
                _finding(
                    draft,
                    "L208",
                    f"macro `{draft.name}` calls `{outside[0]}`, which reads or writes outside",
                    "what it does would stand in no plan",
                    "pass what it needs as a parameter",
                )
            )
            continue
        ordered.append(
            ProjectMacro(
                name=draft.name,
                statement=draft.statement,
                digest=draft.digest,
                variables=draft.variables,
                calls=frozenset(call.name for call in calls if call.name in definitions),
                volatile=frozenset(call.name for call in calls if call.name not in definitions and is_volatile(call.name, call.arguments)),
            )
        )
    return Macros(ordered, findings, named)


def _drafts(file: MacroFile, values: Values, findings: list[Diagnostic], named: set[str]) -> list[_Draft]:
    text = Text(file.text, file.path)
    drafts: list[_Draft] = []
    for statement in _statements(text):
        draft = _draft(text, statement, values, findings, named)
        if draft is not None:
            drafts.append(draft)
    return drafts


def _statements(text: Text) -> list[list[Token]]:
    found: list[list[Token]] = [[]]
    for token in text.tokens:
        if token.text == ";":
            found.append([])
        elif token.kind != "comment":
            found[-1].append(token)
    return [statement for statement in found if statement]


def _draft(text: Text, statement: list[Token], values: Values, findings: list[Diagnostic], named: set[str]) -> _Draft | None:
    start, end = statement[0].start, statement[-1].end
    words = [token.text.lower() for token in statement[:_HEAD_TOKENS]]
    at = text.at(start, statement[0].end - start)
    if words[:2] != ["create", "macro"] or len(words) < _HEAD_TOKENS:
        findings.append(
            Diagnostic(
                code="S118",
                summary="a macro file holds CREATE MACRO and nothing else",
                because=f"here begins `{' '.join(token.text for token in statement[:_HEAD_TOKENS])}`",
                remedy="write `CREATE MACRO name(parameters) AS …`, or move it elsewhere",
                at=at,
            )
        )
        return None
    name = statement[2]
    if len(statement) > _HEAD_TOKENS and statement[3].text == ".":
        findings.append(
            Diagnostic(
                code="S118",
                summary="a macro has no schema",
                because="it is temporary in each session",
                remedy="write its bare name",
                at=text.at(name.start, name.end - name.start),
            )
        )
        return None
    called = name.text.strip('"').lower()
    named.add(called)
    used = [use for use in uses(text) if start <= use.start < end]
    edits, wrong = substitution(text, values, found=used, subject=name.text)
    findings += wrong
    if wrong:
        return None
    spliced = text.splice([Edit(statement[1].start, statement[1].start, "TEMP "), *edits], start=start, end=end)
    kinds = parser.parse(spliced.text)
    if isinstance(kinds, NotParsed):
        offset = None if kinds.offset is None else spliced.origin(kinds.offset)
        findings.append(
            Diagnostic(code="L200", summary="SQL does not parse", because=kinds.message, remedy="correct the statement", at=text.at(offset))
        )
        return None
    if isinstance(kinds, NotSelect) and kinds.kinds != ("CREATE",):
        findings.append(
            Diagnostic(
                code="S118",
                summary="a macro file holds CREATE MACRO and nothing else",
                because=f"this is {kinds.kinds}",
                remedy="move it elsewhere",
                at=at,
            )
        )
        return None
    plain = " ".join(token.text.lower() if token.kind == "keyword" else token.text for token in statement)
    return _Draft(
        name=called,
        statement=spliced.text,
        digest=digest("macro", plain.encode()),
        variables=tuple(sorted({use.name for use in used})),
        text=text,
        start=start,
        shift=len("TEMP "),
    )


def _created(drafts: Mapping[str, _Draft], binder: Binder, findings: list[Diagnostic]) -> list[_Draft]:
    """Create what can be created until nothing more can: then each is after what it calls."""
    created: list[_Draft] = []
    waiting = list(drafts.values())
    while waiting:
        failed: list[tuple[_Draft, NotBound]] = []
        for draft in waiting:
            answer = binder.create_macro(draft.statement)
            if answer is None:
                created.append(draft)
            else:
                failed.append((draft, answer))
        if len(failed) == len(waiting):
            findings += [_not_bound(draft, answer) for draft, answer in failed]
            break
        waiting = [draft for draft, _ in failed]
    return created


def _not_bound(draft: _Draft, answer: NotBound) -> Diagnostic:
    offset = None if answer.offset is None else max(draft.start, draft.start + answer.offset - draft.shift)
    return Diagnostic(
        code="L224",
        summary=f"macro `{draft.name}` does not bind",
        because=answer.message,
        remedy="a macro reads its parameters and calls functions and other macros; it reads no relation",
        at=draft.text.at(offset, answer.length),
        subject=draft.name,
    )


def _calls(statement: str, overloads: Iterable[Macro]) -> list[Call] | None:
    """What the bodies of a macro call, and the defaults of its parameters, which stand in no body; nothing where one cannot be read."""
    bodies = [macro.definition if macro.kind == "table_macro" else f"SELECT {macro.definition}" for macro in overloads]
    defaults = defaults_of(statement)
    if len(defaults) != len(bodies):
        return None
    answers = [parser.parse(text) for text in (*bodies, *(f"SELECT {text}\n" for texts in defaults for text in texts))]
    trees = [tree for answer in answers if isinstance(answer, Statements) for tree in answer.trees]
    return [call for tree in trees for call in Reading(tree).calls] if len(trees) == len(answers) else None


def _is_outside(call: Call, macros: Mapping[str, object]) -> bool:
    if call.name in macros:
        return False
    return (call.table and call.name not in TABLE_FUNCTIONS) or is_outside(call.name)


def _finding(draft: _Draft, code: str, summary: str, because: str, remedy: str) -> Diagnostic:
    at: Position = draft.text.at(draft.start)
    return Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=at, subject=draft.name)
