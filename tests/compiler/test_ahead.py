"""Binding beside and without the tokens: the quick ways say what the slow ones say."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from tests.compiler.projects import compiled

from interlock.engine.compiler import collector
from interlock.engine.compiler.analysis import Analysis
from interlock.engine.compiler.text import Text
from interlock.engine.turns import short_turns
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.binder import SOURCES, Binder, NotBound, Shadow
from interlock.engine.warehouse.protocol import ALIAS
from interlock.machines.evidence import Column


def table(name: str, kind: str = "INTEGER") -> Shadow:
    return Shadow(ALIAS, "main", name, "table", (Column(name="a", type=kind),))


def test_texts_are_bound_against_the_shadows_of_their_round() -> None:
    with Binder() as binder:
        texts = [f'SELECT a AS x{number} FROM "warehouse"."main"."t"' for number in range(50)]
        binding = binder.begin([table("t", "DECIMAL(9,2)")], texts)
        assert binding.stood() == {}
        found = binding.found()
        assert found == {f'SELECT a AS x{n} FROM "warehouse"."main"."t"': (Column(name=f"x{n}", type="DECIMAL(9,2)"),) for n in range(50)}


def test_a_shadow_that_cannot_be_made_is_told_and_the_others_stand() -> None:
    with Binder() as binder:
        binding = binder.begin([table("good"), table("bad", "NO_SUCH_TYPE")], ['SELECT a FROM "warehouse"."main"."good"'])
        assert list(binding.stood()) == [1]
        assert list(binding.found().values()) == [(Column(name="a", type="INTEGER"),)]


def test_what_the_binder_refuses_is_an_answer_of_the_round() -> None:
    with Binder() as binder:
        (answer,) = binder.begin([], ["SELECT nothing FROM nowhere"]).found().values()
        assert isinstance(answer, NotBound)


@pytest.mark.parametrize("wrong", [(), (0,), (39,), (0, 15, 16, 17, 38)])
def test_two_make_the_shadows_and_every_text_sees_all_of_them(wrong: tuple[int, ...]) -> None:
    shadows = [table(f"t{number}", "NO_SUCH_TYPE" if number in wrong else "INTEGER") for number in range(40)]
    text = " UNION ALL ".join(f'SELECT a FROM "warehouse"."main"."t{number}"' for number in range(40) if number not in wrong)
    texts = [f"{text} -- {number}" for number in range(4)]
    for _ in range(5):
        with Binder() as binder, short_turns():
            binding = binder.begin(shadows, texts)
            assert binding.found() == dict.fromkeys(texts, (Column(name="a", type="INTEGER"),))
            assert sorted(binding.stood()) == list(wrong)


def test_engines_in_memory_have_no_threads_of_their_own() -> None:
    """Each would hold an arena of the allocator, of which there are eight for each core; those that work would share the rest."""
    asked = "SELECT current_setting('async_threads')::INTEGER, current_setting('threads')::INTEGER"
    with Binder() as binder, parser.in_memory() as connection:
        assert binder.evaluate(asked) == [(0, 1)]
        assert connection.execute(asked).fetchall() == [(0, 1)]


def test_turns_are_as_long_as_before_afterwards() -> None:
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before
    with pytest.raises(KeyError), short_turns():
        raise KeyError
    assert sys.getswitchinterval() == before


def test_the_caller_can_bind_while_a_round_is_on() -> None:
    with Binder() as binder:
        binder.stand_in([Shadow(SOURCES, "main", "s", "table", (Column(name="a", type="DATE"),))])
        binding = binder.begin([table(f"t{number}") for number in range(200)], ["SELECT 1 AS a"] * 3)
        assert binder.columns_of(f'SELECT a FROM "{SOURCES}"."main"."s"') == (Column(name="a", type="DATE"),)
        assert binding.found() == {"SELECT 1 AS a": (Column(name="a", type="INTEGER"),)}


def test_a_closed_binder_waits_for_no_round() -> None:
    with Binder() as binder:
        binder.begin([], [f"SELECT {number} AS a" for number in range(2000)])


@pytest.mark.parametrize("lots", [1, 7, 8, 9, 200])
def test_parsing_ahead_gives_the_trees_of_parsing(lots: int) -> None:
    texts = [*(f"SELECT {number} AS a -- {number}" for number in range(lots)), "SELECT broken FROM", "SELECT 0 AS a -- 0"]
    alone = [parser.parse(text) for text in texts]
    with parser.looking_ahead(texts):
        assert [parser.parse(text) for text in reversed(texts)] == alone[::-1]
    assert [parser.parse(text) for text in texts] == alone


def test_leaving_early_takes_nothing_along() -> None:
    with parser.looking_ahead([f"SELECT {number} AS a" for number in range(3000)]):
        pass
    assert isinstance(parser.parse("SELECT 1 AS a"), parser.Statements)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT 1;",
        "SELECT 1 ; ; ",
        "SELECT 1 -- it",
        "SELECT 1 /* it */",
        "/* a\n b */ SELECT 1\n\n",
        "SELECT 1\n-- last\n",
        "SELECT '-- no comment'",
        "SELECT 'ä', \"ü\"  \n",
        "SELECT 1 -- a\r\n",
        "SELECT 1 -- a\n\t /* b\n c */ ;\n -- d",
        "SELECT $$a;b$$",
        "SELECT 1\n;\n",
        "",
        "  \n",
        "-- nothing",
    ],
)
def test_the_end_of_a_statement_is_that_of_its_last_word(text: str) -> None:
    words = [token for token in parser.tokens(text) if token.kind != "comment" and token.text != ";"]
    assert Text(text, "m.sql").end == (words[-1].end if words else 0)


def test_the_collector_rests_and_goes_on() -> None:
    assert gc.isenabled()
    with collector.paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


WRITTEN = {
    "a": "select a.x from a",
    "A": "select x from A where x > 0",
    "quoted": 'select x from "a"',
    "path": "select x from main.a",
    "spaced path": "select x from main . a",
    "quoted path": 'select x from main."a"',
    "comment in the path": "select x from main/* it */.a",
    "comment line in the path": "select x from main --it\n.a",
    "comment after": "select x from a/* it */",
    "alias": "select b.x from a b",
    "alias of its name before": "select a.x from a: a",
    "alias before": "select b.x from b : a",
    "alias before with a comment": "select a.x from a/* it */: a",
    "join": "select l.x from a l join a r using (x)",
    "comma": "select l.x from a as l, main.a as r",
    "brackets": "select x from (from a)",
    "sample": "select x from a tablesample reservoir(10) repeatable (1)",
    "umlaut before": "select 'ä' as u, x from a",
    "at the end": "select x from a;",
    "first": "from a",
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_name_stands_where_its_tokens_say(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"models/a.sql": "select 1 as x", "models/m.sql": WRITTEN[how]}
    quick = compiled(tmp_path / "quick", files)
    monkeypatch.setattr(Analysis, "_plain_span", lambda *_: None)
    slow = compiled(tmp_path / "slow", files)
    assert quick.models["m"].sql == slow.models["m"].sql
    assert quick.findings == slow.findings
    assert '"warehouse"."main"."a"' in slow.models["m"].sql


def test_a_tree_that_was_let_go_is_read_again_and_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "macros/m.sql": "CREATE MACRO twice(x) AS x * 2;",
        "models/a.sql": "select id, coalesce(amount, 0) as amount from raw.orders where id is not null",
        "models/b.sql": "select id, twice(amount) as amount, row_number() over (order by amount, id) as n from a",
        "models/b.toml": 'materialized = "view"\n',
        "models/c.sql": "select b.id, b.n from b where b.amount is not null union all select id, 0 from a",
        "models/c.toml": '[contract]\n[contract.columns]\nid = { type = "BIGINT", nullable = false }\nn = { type = "BIGINT", nullable = false }\n',
        "models/d.sql": "select * from c order by n limit 3",
        "models/d.toml": "deterministic = true\n",
    }
    kept = compiled(tmp_path / "kept", files)
    monkeypatch.setattr("interlock.engine.compiler.trees.TREES_MAX", 0)
    again = 0
    parse = parser.parse

    def counted(text: str) -> object:
        nonlocal again
        again += 1
        return parse(text)

    monkeypatch.setattr(parser, "parse", counted)
    let_go = compiled(tmp_path / "let_go", files)
    assert let_go.models == kept.models
    assert let_go.findings == kept.findings
    assert again > len(kept.models), "no reader asked for a tree again, so this shows nothing"


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("expression", ["get_type(1)", "row()"])
def test_columns_that_no_relation_can_have_are_found_also_where_nobody_reads_them(expression: str, read: bool, tmp_path: Path) -> None:
    files = {"models/m.sql": f"select {expression} as kind", "models/m.toml": 'materialized = "table"\n'}
    found = compiled(tmp_path, {**files, "models/reader.sql": "select * from m"} if read else files)
    assert [(each.code, each.subject) for each in found.findings if each.severity == "error"] == [("L201", "m")]
    assert found.models["m"].blocked
