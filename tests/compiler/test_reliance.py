"""What a source promises of nulls is relied on where a contract's proof needs it, and by whoever reads the source then."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.compiler import generated
from tests.compiler.projects import codes, compiled, errors

from interlock.engine.compiler import reliance as reliances
from interlock.engine.compiler.unit import Surroundings, Unit
from interlock.engine.planner.sources import relied_on_in
from interlock.engine.warehouse.duckdb import parser

SOURCES = """
[sources."raw.o".columns]
id = { type = "BIGINT", nullable = false }
Customer = { type = "BIGINT", nullable = false }
note = { type = "VARCHAR", nullable = false }
said = { type = "VARCHAR", nullable = true }
[sources."raw.p".columns]
id = { type = "BIGINT", nullable = false }
"""
TABLE = 'materialized = "table"\n'


def contract(*columns: str) -> str:
    return "".join(f"[contract.columns.{column}]\nnullable = false\n" for column in columns)


def reliance(root: Path, files: dict[str, str]) -> dict[str, dict[str, tuple[str, ...]]]:
    found = compiled(root, {"sources.toml": SOURCES, **files})
    assert errors(found) == []
    return relied_on_in(found, frozenset(found.models))


@pytest.mark.parametrize(
    ("text", "relied"),
    [
        ("select id from raw.o", {"raw.o": ("id",)}),
        ("select id, note from raw.o", {"raw.o": ("id",)}),
        ("select id from raw.o where id is not null", {}),
        ("select coalesce(id, 0) as id from raw.o", {}),
        ("select count(*) as id from raw.o", {}),
        ("select id + customer as id from raw.o", {"raw.o": ("id", "Customer")}),
        ("select coalesce(said, note) as id from raw.o", {"raw.o": ("note",)}),
        ("select id from raw.o union all select id from raw.p", {"raw.o": ("id",), "raw.p": ("id",)}),
        ("select o.id from raw.o join raw.p using (id)", {}),
        ("select o.customer as id from raw.o left join raw.p using (id)", {"raw.o": ("Customer",)}),
    ],
)
def test_a_proof_rests_on_no_more_than_it_needs(text: str, relied: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    found = reliance(tmp_path, {"models/m.sql": text, "models/m.toml": TABLE + contract("id")})
    assert found == ({"m": relied} if relied else {})


def test_either_of_two_promises_is_enough_so_one_is_asked(tmp_path: Path) -> None:
    text = "select coalesce(o.id, p.id) as id from raw.o cross join raw.p"
    (found,) = reliance(tmp_path, {"models/m.sql": text, "models/m.toml": TABLE + contract("id")}).values()
    assert sum(len(columns) for columns in found.values()) == 1


def test_nothing_is_relied_on_where_nobody_promises_anything_on(tmp_path: Path) -> None:
    files = {"models/m.sql": "select id from raw.o", "models/m.toml": TABLE, "models/n.sql": "select id from m", "models/n.toml": TABLE}
    assert reliance(tmp_path, files) == {}


@pytest.mark.parametrize("kind", ["view", "ephemeral"])
def test_a_promise_is_relied_on_through_views_and_ephemerals_by_the_table_that_reads_them(kind: str, tmp_path: Path) -> None:
    files = {
        "models/v.sql": "select id, note from raw.o",
        "models/v.toml": f'materialized = "{kind}"\n',
        "models/m.sql": "select id, note from v",
        "models/m.toml": TABLE + contract("id"),
    }
    assert reliance(tmp_path, files) == {"m": {"raw.o": ("id",)}}


def test_a_promise_is_relied_on_by_the_table_that_read_the_source_for_a_contract_below_it(tmp_path: Path) -> None:
    files = {
        "models/stg.sql": "select id, note, customer from raw.o",
        "models/stg.toml": TABLE,
        "models/mid.sql": "select id, note from stg",
        "models/mid.toml": TABLE,
        "models/m.sql": "select id from mid",
        "models/m.toml": TABLE + contract("id"),
    }
    assert reliance(tmp_path, files) == {"stg": {"raw.o": ("id",)}}


def test_what_is_counted_in_the_rows_of_a_table_is_not_relied_on_below_it(tmp_path: Path) -> None:
    files = {
        "models/stg.sql": "select id, said from raw.o",
        "models/stg.toml": TABLE + '[[checks]]\nnot_null = ["id"]\n',
        "models/m.sql": "select id from stg",
        "models/m.toml": TABLE + contract("id"),
    }
    assert reliance(tmp_path, files) == {}


def test_each_table_above_a_contract_is_gone_into_once_however_many_ways_lead_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = 10
    files = {f"models/t0{side}.sql": "select id as x from raw.o" for side in "ab"}
    for level in range(1, levels):
        below = f"select a.x + b.x as x from t{level - 1}a as a cross join t{level - 1}b as b"
        files |= {f"models/t{level}{side}.sql": below for side in "ab"}
    files["models/top.sql"] = f"select a.x + b.x as x from t{levels - 1}a as a cross join t{levels - 1}b as b"
    files |= {path.replace(".sql", ".toml"): TABLE for path in files}
    files["models/top.toml"] = TABLE + contract("x")
    asked: list[str] = []
    real = reliances._least

    def least(unit: Unit, around: Surroundings, needed: frozenset[str]) -> list[tuple[str, str]]:
        asked.extend([unit.name] if needed else [])
        return real(unit, around, needed)

    monkeypatch.setattr(reliances, "_least", least)
    assert reliance(tmp_path, files) == {"t0a": {"raw.o": ("id",)}, "t0b": {"raw.o": ("id",)}}
    assert sorted(asked) == sorted({"top", *(f"t{level}{side}" for level in range(levels) for side in "ab")})


def test_the_contract_says_that_its_proof_is_borrowed(tmp_path: Path) -> None:
    files = {"models/m.sql": "select id, 1 as one from raw.o", "models/m.toml": TABLE + contract("id", "one")}
    found = compiled(tmp_path, {"sources.toml": SOURCES, **files}).models["m"].contract_findings
    assert [finding.proof for finding in found] == ["compiled", "compiled"]
    assert "source" in found[0].because
    assert "source" not in found[1].because


def test_what_a_source_is_asked_in_a_run_is_no_proof_of_a_view(tmp_path: Path) -> None:
    files = {"models/m.sql": "select id, 1 as one from raw.o", "models/m.toml": contract("id", "one")}
    found = compiled(tmp_path, {"sources.toml": SOURCES, **files})
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["at_run_time", "compiled"]
    assert codes(found) == ["C307"]
    assert relied_on_in(found, frozenset({"m"})) == {"m": {"raw.o": ("id",)}}


def test_a_table_of_whose_rows_it_was_seen_is_a_proof_of_a_view(tmp_path: Path) -> None:
    files = {
        "models/t.sql": "select id from raw.o",
        "models/t.toml": TABLE,
        "models/m.sql": "select id from t",
        "models/m.toml": contract("id"),
    }
    found = compiled(tmp_path, {"sources.toml": SOURCES, **files})
    assert [finding.proof for finding in found.models["m"].contract_findings] == ["compiled"]
    assert relied_on_in(found, frozenset({"m"})) == {"t": {"raw.o": ("id",)}}


DECLARED = "".join(
    f"[sources.{table}.columns]\n"
    + "".join(
        f'{column} = {{ type = "{kind.removesuffix(" NOT NULL")}"{", nullable = false" if kind.endswith("NOT NULL") else ""} }}\n'
        for column, kind in columns.items()
    )
    for table, columns in generated.TABLES.items()
)
PROMISES = {(table, column) for table, columns in generated.TABLES.items() for column, kind in columns.items() if kind.endswith("NOT NULL")}


def rows_that_keep_only(kept: set[tuple[str, str]], chance: random.Random) -> list[str]:
    """Tables whose columns hold nulls wherever no promise among the kept ones forbids it."""
    statements = []
    for table, columns in generated.TABLES.items():
        named = ", ".join(f"{column} {kind.removesuffix(' NOT NULL')}" for column, kind in columns.items())
        statements.append(f"CREATE OR REPLACE TABLE {table} ({named})")
        for _ in range(chance.choice((1, 2, 3))):
            cells = [
                "NULL"
                if (table, column) not in kept and chance.random() < 0.5
                else f"'{chance.choice(('', 'a', 'b'))}'"
                if kind.startswith("VARCHAR")
                else str(chance.randint(0, 3))
                for column, kind in columns.items()
            ]
            statements.append(f"INSERT INTO {table} VALUES ({', '.join(cells)})")
    return statements


def expression(chance: random.Random, names: list[str], depth: int = 2) -> str:
    column = f"{chance.choice(names)}.{chance.choice('aabbx')}"
    if not depth or chance.random() < 0.4:
        return column
    other = expression(chance, names, depth - 1)
    return chance.choice(
        (
            f"coalesce({column}, {other})",
            f"{column} + {other}",
            f"CASE WHEN {other} > 1 THEN {column} ELSE {other} END",
            f"greatest({column}, {other})",
            f"CASE WHEN {column} IS NOT NULL THEN {column} ELSE 0 END",
            f"nullif({column}, {other})",
        )
    )


def query(chance: random.Random) -> str:
    """Two columns over tables that promise something of theirs."""
    joined, names = chance.choice(
        (
            ("t", ["t"]),
            ("t JOIN u ON t.a = u.a", ["t", "u"]),
            ("t LEFT JOIN u ON t.a = u.b", ["t", "u"]),
            ("t CROSS JOIN u", ["t", "u"]),
            ("t JOIN u ON t.b = u.b LEFT JOIN v ON v.a = t.a", ["t", "u", "v"]),
            ("(SELECT a, b, x FROM t UNION ALL SELECT b AS a, a AS b, y AS x FROM u) AS t", ["t"]),
        )
    )
    one, two = (expression(chance, names) for _ in range(2))
    name = chance.choice(names)
    tail = chance.choice(("", "", f" WHERE {name}.b IS NOT NULL", f" WHERE {name}.a > 0"))
    if chance.random() < 0.2:
        return f"SELECT max({one}) AS c0, {two} AS c1 FROM {joined}{tail} GROUP BY ALL"
    return f"SELECT {one} AS c0, {two} AS c1 FROM {joined}{tail}"


parser.parse("select 1")  # it raises the recursion limit, once


@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(min_value=0, max_value=2**40), kind=st.sampled_from(["table", "view"]))
def test_where_what_is_relied_on_holds_the_contract_holds_whatever_else_is_broken(seed: int, kind: str, tmp_path: Path) -> None:
    chance = random.Random(seed)
    text = query(chance)
    files = {
        "models/w.sql": text,
        "models/w.toml": f'materialized = "{kind}"\n',
        "models/m.sql": "select c0, c1 from w",
        "models/m.toml": TABLE + '[contract]\nprove = "at run time"\n' + contract("c0", "c1"),
    }
    with tempfile.TemporaryDirectory(dir=tmp_path) as root:
        found = compiled(Path(root), {"sources.toml": DECLARED, **files})
    assert errors(found) == []
    proved = {finding.column for finding in found.models["m"].contract_findings if finding.proof == "compiled"}
    relied = relied_on_in(found, frozenset(found.models)).get("w" if kind == "table" else "m", {})
    kept = {(source, column) for source, columns in relied.items() for column in columns}
    assert kept <= PROMISES
    with duckdb.connect() as connection:
        for _ in range(4):
            for statement in rows_that_keep_only(kept, chance):
                connection.execute(statement)
            rows = connection.execute(text).fetchall()
            for index, column in enumerate(("c0", "c1")):
                assert column not in proved or all(row[index] is not None for row in rows), (seed, text, kept)
