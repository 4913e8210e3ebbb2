"""`restrict`: a predicate at a relation's span, where the author asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import errors, model, the

from interlock.engine.compiler.restrict import restricted

TOML = 'materialized = "incremental"\nstrategy = "append"\nwatermark = "t"\nrestrict = ["{pair}"]\n'
TEXT = "select 'é' as é, max(o.ordered_at) as t from raw.orders o join raw.orders on orders.id = o.id where $as_of > o.ordered_at"


def test_every_place_of_the_relation_gets_the_predicate(tmp_path: Path) -> None:
    found = model(tmp_path, TEXT, TOML.format(pair="raw.orders.ordered_at")).models["m"]
    assert [(span.column, span.type) for span in found.restricted] == [("ordered_at", "TIMESTAMP WITH TIME ZONE")] * 2
    inner = '(SELECT * FROM "warehouse"."raw"."orders" WHERE ("ordered_at" > 1))'
    assert restricted(found, {"raw.orders.ordered_at": '"ordered_at" > 1'}) == (
        f"select 'é' as é, max(o.ordered_at) as t from {inner} o join {inner} AS \"orders\" on orders.id = o.id "
        "where TIMESTAMPTZ '2026-03-01 12:00:00+00:00' > o.ordered_at"
    )
    assert restricted(found, {}) == found.sql


@pytest.mark.parametrize(("pair", "word"), [("raw.customers.id", "`raw.customers`"), ("raw.orders.nothing", "`nothing`")])
def test_a_pair_that_stands_nowhere_is_refused(pair: str, word: str, tmp_path: Path) -> None:
    found = model(tmp_path, TEXT, TOML.format(pair=pair))
    assert word in the(found, "L222").summary
    assert len(errors(found)) == 1
