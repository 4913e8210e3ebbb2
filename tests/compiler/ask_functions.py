"""Ask DuckDB which of its functions can give NULL although no argument is, and which give NULL whenever an argument is.

Run it with `python -m tests.compiler.ask_functions` after an upgrade of DuckDB: it prints what it finds beside what
`engine/compiler/nullability.json` says. The file itself is kept by hand: a name stands there only if DuckDB never
contradicted it *and* a person has read what the function means; what is left out counts as "may be null". Dates and times are
taken to be finite (`extract(year from 'infinity'::date)` is NULL; see `specs/decisions`), and the run-time check stays for
all columns.
"""

from __future__ import annotations

import itertools
import sys
from typing import Final, NamedTuple

import duckdb

INTEGERS: Final = ("0", "1", "-1", "3", "100")
VALUES: Final[dict[str, tuple[str, ...]]] = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("0", "1", "-1", "3"),
    "SMALLINT": INTEGERS,
    "INTEGER": INTEGERS,
    "BIGINT": INTEGERS,
    "HUGEINT": INTEGERS,
    "UTINYINT": ("0", "1", "3"),
    "USMALLINT": ("0", "1", "3"),
    "UINTEGER": ("0", "1", "3"),
    "UBIGINT": ("0", "1", "3"),
    "UHUGEINT": ("0", "1", "3"),
    "FLOAT": ("0", "1.5", "-1", "'nan'", "'inf'"),
    "DOUBLE": ("0", "1.5", "-1", "0.5", "'nan'", "'inf'", "'-inf'"),
    "DECIMAL(10,2)": ("0", "1.5", "-2"),
    "VARCHAR": (
        "''", "'a'", "'a,b'", "'abc'", "'%'", "'1'", "'year'", "'UTC'", "'2020-01-01'", "'{\"a\": 1}'", "'null'", "'$.a'", "'%Y'", "'g'", "','",
    ),
    "BLOB": ("''", "'a'"),
    "BIT": ("'0'", "'1011'"),
    "DATE": ("'2020-02-29'", "'1970-01-01'", "'0044-03-15 (BC)'"),
    "TIME": ("'00:00:00'", "'23:59:59'"),
    "TIMESTAMP": ("'2020-02-29 12:00:00'", "'1969-12-31'"),
    "TIMESTAMP WITH TIME ZONE": ("'2020-02-29 12:00:00+00'", "'1969-12-31+00'"),
    "INTERVAL": ("'0 days'", "'1 day'", "'-3 months'", "'2 hours'"),
    "UUID": ("'00000000-0000-0000-0000-000000000000'",),
    "INTEGER[]": ("[]", "[1]", "[3, 1, 2]", "[NULL]", "[1, NULL]"),
    "DOUBLE[]": ("[]", "[1.5]", "[2, 1]"),
    "VARCHAR[]": ("[]", "['a']", "['b', NULL]"),
    "BOOLEAN[]": ("[true, false, true]", "[true]"),
    "INTEGER[2]": ("[1, 2]",),
    "DOUBLE[2]": ("[0, 0]", "[1, 2]"),
    "STRUCT(a INTEGER)": ("{'a': 1}", "{'a': NULL}"),
    "MAP(VARCHAR, INTEGER)": ("MAP {}", "MAP {'a': 1}", "MAP {'b': NULL}"),
    "JSON": ("'null'", "'{\"a\": null}'", "'[1]'", "'1'", "'\"a\"'"),
}  # fmt: skip
ANY: Final = ("INTEGER", "VARCHAR", "DOUBLE", "DATE", "INTEGER[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "JSON")
LISTS: Final = ("INTEGER[]", "VARCHAR[]", "DOUBLE[]")
CALLS_MAX: Final = 40
"""Calls of one overload; the values of each argument are taken in turn beyond it."""


class Found(NamedTuple):
    """What was seen of one function."""

    calls: int
    total: bool
    """No call without a null argument gave null."""
    strict: bool
    """Each call with one null argument gave null, whatever the others were."""
    never: bool
    """No call at all gave null."""


class Overload(NamedTuple):
    """Types of the arguments of one form of a function."""

    kind: str
    types: tuple[str, ...]
    varargs: str | None


def overloads(connection: duckdb.DuckDBPyConnection) -> dict[str, list[Overload]]:
    rows = connection.execute(
        "SELECT lower(function_name), function_type, parameter_types, varargs, parameters FROM duckdb_functions() "
        "WHERE function_type IN ('scalar', 'macro', 'aggregate') AND internal"
    ).fetchall()
    found: dict[str, list[Overload]] = {}
    for name, kind, types, varargs, parameters in rows:
        named = [each if each is not None else "ANY" for each in types] or ["ANY"] * len(parameters)
        found.setdefault(name, []).append(Overload(kind, tuple(named), varargs))
    return found


def choices(kind: str) -> tuple[str, ...]:
    """Concrete types for one that a function names."""
    if kind in VALUES:
        return (kind,)
    if kind.startswith("DECIMAL"):
        return ("DECIMAL(10,2)",)
    if kind.startswith("MAP"):
        return ("MAP(VARCHAR, INTEGER)",)
    if kind.startswith(("STRUCT", "row")):
        return ("STRUCT(a INTEGER)",)
    if kind.endswith("[ANY]"):
        return ("DOUBLE[2]", "INTEGER[2]")
    if kind.endswith("[]"):
        return LISTS
    if kind in {"ANY", "T", "K", "V", "TEMPLATE"} or len(kind) <= 2:
        return ANY
    if kind.startswith("TIMESTAMP"):
        return ("TIMESTAMP",)
    if kind.startswith("TIME"):
        return ("TIME",)
    return ()


def call(name: str, arguments: list[str]) -> str:
    if not name[0].isalpha() and name[0] != "_":
        if len(arguments) == 1:
            return f"{name}({arguments[0]})" if name != "!" else f"({arguments[0]}){name}"
        return f"({arguments[0]}) {name} ({arguments[1]})"
    return f'"{name}"({", ".join(arguments)})'


def ask(connection: duckdb.DuckDBPyConnection, name: str, forms: list[Overload], calls_max: int = CALLS_MAX, kinds_max: int = 12) -> Found:
    calls, total, strict, never = 0, True, True, True
    for form in forms:
        extra = [form.varargs] * 2 if form.varargs else []
        for types in itertools.islice(itertools.product(*(choices(kind) for kind in (*form.types, *extra))), kinds_max):
            columns = [[f"({value})::{kind}" for value in VALUES[kind]] for kind in types]
            combinations = list(itertools.islice(_spread(columns, calls_max), calls_max))
            for arguments in combinations:
                answer = _value(connection, name, arguments)
                if answer is None:
                    continue
                calls += 1
                total, never = total and not answer[0], never and not answer[0]
            for index in range(len(types)):
                with_null = [*columns[:index], [f"NULL::{types[index]}"], *columns[index + 1 :]]
                for arguments in itertools.islice(_spread(with_null, calls_max), calls_max):
                    answer = _value(connection, name, arguments)
                    if answer is None:
                        continue
                    strict, never = strict and answer[0], never and not answer[0]
    return Found(calls, total, strict, never)


def _spread(columns: list[list[str]], calls_max: int) -> itertools.chain[list[str]]:
    product = (list(each) for each in itertools.product(*columns))
    size = 1
    for each in columns:
        size *= len(each)
    step = max(1, size // calls_max)
    return itertools.chain(itertools.islice(product, 0, None, step))


def _value(connection: duckdb.DuckDBPyConnection, name: str, arguments: list[str]) -> tuple[bool] | None:
    try:
        row = connection.execute(f"SELECT {call(name, arguments)} IS NULL").fetchone()
    except (duckdb.Error, RuntimeError):
        return None
    return None if row is None else (bool(row[0]),)


def asked() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"enable_external_access": False})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def main(names: list[str]) -> None:
    connection = asked()
    for name, forms in sorted(overloads(connection).items()):
        if (names and name not in names) or name.startswith(("pg_", "duckdb_", "sleep")):
            continue
        found = ask(connection, name, forms)
        if found.calls:
            marks = [word for word, holds in (("total", found.total), ("strict", found.strict), ("never", found.never)) if holds]
            print(f"{forms[0].kind:10} {name:32} {found.calls:6} {' '.join(marks)}")  # noqa: T201 - a report


if __name__ == "__main__":
    main(sys.argv[1:])
