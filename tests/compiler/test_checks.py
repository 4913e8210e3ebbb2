"""Checks: one expression each, bound against the model's own columns before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.projects import codes, compiled, errors, model

from interlock.engine.compiler.compiled import Compiled

TEXT = "select id, amount, status, ordered_at, day from raw.orders"


def _check(body: str, tmp_path: Path, text: str = TEXT, **more: str) -> Compiled:
    return model(tmp_path, text, f"[[checks]]\n{body}\n", **more)


@pytest.mark.parametrize(
    "body",
    [
        'expression = "1=1; drop table x"',
        'expression = "amount > 0) or (1 = 1"',
        'expression = "amount > 0, 1"',
        'expression = "amount > 0 -- \\n) as y, (1"',
        'expression = "amount"',
        'expression = "amount >"',
        'expression = "sum(amount) > 0"',
        'expression = "row_number() over () > 0"',
        'expression = "nothing > 0"',
        'expression = "amount > 0 as ok"',
        'expression = "(amount > 0"',
        'unique = ["nothing"]',
        'not_null = ["amout"]',
        'accepted_values = { column = "nothing", values = ["a"] }',
        'accepted_values = { column = "amount", values = ["a"] }',
        'relationships = { column = "id", to = "nowhere", to_column = "id" }',
        'relationships = { column = "id", to = "raw.customers", to_column = "nothing" }',
        'relationships = { column = "nothing", to = "raw.customers", to_column = "id" }',
        'relationships = { column = "amount", to = "raw.customers", to_column = "tags" }',
        'freshness = { column = "status", max_age = "1 day" }',
        'freshness = { column = "day", max_age = "1 day" }',
        'freshness = { column = "day", max_age = "1 day", zone = "Nowhere/Land" }',
        'sql = "select nothing from m"',
    ],
)
def test_what_cannot_be_asked_is_refused(body: str, tmp_path: Path) -> None:
    found = _check(body, tmp_path)
    assert codes(found) == ["L225"], errors(found)
    (finding,) = errors(found)
    assert finding.at is not None
    assert finding.at.path == "models/m.toml"
    assert finding.at.key.startswith("checks[0]")
    assert finding.remedy
    assert found.models["m"].blocked


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('sql = "select * from nowhere"', "L204"),
        ('sql = "delete from m"', "L203"),
        ('sql = "select * from m; select 1"', "L202"),
        ("sql = \"select * from read_csv('x.csv')\"", "L208"),
        ('sql = "select * from m where id > $nothing"', "L209"),
        ('expression = "amount > $nothing"', "L209"),
        ('expression = "id in (select id from nowhere)"', "L204"),
    ],
)
def test_a_text_in_a_check_is_held_to_the_rules_of_a_model(body: str, code: str, tmp_path: Path) -> None:
    assert codes(_check(body, tmp_path)) == [code]


@pytest.mark.parametrize(
    "body",
    [
        'expression = "amount > 0"',
        'expression = "amount > 0 -- always"',
        "expression = \"amount in (1, 2) and status <> '('\"",
        'expression = "id in (select id from raw.customers)"',
        'expression = "ordered_at <= $as_of"',
        'expression = "m.amount > 0"',
        'unique = ["id", "Amount"]',
        'not_null = ["ID"]',
        'accepted_values = { column = "status", values = ["a", "b"] }',
        'accepted_values = { column = "id", values = [1, 2] }',
        'relationships = { column = "id", to = "raw.customers", to_column = "id" }',
        "row_count = { min = 1 }",
        'freshness = { column = "ordered_at", max_age = "1 day" }',
        'freshness = { column = "day", max_age = "1 day", zone = "Europe/Berlin" }',
        'sql = "select * from m where amount < 0; -- none"',
    ],
)
def test_what_can_be_asked_is_compiled(body: str, tmp_path: Path) -> None:
    found = _check(body, tmp_path)
    assert errors(found) == []
    assert len(found.models["m"].checks) == 1


@pytest.mark.parametrize(
    "expression", ["columns(*) is not null", "columns('id|amount') > 0", "columns(lambda c: c like '%a%') is not null"]
)
def test_an_expression_that_is_several_is_refused_since_one_that_fails_would_not_be_seen(expression: str, tmp_path: Path) -> None:
    """Cases 1524 and 1597."""
    found = _check(f'expression = "{expression}"', tmp_path)
    (told,) = errors(found)
    assert "is several expressions" in told.summary
    assert "joined by AND" in told.remedy


def test_names_are_resolved_and_the_model_means_its_relation(tmp_path: Path) -> None:
    found = _check('sql = "select m.* from m join other on m.id = other.id"', tmp_path, models__other="select 1 as id")
    (check,) = found.models["m"].checks
    assert check.failing == 'select m.* from "warehouse"."main"."m" AS "m" join "warehouse"."main"."other" AS "other" on m.id = other.id'
    assert check.reads == ("other",)
    assert found.children["other"] == ("m",)


def test_an_expression_keeps_its_brackets_from_a_comment(tmp_path: Path) -> None:
    (check,) = _check('expression = "day < $as_of::date -- x"', tmp_path).models["m"].checks
    assert check.failing == "(\nday < TIMESTAMPTZ '2026-03-01 12:00:00+00:00'::date\n)"


def test_a_relationship_reads_the_relation_of_what_it_names(tmp_path: Path) -> None:
    found = _check('relationships = { column = "id", to = "other", to_column = "k" }', tmp_path, models__other="select 1::bigint as k")
    (check,) = found.models["m"].checks
    assert (check.to_relation, check.reads) == ('"warehouse"."main"."other"', ("other",))
    assert [name for layer in found.layers for name in layer] == ["other", "m"]


def test_a_check_of_a_later_model_is_a_circle_unless_it_comes_after_publication(tmp_path: Path) -> None:
    body = 'relationships = { column = "id", to = "later", to_column = "id" }'
    assert codes(_check(body, tmp_path / "a", models__later="select id from m")) == ["L206"]
    found = _check(body + '\nafter = "publication"', tmp_path / "b", models__later="select id from m")
    assert errors(found) == []
    assert found.models["m"].checks[0].reads == ("later",)
    assert found.layers == (("m",), ("later",))


def test_checks_of_seeds_are_bound(tmp_path: Path) -> None:
    files = {
        "models/m.sql": "select 1 as a",
        "seeds/letters.csv": "letter,place\na,1\n",
        "seeds/letters.toml": '[[checks]]\nunique = ["plaze"]\n',
    }
    assert codes(compiled(tmp_path, files)) == ["L225"]


def test_a_variable_of_a_check_is_not_one_of_the_model(tmp_path: Path) -> None:
    found = _check('expression = "day < $as_of::date"', tmp_path)
    assert found.models["m"].variables == ()
    assert found.variables == ("as_of",)
