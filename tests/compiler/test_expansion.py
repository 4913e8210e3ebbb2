"""Calls of macros are put in to be judged: proofs, lineage and orders go through them, and what is not sure is left alone."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.compiler.nullable import proved
from tests.compiler.projects import compiled, errors
from tests.compiler.test_lineage import lineages, short

from interlock.engine.compiler.expansion import Bodies
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import Statements

MACROS = {
    "same": "CREATE TEMP MACRO same(x) AS x",
    "filled": "CREATE TEMP MACRO filled(x, y := 0) AS coalesce(x, y)",
    "twice": "CREATE TEMP MACRO twice(x) AS filled(x) + filled(x, y := 1)",
    "over_loaded": "CREATE TEMP MACRO over_loaded(x) AS x, (x, y) AS coalesce(x, y, 0)",
    "typed": "CREATE TEMP MACRO typed(x INTEGER) AS coalesce(x, 0)",
    "field": "CREATE TEMP MACRO field(s) AS s.k",
    "total": "CREATE TEMP MACRO total(x) AS sum(x)",
    "ranked": "CREATE TEMP MACRO ranked(x) AS row_number() OVER (ORDER BY x)",
    "lost": "CREATE TEMP MACRO lost(x) AS NULL::INTEGER",
    "captured": "CREATE TEMP MACRO captured(x) AS (SELECT x FROM (SELECT 1 AS n, 2 AS id) AS q)",
    "in_lambda": "CREATE TEMP MACRO in_lambda(x) AS list_transform([1], lambda n: n + x)",
    "numbers": "CREATE TEMP MACRO numbers(n, skipped := 1) AS TABLE SELECT i AS a, nullif(i, skipped) AS b FROM range(n) AS r(i)",
}
TABLES = {"t": {"id": "INTEGER NOT NULL", "k": "INTEGER NOT NULL", "n": "INTEGER", "s": "STRUCT(k INTEGER)"}}


@pytest.mark.parametrize(
    ("text", "never_null"),
    [
        ("select same(id) c from t", True),
        ("select same(n) c from t", False),
        ("select filled(n) c from t", True),
        ("select filled(n, k) c from t", True),
        ("select filled(n, y := n) c from t", False),
        ("select filled(y := 3, x := n) c from t", True),
        ("select filled(n, NULL) c from t", False),
        ("select twice(n) c from t", True),
        ("select over_loaded(n) c from t", False),
        ("select over_loaded(n, n) c from t", True),
        ("select typed(n) c from t", False),
        ("select field(s) c from t", False),
        ("select total(id) c from t group by k", True),
        ("select total(id) c from t", False),
        ("select total(n) c from t group by k", False),
        ("select ranked(n) c from t", True),
        ("select lost(id) c from t", False),
        ("select lost(columns('id|k')), 5 c from t", True),
        ("select captured(n) c from t", False),
        ("select captured(1) c from t", True),
        ("select in_lambda(n) c from t", False),
        ("select in_lambda(k) c from t", True),
        ("select a c from numbers(3)", True),
        ("select b c from numbers(3)", False),
        ("select q.c from numbers(3, skipped := 2) q(c, d)", True),
        ("select q.d c from numbers(3) q(a, d) where q.d > 0", True),
        ("select x.a c from t, numbers(t.id) x", False),
        ("select n c from t where filled(n, NULL) > 1", False),
        ("select n c from t where same(n) > 1", True),
        ("select coalesce(max(same(n)), 0) c from t", True),
    ],
)
def test_what_is_proved_through_a_macro(text: str, never_null: bool) -> None:
    with duckdb.connect(":memory:") as connection:
        for statement in MACROS.values():
            connection.execute(statement)
        connection.execute("CREATE TABLE t (id INTEGER NOT NULL, k INTEGER NOT NULL, n INTEGER, s STRUCT(k INTEGER))")
        connection.execute("INSERT INTO t VALUES (1, 1, NULL, {'k': NULL}), (2, 1, 3, NULL), (3, 2, NULL, {'k': 1})")
        relation = connection.sql(text)
        index = relation.columns.index("c")
        found = proved(text, TABLES, macros=MACROS)
        judged = found is not None and len(found) == len(relation.columns) and found[index]
        assert judged == never_null
        assert not judged or all(row[index] is not None for row in relation.fetchall())


def test_a_call_that_would_be_too_many_is_left(tmp_path: Path) -> None:
    statements = ["CREATE TEMP MACRO m0(x) AS x + x"]
    statements += [f"CREATE TEMP MACRO m{index}(x) AS m{index - 1}(x) + m{index - 1}(x)" for index in range(1, 30)]
    answer = parser.parse("select m29(a) as c from t")
    assert isinstance(answer, Statements)
    Bodies(statements).expanded(answer.trees[0])
    files = {"macros/m.sql": ";\n".join(statements).replace("TEMP ", ""), "models/m.sql": "select m4(id) as c from raw.orders"}
    assert errors(compiled(tmp_path, files)) == []


MACRO_FILE = """
create macro cents(x) as (coalesce(x, 0) * 100)::bigint;
create macro net(x, rate := 0.2) as cents(x) - cents(x * rate);
create macro biggest(x) as max(x) filter (where x > 0);
create macro counting(n) as table select i as a, i + 1 as b from range(n) as r(i);
create macro joined(x) as string_agg(x);
"""


def test_a_contract_is_proved_through_macros(tmp_path: Path) -> None:
    files = {
        "macros/money.sql": MACRO_FILE,
        "models/m.sql": "select id, net(amount) as net from raw.orders where id is not null",
        "models/m.toml": 'materialized = "table"\n[contract.columns.net]\nnullable = false\n[contract.columns.id]\nnullable = false\n',
    }
    found = compiled(tmp_path, files)
    assert [(finding.code, finding.severity) for finding in found.findings] == []
    assert {each.proof for each in found.models["m"].contract_findings} == {"compiled"}


def test_lineage_goes_through_macros(tmp_path: Path) -> None:
    text = "select net(amount, rate := customer) as c, biggest(id) as d from raw.orders group by all"
    looked = lineages(tmp_path, {"macros/money.sql": MACRO_FILE, "models/m.sql": text}).of("m")
    assert looked.complete
    assert {each.column.column: {short(value) for value in each.values} for each in looked.columns} == {
        "c": {"orders.amount", "orders.customer"},
        "d": {"orders.id"},
    }
    assert "orders.id" in {short(each) for each in looked.rows}


def test_lineage_of_a_table_macro(tmp_path: Path) -> None:
    text = "select s.b as c, o.id from counting(3) as s join raw.orders as o on o.id = s.a"
    looked = lineages(tmp_path, {"macros/money.sql": MACRO_FILE, "models/m.sql": text}).of("m")
    assert looked.complete
    assert [{short(value) for value in each.values} for each in looked.columns] == [set(), {"orders.id"}]


def test_an_order_that_is_not_fixed_is_seen_in_a_macro(tmp_path: Path) -> None:
    text = "select\n  joined(status) as l from raw.orders"
    found = compiled(tmp_path, {"macros/money.sql": MACRO_FILE, "models/m.sql": text, "models/m.toml": 'materialized = "table"\n'})
    finding = next(finding for finding in found.findings if finding.subject == "m")
    assert (finding.code, finding.at and (finding.at.line, finding.at.column)) == ("L218", (2, 3))
