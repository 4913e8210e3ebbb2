"""Checks: their names resolved, their expressions one expression each, bound against the model's own columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, assert_never

from msgspec import structs

from interlock.engine.compiler.analysis import Analysis, Context
from interlock.engine.compiler.compiled import CompiledCheck
from interlock.engine.compiler.names import Node, Unresolved
from interlock.engine.compiler.text import Text, wrapped
from interlock.engine.compiler.types import ZONED, is_time
from interlock.engine.compiler.values import TEXT, Asked, as_text, asked, in_words, kind_in_words
from interlock.engine.diagnostics import Diagnostic, Position, did_you_mean
from interlock.engine.project.project import (
    AcceptedValues,
    Check,
    CustomSql,
    ExpressionHolds,
    Freshness,
    NotNull,
    Relationships,
    RowCount,
    Unique,
)
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.engine.warehouse.duckdb.quoting import Scalar, identifier, string
from interlock.machines.evidence import Column

TAKEN_FOR = "DuckDB would take it for "
"""How the reason begins where a value is one of the column's type, though not the one that was written."""

_BEFORE = "SELECT (\n"
_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")


class Stands(NamedTuple):
    """What stands for a relation: in the text that runs, and in the one that is bound."""

    run: Callable[[Node], str]
    bound: Callable[[Node], str]


class Draft(NamedTuple):
    """A check before it is bound."""

    check: Check
    analysis: Analysis | None
    to: Node | None
    findings: tuple[Diagnostic, ...]
    end: int
    """Of an expression: where it ends in the text that was made around it."""

    def reads(self) -> list[Node]:
        """Models, seeds and sources that it reads, with repetitions."""
        found = self.analysis.nodes() if self.analysis is not None else []
        return [*found, self.to] if self.to is not None else found

    def variables(self) -> tuple[str, ...]:
        """Variables that it reads."""
        return self.analysis.variables if self.analysis is not None else ()


def draft(check: Check, owner: str, path: str, context: Context) -> Draft:
    """Look at a check without binding it."""
    at = _position(check, path)
    question = check.question
    match question:
        case ExpressionHolds():
            return _expression(check, question, owner, at, context)
        case CustomSql():
            analysis = Analysis(Text(question.sql, at.path, at.key or "checks"), context, subject=owner, own=owner, own_is_read=True)
            return Draft(check, analysis, None, tuple(analysis.findings), 0)
        case Relationships():
            to = context.names.resolve(tuple(question.to.split(".")))
            if isinstance(to, Unresolved):
                finding = Diagnostic(code="L225", summary=to.summary, because=to.because, remedy=to.remedy, at=at, subject=owner)
                return Draft(check, None, None, (finding,), 0)
            return Draft(check, None, to, (), 0)
        case Unique() | NotNull() | AcceptedValues() | RowCount() | Freshness():
            return Draft(check, None, None, (), 0)
        case _ as unreachable:
            assert_never(unreachable)


def _expression(check: Check, question: ExpressionHolds, owner: str, at: Position, context: Context) -> Draft:
    inner = Text(question.expression, at.path, at.key or "checks")
    because = _not_one(inner)
    if because:
        finding = Diagnostic(
            code="L225",
            summary=f"check `{check.name}` is not one expression",
            because=because,
            remedy="write one boolean expression over a row",
            at=at,
            subject=owner,
        )
        return Draft(check, None, None, (finding,), 0)
    around = Text(_around(question.expression, owner), at.path, at.key or "checks")
    analysis = Analysis(around, context, subject=owner, own=owner, own_is_read=True)
    findings = list(analysis.findings)
    if analysis.reading is not None and not _is_one_item(analysis):
        findings.append(
            Diagnostic(
                code="L225",
                summary=f"check `{check.name}` is not one expression",
                because="in brackets it is more than one value",
                remedy="write one boolean expression over a row",
                at=at,
                subject=owner,
            )
        )
    if analysis.reading is None:
        findings = [
            Diagnostic(
                code="L225",
                summary=f"check `{check.name}` is not one expression",
                because=finding.because or finding.summary,
                remedy=finding.remedy,
                at=at,
                subject=owner,
            )
            for finding in findings
        ]
    return Draft(check, analysis, None, tuple(findings), len(_BEFORE.encode()) + inner.end)


def _around(expression: str, owner: str) -> str:
    return f"{_BEFORE}{expression}\n) AS ok FROM {identifier(owner)}"


def texts_of(check: Check, owner: str) -> list[str]:
    """The texts that a check will have parsed."""
    match check.question:
        case ExpressionHolds(expression=expression):
            return [_around(expression, owner)]
        case CustomSql(sql=sql):
            return [sql]
        case _:
            return []


def _not_one(text: Text) -> str:
    """Why a text cannot be one expression, by its tokens; empty where it can."""
    if not text.words:
        return "it is empty"
    depth = 0
    for word in text.words:
        if word.kind != "operator":
            continue
        for mark in word.text:
            if mark in _OPEN:
                depth += 1
            elif mark in _CLOSE:
                depth -= 1
            elif mark == ";":
                return "it holds a `;`"
            elif mark == "," and depth == 0:
                return "it holds a `,` outside of brackets"
            if depth < 0:
                return "it closes a bracket that it does not open"
    return "it does not close its brackets" if depth else ""


def _is_one_item(analysis: Analysis) -> bool:
    assert analysis.reading is not None
    node = analysis.reading.root
    plain = {"type", "select_list", "from_table", "cte_map", "aggregate_handling"}
    items = node.get("select_list", [])
    return len(items) == 1 and set(node) <= plain and items[0].get("alias") == "ok" and node["from_table"].get("type") == "BASE_TABLE"


class CheckBinder:
    """Binds the checks of one model against its columns."""

    def __init__(
        self,
        owner: Node,
        columns: tuple[Column, ...],
        path: str,
        *,
        binder: Binder,
        stands: Stands,
        columns_of: Callable[[Node], tuple[Column, ...]],
    ) -> None:
        """The model's shadow stands already."""
        self._owner = owner
        self._columns = {column.name.lower(): column for column in columns}
        self._path = path
        self._binder = binder
        self._stands = stands
        self._columns_of = columns_of
        self.findings: list[Diagnostic] = []

    def compile(self, drafted: Draft) -> CompiledCheck:
        """Bind one check. What is wrong goes to the findings."""
        check = drafted.check
        failing = ""
        to_relation = ""
        question = check.question
        match question:
            case Unique(columns=names) | NotNull(columns=names):
                for name in names:
                    self._present(check, name)
            case AcceptedValues():
                failing = self._accepted(check, question)
            case Relationships():
                to_relation = self._relationship(check, question, drafted.to)
            case ExpressionHolds():
                failing = self._holds(check, drafted)
            case CustomSql():
                failing = self._rows(check, drafted)
            case Freshness():
                self._fresh(check, question)
            case RowCount():
                pass
            case _ as unreachable:
                assert_never(unreachable)
        reads = {node.name for node in drafted.reads() if node.kind != "source"} - {self._owner.name}
        return CompiledCheck(check=check, failing=failing, to_relation=to_relation, reads=tuple(sorted(reads)))

    def _own(self, *, alias: str) -> str:
        return f"{self._stands.bound(self._owner)} AS {identifier(alias)}"

    def _holds(self, check: Check, drafted: Draft) -> str:
        if drafted.analysis is None or drafted.findings:
            return ""
        start, end = len(_BEFORE.encode()), drafted.end
        bound = wrapped(drafted.analysis.rendered(self._stands.bound, start=start, end=end).text)
        found = self._binder.columns_of(f"SELECT {bound} AS ok FROM {self._stands.bound(self._owner)} WHERE {bound}")
        if isinstance(found, NotBound):
            self._not_bound(check, found)
        elif len(found) != 1:
            # The engine would join them by AND where rows are counted, so that a row against one of them would not be found.
            self._finding(
                check,
                f"check `{check.name}` is several expressions",
                f"`*` or `COLUMNS(…)` in it stands for {len(found)} columns",
                "write out what holds for each column, joined by AND; or a check for each",
            )
        elif found[0].type != "BOOLEAN":
            self._finding(check, f"check `{check.name}` gives no truth", f"its expression is {found[0].type}", "write a comparison")
        return wrapped(drafted.analysis.rendered(self._stands.run, start=start, end=end).text)

    def _rows(self, check: Check, drafted: Draft) -> str:
        if drafted.analysis is None or drafted.findings:
            return ""
        found = self._binder.columns_of(drafted.analysis.rendered(self._stands.bound).text)
        if isinstance(found, NotBound):
            self._not_bound(check, found)
        return drafted.analysis.rendered(self._stands.run).text

    def _relationship(self, check: Check, question: Relationships, to: Node | None) -> str:
        column = self._present(check, question.column)
        if to is None:
            return ""
        there = [each.name for each in self._columns_of(to)]
        if question.to_column.lower() not in {name.lower() for name in there}:
            self._finding(
                check,
                f"`{to.name}` has no column `{question.to_column}`",
                f"it has {', '.join(f'`{name}`' for name in there)}",
                did_you_mean(question.to_column, there, "name another column"),
            )
        elif column is not None:
            inner = f"SELECT there.{identifier(question.to_column)} FROM {self._stands.bound(to)} AS there"
            found = self._binder.columns_of(f"SELECT 1 FROM {self._own(alias='here')} WHERE here.{identifier(column.name)} IN ({inner})")
            if isinstance(found, NotBound):
                self._not_bound(check, found)
        return self._stands.run(to)

    def _accepted(self, check: Check, question: AcceptedValues) -> str:
        """The values as the column's type has them: its rows are compared as they are, and never cast."""
        column = self._present(check, question.column)
        if column is None:
            return ""
        values: list[Asked] = []
        for index, value in enumerate(question.values):
            try:
                one = asked(value, column.type)
            except ValueError as error:
                self._no_value(check, index, value, column, str(error), "write it with fewer digits")
                return ""
            if one is None:
                because, remedy = _not_compared(value, column)
                self._no_value(check, index, value, column, because, remedy)
                return ""  # all of them are of one kind
            values.append(one)
        listed = ", ".join(each.sql for each in values)
        found = self._binder.columns_of(f"SELECT 1 FROM {self._own(alias='here')} WHERE {identifier(column.name)} IN ({listed})")
        if isinstance(found, NotBound):
            self._not_bound(check, found)
            return ""
        answer = self._binder.evaluate(f"SELECT {', '.join(each.kept for each in values)}")
        kept = (False,) * len(values) if isinstance(answer, NotBound) else answer[0]
        for index, holds in enumerate(kept):
            if not holds:
                self._not_kept(check, index, question.values[index], values[index], column)
        return listed

    def _not_kept(self, check: Check, index: int, value: Scalar, one: Asked, column: Column) -> None:
        """The type has no such value, or takes it for another one."""
        of_type = f"write values of the type of `{column.name}`"
        found = self._binder.evaluate(f"SELECT CAST({one.sql} AS VARCHAR)")
        if isinstance(found, NotBound):
            self._no_value(check, index, value, column, found.message, of_type)
        else:
            shown = str(found[0][0])
            remedy = f'write "{shown}", if that is meant' if isinstance(value, str) else of_type
            self._no_value(check, index, value, column, f"{TAKEN_FOR}{shown}", remedy)

    def _no_value(self, check: Check, index: int, value: Scalar, column: Column, because: str, remedy: str) -> None:
        summary = f"value {in_words(value)} of check `{check.name}` is no {column.type}"
        self._finding(check, summary, because, remedy, key=f"accepted_values.values[{index}]")

    def _fresh(self, check: Check, question: Freshness) -> None:
        column = self._present(check, question.column)
        if column is None:
            return
        if not is_time(column.type):
            self._finding(check, f"`{column.name}` is no time", f"it is {column.type}", "name a DATE or TIMESTAMP column")
        elif column.type not in ZONED and question.zone is None:
            self._finding(
                check, f"the zone of `{column.name}` is not known", f"it is {column.type}, which has none", 'add zone = "UTC", say'
            )
        elif question.zone is not None:
            found = self._binder.evaluate(f"SELECT timezone({string(question.zone)}, TIMESTAMP '2000-01-01 00:00:00')")
            if isinstance(found, NotBound):
                self._finding(check, f"`{question.zone}` is no time zone", found.message, 'write a name such as "UTC" or "Europe/Berlin"')

    def _present(self, check: Check, name: str) -> Column | None:
        found = self._columns.get(name.lower())
        if found is None:
            names = [column.name for column in self._columns.values()]
            because = f"it has {', '.join(f'`{each}`' for each in names)}"
            self._finding(check, f"`{self._owner.name}` has no column `{name}`", because, did_you_mean(name, names, "name another column"))
        return found

    def _not_bound(self, check: Check, found: NotBound) -> None:
        remedy = f"did you mean `{found.candidates[0]}`?" if found.candidates else "correct the check"
        self._finding(check, f"check `{check.name}` does not bind", found.message, remedy)

    def _finding(self, check: Check, summary: str, because: str, remedy: str, *, key: str = "") -> None:
        at = _position(check, self._path)
        if key:
            at = structs.replace(at, key=f"{at.key}.{key}")
        self.findings.append(Diagnostic(code="L225", summary=summary, because=because, remedy=remedy, at=at, subject=self._owner.name))


def _not_compared(value: Scalar, column: Column) -> tuple[str, str]:
    """Why a value and a column are not compared, and what to write."""
    kind = kind_in_words(value)
    if column.type == TEXT:
        because = f"it is {kind}, and `{column.name}` holds texts: DuckDB would read each of them as {kind} before it compares"
        return because, f"write texts, such as {as_text(value)}"
    return f"it is {kind}, and `{column.name}` is {column.type}", f"write values of the type of `{column.name}`"


def _position(check: Check, path: str) -> Position:
    file, _, key = check.origin.partition(": ")
    return Position(path=file or path, key=key or f"checks.{check.name}")
