"""What is wrong with a statement's columns once their names and types are known: unnamed, twice, by a name of ours, without a type, compared as they lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from interlock.engine.compiler.analysis import Analysis
from interlock.engine.compiler.bounds import day_bounds
from interlock.engine.compiler.names import Node
from interlock.engine.compiler.outputs import unnamed
from interlock.engine.compiler.reading import Cast, Reading
from interlock.engine.project.names import OWN_COLUMNS, is_own_column
from interlock.engine.warehouse.duckdb.parser import Tree
from interlock.machines.evidence import Column


def look_at_columns(columns: Iterable[Column], analysis: Analysis, columns_of: Callable[[Node], tuple[Column, ...] | None]) -> None:
    """Findings about the columns of a statement that was bound.

    Args:
        columns: of its relation.
        analysis: of its text; it takes the findings.
        columns_of: columns of what it reads.
    """
    reading = analysis.reading
    if reading is None:
        return
    seen: set[str] = set()
    items = unnamed(reading)
    for index, offset in items:
        analysis.finding(
            "L211",
            f"output column {index + 1} has no name",
            "the name that DuckDB makes up may change with its version",
            "give it one: `… AS name`",
            offset,
        )
    for column in columns:
        if column.name.lower() in seen and not items:
            analysis.finding(
                "L210",
                f"two output columns are called `{column.name}`",
                "case is not looked at, and DuckDB would rename the second one",
                "give one another name, or leave it out: `* EXCLUDE (…)`",
                _offset_of_output(reading.root, column.name),
            )
        seen.add(column.name.lower())
        if is_own_column(column.name):
            analysis.finding(
                "L232",
                f"output column `{column.name}` has a name that is Interlock's own",
                f"the statements that write and look at its rows use names with `{OWN_COLUMNS}` in front, and would take it for theirs",
                f"give it another: `… AS {column.name[len(OWN_COLUMNS) :] or 'name'}`",
                _offset_of_output(reading.root, column.name),
            )
        if '"NULL"' in column.type:
            analysis.finding(
                "L212",
                f"column `{column.name}` has no type",
                f"it is {column.type}: nothing says which type its nulls have",
                f"write `CAST(… AS TYPE) AS {column.name}`",
                _offset_of_output(reading.root, column.name),
            )
    for cast in (*reading.casts, *_compared(reading, analysis, columns_of)):
        _offset_lost(analysis, cast)
    if reading.ranges:
        _days(reading, analysis, columns_of)


def _days(reading: Reading, analysis: Analysis, columns_of: Callable[[Node], tuple[Column, ...] | None]) -> None:
    def types_of(name: str) -> set[str]:
        return {column.type for node in analysis.nodes() for column in columns_of(node) or () if column.name.lower() == name}

    for each in day_bounds(reading, types_of, analysis.context.values.given):
        analysis.finding(
            "L230",
            f"a range of times ends as its last day begins: `{each.column}` is compared with {each.bound}",
            "a day stands for its midnight, so that rows of that day after midnight are left out",
            f"write `{each.column} >= … AND {each.column} < …` with the day after as the end, "
            f"or `CAST({each.column} AS DATE)`; where midnight is meant, write the time out",
            each.offset,
            severity="error" if each.between else "warning",
        )


def _compared(reading: Reading, analysis: Analysis, columns_of: Callable[[Node], tuple[Column, ...] | None]) -> Iterator[Cast]:
    """Texts that are cast to a column's type because they are compared with it."""
    if not reading.compared:
        return
    kinds: dict[str, set[str]] = {}
    for node in analysis.nodes():
        for column in columns_of(node) or ():
            kinds.setdefault(column.name.lower(), set()).add(column.type)
    for name, cast in reading.compared:
        found = kinds.get(name.lower(), set())
        if len(found) == 1:
            yield cast._replace(type=next(iter(found)))


def _offset_of_output(node: Tree, name: str) -> int | None:
    while node.get("type") == "SET_OPERATION_NODE":
        node = node["children"][0]
    found: int | None = None
    for item in node.get("select_list", ()):
        names = item.get("column_names", ())
        if (item.get("alias") or (names[-1] if names else "")).lower() == name.lower():
            found = item.get("query_location", found)
    return found


def _offset_lost(analysis: Analysis, cast: Cast) -> None:
    if _is_naive(cast.type) and _has_offset(cast.text):
        analysis.finding(
            "L227",
            "the offset of a time is lost",
            f"`{cast.text}` has an offset, and {cast.type.upper()} keeps none",
            "cast to TIMESTAMPTZ, and say the zone with AT TIME ZONE",
            cast.offset,
            severity="warning",
        )


def _is_naive(kind: str) -> bool:
    return kind.upper() in {"TIMESTAMP", "DATETIME", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_US", "TIMESTAMP_NS"}


def _has_offset(text: str) -> bool:
    time = text.strip().replace("T", " ", 1).partition(" ")[2].strip()
    return ":" in time and (time.upper().endswith(("Z", "UTC", "GMT")) or "+" in time or "-" in time)
