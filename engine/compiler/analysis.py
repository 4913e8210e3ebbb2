"""One text, looked at without binding: it is one SELECT that reads what is declared, and where its names and variables stand."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from interlock.engine.compiler.functions import TABLE_FUNCTIONS, is_outside, is_volatile
from interlock.engine.compiler.macros import Macros
from interlock.engine.compiler.names import Names, Node, Unresolved, outside_file
from interlock.engine.compiler.reading import Call, Problem, Reading, Reference, dynamic_pivot
from interlock.engine.compiler.text import Edit, Spliced, Text
from interlock.engine.compiler.unparsed import meant
from interlock.engine.compiler.variables import Values, substitution, uses
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import NotParsed, NotSelect, Statements, Token, Tree
from interlock.engine.warehouse.duckdb.quoting import identifier

_REMNANTS: Final = frozenset({b"{{", b"{%", b"{#", b"${"})


# What follows must end the name: neither an alias (`t: u`), nor more of the path, nor a comment that could hide one of these.
_PLAIN_PATH: Final = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?![A-Za-z0-9_$.\x80-\xff])(?!\s*[:./-])")


class Place(NamedTuple):
    """A reference, what it means, and its span."""

    reference: Reference
    node: Node
    start: int
    end: int


class Context(NamedTuple):
    """What every text of a project is looked at with."""

    names: Names
    values: Values
    macros: Macros
    reopened: list[Analysis]
    """Analyses that read their tree since somebody looked here: for the first time, or once more after they had let go of it."""


class Analysis:
    """What is known of a text. With an error among its findings nothing else of it can be relied on."""

    def __init__(self, text: Text, context: Context, *, subject: str, own: str | None, own_is_read: bool = False) -> None:
        """Look at a text.

        Args:
            text: of a model or a check.
            context: names, values and macros of the project.
            subject: the model that findings are about.
            own: its name, which its text may not read.
            own_is_read: the text is a check's, in which the model's name is its final relation.
        """
        self.text = text
        self.context = context
        self.subject = subject
        self.findings: list[Diagnostic] = []
        self._reading: Reading | None = None
        self._trees: tuple[Tree, ...] = ()
        self._expanded: Reading | None = None
        self._packed: bytes | None = None
        """Its tree, where it was let go of."""
        self.places: list[Place] = []
        self.edits: list[Edit] = []
        self.variables: tuple[str, ...] = ()
        self.macros: tuple[str, ...] = ()
        self.waits: tuple[str, ...] = ()
        """Macros that it calls and that are wrong: what else is said of them here would follow from that."""
        self.volatile: dict[str, int | None] = {}
        """Volatile functions that it calls itself or through macros, and where."""
        tree = self._tree()
        if tree is None:
            return
        self._reading = reading = Reading(tree)
        self._trees = (tree,)
        for problem in reading.problems:
            self._problem(problem)
        self._calls(reading)
        described = any(problem.code == "L203" for problem in reading.problems)
        for reference in reading.references if not described else ():
            self._place(reference, own, own_is_read=own_is_read)
        self._variables(reading)

    @property
    def broken(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)

    def canonical(self) -> str:
        """The canonical form of the text; empty where it is no SELECT. Ten times as long as the text: made when it is asked for."""
        return parser.canonical_of_trees(self._trees) if self.reading is not None else ""

    @property
    def reading(self) -> Reading | None:
        """What the statement's tree says; nothing where the text is no SELECT."""
        if self._reading is None and self._packed is not None:
            tree: Tree = msgspec.json.decode(zlib.decompress(self._packed))
            self._trees = (tree,)
            self._reading = Reading(tree)
            self.context.reopened.append(self)
        return self._reading

    @property
    def expanded(self) -> Reading | None:
        """The statement with the project's macros put in by what they stand for, to be judged; what runs is the text."""
        reading = self.reading
        if reading is None or not self.macros:
            return reading
        if self._expanded is None:
            self._expanded = Reading(self.context.macros.bodies.expanded(self._trees[0]))
        return self._expanded

    def let_go(self) -> None:
        """Keep the tree packed, in a thirtieth of its room: it is most of what an analysis holds. Who asks for it has it read again."""
        if self._reading is not None:
            if self._packed is None:
                self._packed = zlib.compress(msgspec.json.encode(self._trees[0]), 1)
            self._trees, self._reading, self._expanded = (), None, None

    def nodes(self) -> list[Node]:
        """What it reads, in the order of the text, with repetitions."""
        return [place.node for place in self.places]

    def rendered(self, stands: Callable[[Node], str], *, start: int = 0, end: int | None = None) -> Spliced:
        """The text (or a part of it) with every relation as `stands` says, and with values in the place of variables."""
        edits = list(self.edits)
        for place in self.places:
            alias = "" if place.reference.alias or place.reference.time_travel else f" AS {identifier(place.reference.path[-1])}"
            edits.append(Edit(place.start, place.end, stands(place.node) + alias))
        last = self.text.end if end is None else end
        return self.text.splice((edit for edit in edits if start <= edit.start < last), start=start, end=last)

    def only_names_put_in(self, offset: int | None) -> bool:
        """Whether a line of the text differs from what runs by nothing but whole names of relations: no value, no ephemeral model."""
        line = self.text.at(offset).line
        ephemerals = [place for place in self.places if self.context.names.is_ephemeral(place.node)]
        return not any(self.text.at(edit.start).line == line for edit in self.edits) and not any(
            self.text.at(place.start).line == line for place in ephemerals
        )

    def finding(
        self,
        code: str,
        summary: str,
        because: str,
        remedy: str,
        offset: int | None,
        *,
        length: int = 0,
        severity: str = "error",
        compiled: str = "",
    ) -> None:
        """Add a finding at a place of the text."""
        self.findings.append(
            Diagnostic(
                code=code,
                severity=severity,  # type: ignore[arg-type]
                summary=summary,
                because=because,
                remedy=remedy,
                at=self.text.at(offset, length or self._length(offset)),
                subject=self.subject,
                compiled=compiled,
            )
        )

    def _length(self, offset: int | None) -> int:
        index = None if offset is None else self.text.word_at(offset)
        return 0 if index is None else self.text.words[index].end - self.text.words[index].start

    def _problem(self, problem: Problem) -> None:
        first = self.text.words[0].start if self.text.words else None
        self.finding(problem.code, problem.summary, problem.because, problem.remedy, first if problem.offset is None else problem.offset)

    def _tree(self) -> Tree | None:
        """The one statement's tree, or a finding."""
        remnant = None
        if any(mark in self.text.data for mark in _REMNANTS):
            remnant = next(
                (
                    token
                    for token in self.text.words
                    if self.text.data[token.start : token.start + 2] in _REMNANTS and token.kind == "operator"
                ),
                None,
            )
        if remnant is not None:
            self.finding(
                "L213",
                "a template is left in the text",
                "a model is SQL: nothing fills templates in",
                "write other models by bare name, and values as `$name`",
                remnant.start,
                length=2,
            )
            return None
        answer = parser.parse(self.text.text)
        match answer:
            case NotParsed():
                self._not_parsed(answer)
            case NotSelect():
                self._not_select(answer)
            case Statements(trees=()):
                self.finding("L202", "there is no statement", "a model is one SELECT", "write it, or remove the file", 0)
            case Statements(trees=(tree,)):
                return tree
            case _:
                self._several(answer.trees.__len__())
        return None

    def _not_parsed(self, answer: NotParsed) -> None:
        words = self.text.words
        for first, second, third, fourth, fifth in zip(words, words[1:], words[2:], words[3:], words[4:], strict=False):
            if (second.text, fourth.text, fifth.text) == (".", ".", "*"):
                self._three_parts(first.start, fifth.end - first.start, third.text)
                return
        found = meant(self.text, answer.message, answer.offset)
        self.finding("L200", "SQL does not parse", found.because, found.remedy, found.offset)

    def _three_parts(self, offset: int | None, length: int, table: str) -> None:
        self.finding(
            "L216",
            "a column is referred to by schema, table and name",
            "the relation may stand in another schema, so only its alias is known in the text",
            f"write `{table}.…`, or give the relation an alias",
            offset,
            length=length,
        )

    def _not_select(self, answer: NotSelect) -> None:
        if len(answer.kinds) > 1:
            self._several(len(answer.kinds))
            return
        first = self.text.words[0] if self.text.words else None
        pivot = next((token for token in self.text.words if token.text.lower() in {"pivot", "pivot_wider"}), None)
        if answer.kinds == ("MULTI",) and pivot is not None:
            self._problem(dynamic_pivot(pivot.start))
            return
        kind = answer.kinds[0].replace("_", " ") if answer.kinds else "nothing"
        self.finding(
            "L203",
            f"{kind} is no SELECT",
            "a model is one SELECT; what it becomes is said beside it",
            "write the SELECT alone",
            first.start if first else 0,
        )

    def _several(self, count: int) -> None:
        semicolon = next((index for index, token in enumerate(self.text.words) if token.text == ";"), 0)
        second = next((token for token in self.text.words[semicolon:] if token.text != ";"), None)
        self.finding(
            "L202",
            f"there are {count} statements",
            "a model is one SELECT",
            "keep one, and make models of the others",
            second.start if second else 0,
        )

    def _calls(self, reading: Reading) -> None:
        macros = self.context.macros
        for call in reading.calls:
            if call.name in macros.by_name:
                continue
            if (call.table and call.name not in TABLE_FUNCTIONS) or is_outside(call.name):
                self._outside(call)
            elif is_volatile(call.name, call.arguments):
                self.volatile.setdefault(call.name, call.offset)
        for offset in reading.samples:
            self.volatile.setdefault("tablesample", offset)
        direct = {call.name: call.offset for call in reading.calls if call.name in macros.by_name}
        self.waits = tuple(sorted({call.name for call in reading.calls} & macros.wrong)) if macros.wrong else ()
        reached = macros.reached(direct)
        self.macros = tuple(macro.name for macro in reached)
        for macro in reached:
            for name in macro.volatile:
                self.volatile.setdefault(name, direct.get(macro.name, next(iter(direct.values()))))

    def _outside(self, call: Call) -> None:
        reads_files = call.table and (call.name.startswith(("read_", "parquet_", "sniff_")) or call.name == "glob")
        self.finding(
            "L208",
            f"`{call.name}` reads or writes outside of the query",
            "what it does would stand in no plan",
            "declare the file in sources.toml with its `path`, and read it by the source's name"
            if reads_files
            else "leave it out; `$as_of`, `$target` and variables carry values in",
            call.offset,
            length=len(call.name),
        )

    def _place(self, reference: Reference, own: str | None, *, own_is_read: bool) -> None:
        written = ".".join(reference.path)
        span = None if reference.offset is None else self._span(reference, reference.offset)
        if span is None:
            self.finding(
                "L219",
                f"the place of `{written}` in the text is not known",
                "DuckDB gives no offset for it, as for `TABLE t`",
                "write it as SELECT … FROM",
                reference.offset,
            )
            return
        start, end = span
        found: Node | Unresolved = (
            outside_file(written) if self.text.data[start : start + 1] == b"'" else self.context.names.resolve(reference.path, own=own)
        )
        if isinstance(found, Unresolved):
            self.finding(found.code, found.summary, found.because, found.remedy, start, length=end - start)
            return
        maker = self.context.names.maker(found)
        if own is not None and not own_is_read and own in {found.name if found.kind != "source" else None, maker.name if maker else None}:
            self.finding(
                "L207",
                f"`{own}` reads its own target",
                "on its first run there is nothing to read, and later rows would depend on how often it ran",
                'materialize it as "incremental" with strategy "merge", or as a "snapshot"; the engine compares with what is there',
                start,
                length=end - start,
            )
            return
        made = self.context.names.made_elsewhere(found)
        if made is not None:
            self.finding(made.code, made.summary, made.because, made.remedy, start, length=end - start)
            return
        self.places.append(Place(reference, found, start, end))

    def _span(self, reference: Reference, offset: int) -> tuple[int, int] | None:
        """Where the name stands. An alias before it (`FROM a: t`) is part of what DuckDB points at."""
        plain = self._plain_span(reference.path, offset)
        if plain is not None:
            return plain
        words = self.text.words
        index = self.text.word_at(offset)
        if index is not None and index + 2 < len(words) and words[index + 1].text == ":":
            index += 2
        if index is None:
            return None
        last = index + 2 * (len(reference.path) - 1)
        dots = [word.text for word in words[index + 1 : last : 2]]
        if last >= len(words) or any(dot != "." for dot in dots) or not _is_name(words[last], reference.path[-1]):
            return None
        return words[index].start, words[last].end

    def _plain_span(self, path: tuple[str, ...], offset: int) -> tuple[int, int] | None:
        """The same for a path that is written without quotes, blanks and comments, which needs no tokens; else nothing."""
        written = ".".join(path)
        end = offset + len(written)
        found = _PLAIN_PATH.match(self.text.data, offset)
        if found is None or found.end(1) != end or found[1].decode().lower() != written.lower():
            return None
        return offset, end

    def _variables(self, reading: Reading) -> None:
        used = uses(self.text)
        positional = [offset for name, offset in reading.parameters if name.isdigit()]
        for offset in positional:
            self.finding(
                "L209",
                "a parameter without a name",
                "only variables stand for values",
                "declare a variable under [vars] and write `$name`",
                offset,
                length=1,
            )
        named = {name for name, _ in reading.parameters if not name.isdigit()}
        if named - {use.name for use in used}:  # no token was seen for it: nothing may be guessed
            self.finding(
                "L209",
                f"`${min(named)}` cannot be placed",
                "its token is not where the parser sees it",
                "write it apart from other words",
                None,
            )
        edits, findings = substitution(self.text, self.context.values, found=used, subject=self.subject)
        self.edits += edits
        self.findings += findings
        own = {use.name for use in used}
        through = {name for macro in self.macros for name in self.context.macros.by_name[macro].variables}
        self.variables = tuple(sorted(own | through))


def _is_name(word: Token, name: str) -> bool:
    if word.text.startswith(("'", '"')):
        quote = word.text[0]
        return word.text[1:-1].replace(quote * 2, quote) == name
    return word.text.lower() == name.lower()
