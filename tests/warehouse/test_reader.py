"""What a reader says is what stands there; what is not there is a positive answer, and all else an error."""

from __future__ import annotations

import time

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.warehouse.duckdb.comments import comment_of, token_in
from interlock.engine.warehouse.protocol import WarehouseError

from .conftest import PROJECT, Shop

HEX = st.text("0123456789abcdef", min_size=64, max_size=64)


def test_before_genesis_everything_is_positively_absent(shop: Shop) -> None:
    reader = shop.session().reader()
    assert reader.identity(PROJECT) is None
    assert reader.heads(PROJECT) == ()
    assert reader.receipts(PROJECT, ["r"]) == {}
    assert not reader.receipt_exists(PROJECT)
    assert reader.last_seal(PROJECT) is None
    assert reader.catalog().relations == {}


def test_two_projects_in_one_database_do_not_see_each_other(shop: Shop) -> None:
    reader = shop.prepared("m").reader()
    found = reader.identity(PROJECT)
    assert found is not None
    assert (found.warehouse, found.ledger, found.format) == ("w1", "l1", 1)
    assert reader.identity("other") is None
    assert reader.heads("other") == ()


def test_a_control_schema_that_is_not_ours_is_unreadable_and_not_absent(shop: Shop) -> None:
    shop.sql("CREATE SCHEMA interlock", "CREATE TABLE interlock.identity (something INTEGER)")
    reader = shop.session().reader()
    with pytest.raises(WarehouseError) as caught:
        reader.identity(PROJECT)
    assert caught.value.kind != "absent"


def test_the_catalog_says_kind_columns_comment_and_token(shop: Shop) -> None:
    token = "b" * 64
    shop.sql(
        "CREATE SCHEMA Marts",
        'CREATE TABLE Marts."My Orders" AS SELECT 1 AS a, [1.5] AS "B b"',
        f"""COMMENT ON TABLE Marts."My Orders" IS '{comment_of("all orders", token)}'""",
        'CREATE VIEW v AS SELECT a FROM Marts."My Orders"',
        "COMMENT ON VIEW v IS 'a view'",
    )
    catalog = shop.reader().catalog()
    orders, view = catalog.find("marts", "MY ORDERS"), catalog.find("main", "v")
    assert orders is not None
    assert view is not None
    assert (orders.schema, orders.name, orders.kind, orders.token) == ("Marts", "My Orders", "table", token)
    assert [(column.name, column.type) for column in orders.columns] == [("a", "INTEGER"), ("B b", "DECIMAL(2,1)[]")]
    assert (view.kind, view.comment, view.token) == ("view", "a view", None)
    assert view.text is not None
    assert catalog.schemas == {"main", "Marts"}


def test_a_reader_cannot_write(shop: Shop) -> None:
    session = shop.prepared()
    reader = session.reader()
    for text in (
        "CREATE TABLE warehouse.main.t AS SELECT 1",
        "DELETE FROM warehouse.interlock.heads",
        "SELECT 1; DROP TABLE warehouse.interlock.heads",
        "DROP SCHEMA warehouse.interlock CASCADE",
        "WITH gone AS (DELETE FROM warehouse.interlock.identity RETURNING 1) SELECT * FROM gone",
        "COPY (SELECT 1) TO 'out.csv'",
        "",
    ):
        with pytest.raises(WarehouseError):
            reader.query(text)
        with pytest.raises(WarehouseError):
            reader.columns_of(text)
    assert reader.identity(PROJECT) is not None
    assert not (shop.root / "out.csv").exists()


def test_columns_are_bound_and_nothing_is_run(shop: Shop) -> None:
    reader = shop.session().reader()
    columns = reader.columns_of("SELECT error('ran') AS a, 1::DECIMAL(9, 2) AS b, {'x': [1]} AS c FROM range(10)")
    assert [(column.name, column.type) for column in columns][1:] == [("b", "DECIMAL(9,2)"), ("c", "STRUCT(x INTEGER[])")]


def test_an_error_says_where(shop: Shop) -> None:
    with pytest.raises(WarehouseError) as caught:
        shop.session().reader().query("SELECT 'é', nosuch FROM (SELECT 1 AS a)")
    assert caught.value.offset == len("SELECT 'é', ".encode())
    assert "nosuch" in caught.value.message


def test_a_closed_reader_says_so(shop: Shop) -> None:
    reader = shop.session().reader()
    reader.close()
    reader.close()
    with pytest.raises(WarehouseError) as caught:
        reader.query("SELECT 1")
    assert caught.value.code == "W609"


def test_a_reader_goes_on_after_a_question_that_failed(shop: Shop) -> None:
    reader = shop.session().reader()
    with pytest.raises(WarehouseError):
        reader.query("SELECT nosuch")
    assert reader.query("SELECT $a + 1", {"a": 1}) == [(2,)]


def test_parameters_are_values_and_never_text(shop: Shop) -> None:
    assert shop.session().reader().query("SELECT $a", {"a": "'; DROP TABLE x; --"}) == [("'; DROP TABLE x; --",)]


def test_the_probe_of_ten_thousand_relations_is_one_probe(shop: Shop) -> None:
    with duckdb.connect(str(shop.location)) as connection:
        connection.execute(";".join(f"CREATE TABLE t{number} (a INTEGER, b VARCHAR)" for number in range(3000)))
    reader = shop.reader()
    started = time.process_time()
    catalog = reader.catalog()
    assert len(catalog.relations) == 3000
    # No measurement, a guard against a query for each relation: those would take minutes.
    assert time.process_time() - started < 30


@given(st.text(st.characters(codec="utf-8"), max_size=40), HEX)
def test_a_token_is_read_from_the_end_of_any_comment(description: str, token: str) -> None:
    comment = comment_of(description, token)
    assert token_in(comment) == token


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_comment_without_a_token_has_none(description: str) -> None:
    assert token_in(comment_of(description, None)) is None


@pytest.mark.parametrize(
    "comment", [None, "", f"[interlock:{'a' * 63}]", f"[interlock:{'a' * 64}] more", f"x[interlock:{'a' * 64}]", f"[interlock:{'A' * 64}]"]
)
def test_what_is_not_quite_a_token_is_none(comment: str | None) -> None:
    assert token_in(comment) is None
