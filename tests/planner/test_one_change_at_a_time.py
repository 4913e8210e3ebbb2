"""A built project, and one change at a time of every kind there is: exactly the models that it concerns are planned, as they must be."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from interlock.engine import api
from interlock.engine.planner.plan import PlanBody

CONFIG = """
[project]
id = "{id}"
name = "{name}"
[vars]
region = "eu"
idle = 1
[targets.dev]
type = "duckdb"
path = "{path}"
create = true
schema = "{schema}"
on_change = "rebuild"
"""
TABLE = 'materialized = "table"\n'
FILES = {
    "sources.toml": """
[sources."raw.c"]
fingerprint = "content"
[sources."raw.k"]
fingerprint = "column"
fingerprint_column = "ts"
[sources."raw.n"]
[sources.landing]
path = "landing/*.csv"
fingerprint = "content"
[sources.landing.columns]
id = "INTEGER"
[sources."other.o"]
fingerprint = "receipt"
""",
    "macros/m.sql": "create macro twice(x) as x * 2;\ncreate macro idle(x) as x;",
    "landing/a.csv": "id\n1\n",
    "seeds/s.csv": "id,name\n1,a\n2,b\n",
    "models/v.sql": "select id, amount from raw.c",
    "models/e.sql": "select id, amount from v",
    "models/e.toml": 'materialized = "ephemeral"\n',
    "models/t.sql": "select id, amount from e where id > 0",
    "models/t.toml": TABLE + 'description = "t"\n[[checks]]\nnot_null = ["id"]\n',
    "models/d.sql": "select count(*) as n from t",
    "models/d.toml": TABLE,
    "models/star.sql": "select * from raw.c",
    "models/star.toml": TABLE,
    "models/k.sql": "select id from raw.k",
    "models/k.toml": TABLE,
    "models/n.sql": "select id from raw.n",
    "models/n.toml": TABLE,
    "models/f.sql": "select id from landing",
    "models/f.toml": TABLE,
    "models/o.sql": "select id from other.o",
    "models/o.toml": TABLE,
    "models/st.sql": "select id, name from s",
    "models/st.toml": TABLE,
    "models/mac.sql": "select twice(id) as x, $region as r from s",
    "models/mac.toml": TABLE,
    "models/inc.sql": "select id, amount, ts from raw.c",
    "models/inc.toml": 'materialized = "incremental"\nstrategy = "append"\nwatermark = "id"\n',
    "models/snap.sql": "select id, amount from raw.c",
    "models/snap.toml": 'materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "columns"\n',
    "models/moving.sql": "select $as_of as seen",
    "models/moving.toml": TABLE,
    "models/chance.sql": "select random() as r",
    "models/chance.toml": TABLE,
    "models/some.sql": "select id from s limit 1",
    "models/some.toml": TABLE,
}
SQL = """
CREATE SCHEMA raw;
CREATE TABLE raw.c AS SELECT i AS id, i * 10 AS amount, TIMESTAMP '2026-01-01' + i * INTERVAL 1 DAY AS ts FROM range(1, 4) AS r(i);
CREATE TABLE raw.k AS SELECT 1 AS id, 1 AS ts;
CREATE TABLE raw.n AS SELECT 1 AS id;
"""
OTHER = {"models/o.sql": "select id from s", "models/o.toml": TABLE, "seeds/s.csv": "id\n1\n"}
ALWAYS = {"n": "replace", "moving": "replace", "chance": "replace", "some": "replace"}
"""Built each run: no fingerprint, `$as_of`, a volatile function, LIMIT without an order."""


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def run_other(root: Path) -> None:
    assert api.run(api.open_context(root / "other")).exit_code == 0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built")
    write(root / "shop", {"interlock.toml": CONFIG.format(id="shop1", name="shop", path="shop.duckdb", schema="main"), **FILES})
    write(root / "other", {"interlock.toml": CONFIG.format(id="other1", name="other", path="../shop/shop.duckdb", schema="other"), **OTHER})
    with duckdb.connect(str(root / "shop/shop.duckdb")) as connection:
        connection.execute(SQL)
    run_other(root)
    result = api.run(api.open_context(root / "shop"))
    assert result.exit_code == 0, result
    return root


def sql(text: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        with duckdb.connect(str(root / "shop/shop.duckdb")) as connection:
            connection.execute(text)

    return act


def edit(path: str, old: str, new: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        place = root / "shop" / path
        text = place.read_text()
        assert text.count(old) == 1, text
        place.write_text(text.replace(old, new))

    return act


def add(path: str, text: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        place = root / "shop" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text((place.read_text() if place.exists() else "") + text)

    return act


def move(path: str, to: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        (root / "shop" / to).parent.mkdir(parents=True, exist_ok=True)
        (root / "shop" / path).rename(root / "shop" / to)

    return act


def both(*acts: Callable[[Path], None]) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        for each in acts:
            each(root)

    return act


def other_rows(root: Path) -> None:
    (root / "other/seeds/s.csv").write_text("id\n1\n2\n")
    run_other(root)


def nothing(root: Path) -> None:
    del root


TABLES = ("t", "d", "star", "k", "f", "o", "st", "mac")
CHANGES: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "nothing": (nothing, {}),
    "layout and comments of a text": (edit("models/t.sql", "select id", "-- all\nSELECT  id"), {}),
    "a table's text": (edit("models/t.sql", "id > 0", "id > 1"), {"t": "replace", "d": "replace"}),
    "a view's text": (edit("models/v.sql", "amount", "amount + 1 as amount"), {"v": "replace", "t": "replace", "d": "replace"}),
    "an ephemeral's text": (edit("models/e.sql", "from v", "from v where id < 9"), {"t": "replace", "d": "replace"}),
    "an incremental's text": (edit("models/inc.sql", "amount", "amount * 2 as amount"), {"inc": "replace"}),
    "a macro that is called": (edit("macros/m.sql", "x * 2", "x * 3"), {"mac": "replace"}),
    "a macro that nobody calls": (edit("macros/m.sql", "idle(x) as x", "idle(x) as x + 1"), {}),
    "a macro's comment": (edit("macros/m.sql", "x * 2;", "x * 2; -- two"), {}),
    "a variable that is read": (edit("interlock.toml", '"eu"', '"us"'), {"mac": "replace"}),
    "a variable that nobody reads": (edit("interlock.toml", "idle = 1", "idle = 2"), {}),
    "a seed's rows": (edit("seeds/s.csv", "2,b", "2,c"), {"s": "replace", "st": "replace", "mac": "replace"}),
    "a seed's description": (add("seeds/s.toml", 'description = "s"\n'), {}),
    "a check": (edit("models/t.toml", '"id"', '"amount"'), {"t": "recheck"}),
    "a check's severity": (add("models/t.toml", 'severity = "warn"\n'), {"t": "recheck"}),
    "a check's description": (add("models/t.toml", 'description = "why"\n'), {}),
    "a contract": (add("models/star.toml", '[contract.columns]\nid = "BIGINT"\n'), {"star": "recheck"}),
    "a description": (edit("models/t.toml", 'description = "t"', 'description = "u"'), {}),
    "tags of a folder": (add("models/_defaults.toml", 'tags = ["x"]\n'), {}),
    "a policy of an incremental": (add("models/inc.toml", 'future = "refuse"\n'), {}),
    "a materialization": (edit("models/st.toml", "table", "view"), {"st": "convert"}),
    "a key": (add("models/inc.toml", 'unique_key = ["id"]\n'), {"inc": "replace"}),
    "an alias": (add("models/st.toml", 'alias = "another"\n'), {"st": "create"}),
    "both files to another folder": (
        both(move("models/st.sql", "models/sub/st.sql"), move("models/st.toml", "models/sub/st.toml")),
        {},
    ),
    "a setting that changes answers": (
        add("interlock.toml", '[targets.dev.settings]\ndefault_null_order = "nulls_first"\n'),
        {"v": "replace", "s": "replace", **dict.fromkeys(TABLES, "replace")},
    ),
    "rows of a source, seen by content": (
        sql("INSERT INTO raw.c VALUES (9, 90, '2026-02-01')"),
        {"t": "replace", "d": "replace", "star": "replace", "inc": "append", "snap": "snapshot"},
    ),
    "a value in a source, seen by content": (
        sql("UPDATE raw.c SET amount = 11 WHERE id = 1"),
        {"t": "replace", "d": "replace", "star": "replace", "inc": "append", "snap": "snapshot"},
    ),
    "rows of a source, seen by a column": (sql("INSERT INTO raw.k VALUES (2, 2)"), {"k": "replace"}),
    "a value that no mark sees": (sql("UPDATE raw.k SET id = 7"), {}),
    "a file": (add("landing/a.csv", "2\n"), {"f": "replace"}),
    "another file": (add("landing/b.csv", "id\n5\n"), {"f": "replace"}),
    "what another project wrote": (other_rows, {"o": "replace"}),
    "a column of a source": (sql("ALTER TABLE raw.n ADD COLUMN more INTEGER"), {}),
    "a column under a star": (
        sql("ALTER TABLE raw.c ADD COLUMN more INTEGER"),
        {"t": "replace", "d": "replace", "star": "replace", "inc": "append", "snap": "snapshot"},
    ),
    "rows of a table, by hand, which are looked for where it is asked": (sql("DELETE FROM st WHERE id = 1"), {}),
    "a table dropped by hand": (sql("DROP TABLE st"), {"st": "create"}),
    "a check on a view": (add("models/v.toml", '[[checks]]\nnot_null = ["id"]\n'), {"v": "recheck"}),
}


def planned(root: Path) -> PlanBody:
    context = api.open_context(root / "shop", clock=lambda: datetime(2026, 6, 1, tzinfo=UTC))
    result = api.plan(context, save=False)
    assert result.body is not None, result
    return result.body


@pytest.mark.parametrize("name", CHANGES)
def test_exactly_what_a_change_concerns_is_planned(name: str, built: Path, tmp_path: Path) -> None:
    change, expected = CHANGES[name]
    root = tmp_path / "copy"
    shutil.copytree(built, root)
    change(root)
    body = planned(root)
    assert {item.model: item.action for item in body.items if item.action != "no_op"} == {**ALWAYS, **expected}
    assert all(item.reasons for item in body.items)


def test_forced_models_are_built(built: Path) -> None:
    context = api.open_context(built / "shop")
    body = api.plan(context, force=("st",), save=False).body
    assert body is not None
    assert {item.model: item.action for item in body.items if item.action != "no_op"} == {**ALWAYS, "st": "replace"}


def test_rows_changed_by_hand_are_found_where_it_is_asked(built: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(built, root)
    sql("UPDATE st SET name = 'z' WHERE id = 1")(root)
    body = api.plan(api.open_context(root / "shop"), verify_content=True, save=False).body
    assert body is not None
    assert {item.model: item.action for item in body.items if item.action != "no_op"} == {**ALWAYS, "st": "replace"}
