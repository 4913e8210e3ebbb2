"""What is compiled with the cache is, to the byte, what is compiled without it; and what nothing changed is not compiled."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.engine.cache import versions
from interlock.engine.cache.store import Cache
from interlock.engine.compiler import compile as compiling
from interlock.engine.compiler import remembered
from interlock.engine.compiler.compile import compile_project
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.compiler.remembered import compile_known
from interlock.engine.compiler.source_texts import match_files
from interlock.engine.compiler.world import World
from interlock.engine.project.clashes import relation_conflicts
from interlock.engine.project.load import load
from interlock.machines.evidence import Column

AS_OF = "2026-03-01T12:00:00.000000Z"
LATER = "2026-03-02T12:00:00.000000Z"
CONFIG = (
    '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n'
    '[targets.dev.settings]\nTimeZone = "${ZONE}"\n'
    '[targets.other]\ntype = "duckdb"\npath = "other.duckdb"\nschema = "elsewhere"\n[vars]\nregion = "EU"\nleast = 1\n'
)
SOURCES = """
[sources."raw.orders".columns]
id = { type = "BIGINT", nullable = false }
customer = "INTEGER"
amount = "DECIMAL(10,2)"
happened = "TIMESTAMPTZ"
region = "VARCHAR"
[sources.landed]
path = "in/*.csv"
[sources.landed.columns]
id = "BIGINT"
name = "VARCHAR"
"""
FILES = {
    "interlock.toml": CONFIG,
    "sources.toml": SOURCES,
    "in/a.csv": "id,name\n1,a\n",
    "models/stg.sql": "SELECT id, customer, amount, happened, region FROM raw.orders WHERE region = $region",
    "models/stg.toml": 'materialized = "table"\ntags = ["base"]\n[contract.columns]\nid = { type = "BIGINT", nullable = false }\n',
    "models/recent.sql": "SELECT id, amount, happened FROM stg WHERE happened < $as_of",
    "models/recent.toml": 'materialized = "ephemeral"\n',
    "models/totals.sql": "SELECT s.customer, sum(r.amount) AS total, $as_of AS seen FROM recent AS r JOIN stg AS s ON s.id = r.id GROUP BY ALL",
    "models/totals.toml": """materialized = "table"
[[checks]]
expression = "total > $least"
[[checks]]
sql = "SELECT * FROM totals WHERE customer NOT IN (SELECT customer FROM stg)"
name = "known"
[[checks]]
relationships = { column = "customer", to = "stg", to_column = "customer" }
[[checks]]
accepted_values = { column = "customer", values = [1, 2, 3] }
""",
    "models/top.sql": "SELECT * FROM totals LIMIT 3",
    "models/names.sql": "SELECT id, name, twice(id) AS double FROM landed LEFT JOIN stg USING (id)",
    "models/deep/_defaults.toml": 'materialized = "table"\n',
    "models/deep/last.sql": "SELECT t.customer, n.name, k.label FROM totals AS t, names AS n JOIN kinds AS k ON k.id = n.id",
    "models/deep/alone.sql": "SELECT id, happened FROM raw.orders",
    "models/deep/alone.toml": 'materialized = "incremental"\nstrategy = "merge"\nwatermark = "happened"\nunique_key = "id"\nrestrict = ["raw.orders.happened"]\n',
    "models/deep/kept.sql": "SELECT id, region FROM raw.orders",
    "models/deep/kept.toml": 'materialized = "snapshot"\nunique_key = "id"\nsnapshot_by = "columns"\n',
    "seeds/kinds.csv": "id,label\n1,a\n2,b\n",
    "seeds/kinds.toml": 'columns = { id = "BIGINT" }\n[[checks]]\nunique = "id"\n',
    "macros/m.sql": "CREATE MACRO twice(x) AS x * 2;\nCREATE MACRO smallest() AS $least",
}
SEEN = World(sources={"raw.orders": (Column(name="id", type="BIGINT"),)})


class Site:
    """A project in a directory, and how it is called."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.as_of = AS_OF
        self.target = "dev"
        self.zone = "UTC"
        self.variables: dict[str, str] = {}
        self.observed: Mapping[str, tuple[Column, ...]] = {}
        self.write(FILES)

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")

    def compiled(self, cache: Cache | None) -> Compiled:
        project = load(self.root, environment={"ZONE": self.zone}, variables=self.variables, cache=cache)
        world = World(files=match_files(project), sources=dict(self.observed))
        if cache is None:
            return compile_project(project, project.targets[self.target], as_of=self.as_of, world=world)
        return compile_known(project, project.targets[self.target], as_of=self.as_of, world=world, cache=cache)

    def same(self, cold: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer, the same with the cache as without it, twice."""
        cold = plain(self.compiled(None)) if cold is None else cold
        for _ in range(2):
            warm = plain(self.compiled(Cache(self.root)))
            assert warm == cold
            assert list(warm["models"]) == list(cold["models"])
            assert repr(warm) == repr(cold)
        return cold


def plain(found: Compiled) -> dict[str, Any]:
    return {**{name: getattr(found, name) for name in found.__struct_fields__}, "models": dict(found.models)}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The project with its cache, and its answer."""
    site = Site(tmp_path_factory.mktemp("before"))
    return site.root, site.same()


def again(site: Site, root: Path) -> None:
    """The project as it was, with the cache as it is now."""
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() and path.name != ".interlock" else None
    (root / "sources.lock.toml").unlink(missing_ok=True)
    site.__init__(root)  # type: ignore[misc]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what is bound by the engine."""
    names: list[str] = []
    real = compiling.Compilation.run

    def run(self: compiling.Compilation) -> Compiled:
        found = real(self)
        names.extend(found.models)
        return found

    monkeypatch.setattr(compiling.Compilation, "run", run)
    return names


def test_the_sample_compiles_without_an_error(site: Site) -> None:
    found = site.compiled(None)
    assert [finding for finding in found.findings if finding.severity == "error"] == []


def test_nothing_is_compiled_where_nothing_changed(site: Site, made: list[str]) -> None:
    site.write(
        {
            "models/recent.sql": "SELECT id, amount, happened FROM stg",
            "models/totals.sql": FILES["models/totals.sql"].replace("$as_of", "1"),
        }
    )
    site.compiled(Cache(site.root))
    assert len(made) == len(site.compiled(None).models)
    del made[:]
    site.compiled(Cache(site.root))
    site.as_of = LATER
    site.compiled(Cache(site.root))
    assert made == []


def test_of_a_later_plan_only_the_texts_with_its_time_are_made_again(site: Site, made: list[str]) -> None:
    before = site.same()
    site.as_of = LATER
    after = site.same()
    assert after != before
    moved = {name for name, model in after["models"].items() if model != before["models"][name]}
    assert moved == {"recent", "totals"}
    del made[:]
    site.as_of = AS_OF
    site.compiled(Cache(site.root))
    site.as_of = LATER
    site.compiled(Cache(site.root))
    assert set(made) == {"recent", "totals"}, "these, and not what they read"


def test_of_one_edit_only_that_model_and_its_readers_are_made_again(site: Site, made: list[str]) -> None:
    site.compiled(Cache(site.root))
    del made[:]
    site.write({"models/deep/kept.sql": "SELECT id, region AS where_ FROM raw.orders"})
    site.compiled(Cache(site.root))
    assert made == ["kept"]


def test_of_another_value_in_a_project_without_macros_only_its_readers_are_made_again(site: Site, made: list[str]) -> None:
    site.write(
        {
            "interlock.toml": CONFIG + 'place = "here"\n',
            "models/names.sql": FILES["models/names.sql"].replace("twice(id)", "id * 2"),
            "models/deep/kept.sql": "SELECT id, $place AS place FROM raw.orders",
        }
    )
    (site.root / "macros/m.sql").unlink()
    here = site.same()
    site.variables.update(place="there")
    there = site.same()
    assert "'there'" in there["models"]["kept"].sql
    assert {name for name, model in there["models"].items() if model != here["models"][name]} == {"kept"}
    site.variables.clear()
    assert site.same() == here
    del made[:]
    site.variables.update(place="there")
    site.compiled(Cache(site.root))
    assert made == ["kept"]


AS_DECLARED = {
    "raw.orders": (
        Column(name="id", type="BIGINT"),
        Column(name="customer", type="INTEGER"),
        Column(name="amount", type="DECIMAL(10,2)"),
        Column(name="happened", type="TIMESTAMP WITH TIME ZONE"),
        Column(name="region", type="VARCHAR"),
    ),
    "landed": (Column(name="id", type="BIGINT"), Column(name="name", type="VARCHAR")),
}


@pytest.mark.parametrize("first_seen", [True, False])
def test_sources_that_are_as_declared_are_compiled_once_looked_at_or_not(first_seen: bool, site: Site, made: list[str]) -> None:
    site.write(
        {"sources.toml": SOURCES.replace("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"), "models/recent.sql": "SELECT id, amount FROM stg"}
    )
    site.write({"models/totals.sql": FILES["models/totals.sql"].replace("$as_of", "1")})
    cold = []
    for looked in (True, False):
        site.observed = AS_DECLARED if looked else {}
        cold.append(plain(site.compiled(None)))
    assert cold[0] != cold[1], "what was seen stands in the answer"
    del made[:]
    for looked in (first_seen, not first_seen):
        site.observed = AS_DECLARED if looked else {}
        assert plain(site.compiled(Cache(site.root))) == cold[0 if looked else 1]
        assert repr(plain(site.compiled(Cache(site.root)))) == repr(cold[0 if looked else 1])
    assert len(made) == len(set(made)), "nothing was compiled twice"


@pytest.mark.parametrize(
    "other",
    [
        (*AS_DECLARED["raw.orders"], Column(name="more", type="INTEGER")),
        AS_DECLARED["raw.orders"][::-1],
        (*AS_DECLARED["raw.orders"][:-1], Column(name="REGION", type="VARCHAR")),
        (*AS_DECLARED["raw.orders"][:-1], Column(name="region", type="INTEGER")),
        AS_DECLARED["raw.orders"][:-1],
    ],
    ids=["more columns", "another order", "another spelling", "another type", "fewer columns"],
)
def test_a_source_that_is_not_as_declared_is_compiled_as_it_is(other: tuple[Column, ...], site: Site) -> None:
    site.write({"sources.toml": SOURCES.replace("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"), "models/top.sql": "SELECT * FROM raw.orders"})
    for observed in ({}, AS_DECLARED, {**AS_DECLARED, "raw.orders": other}, AS_DECLARED, {}):
        site.observed = observed
        site.same()


EDITS: dict[str, Callable[[Site], object]] = {
    "text": lambda site: site.write({"models/deep/alone.sql": "SELECT id, happened, amount FROM raw.orders"}),
    "text of what all read": lambda site: site.write({"models/stg.sql": FILES["models/stg.sql"].replace("id,", "id + 1 AS id,")}),
    "layout": lambda site: site.write({"models/stg.sql": FILES["models/stg.sql"] + "\n-- said\n"}),
    "sidecar": lambda site: site.write({"models/stg.toml": 'materialized = "view"\n'}),
    "description": lambda site: site.write({"models/deep/alone.toml": 'description = "x"\n' + FILES["models/deep/alone.toml"]}),
    "contract": lambda site: site.write({"models/deep/last.toml": '[contract.columns]\nname = "VARCHAR"\n'}),
    "check": lambda site: site.write({"models/totals.toml": FILES["models/totals.toml"].replace("$least", "2")}),
    "accepted values": lambda site: site.write({"models/totals.toml": FILES["models/totals.toml"].replace("[1, 2, 3]", "[1, 2]")}),
    "defaults": lambda site: site.write({"models/deep/_defaults.toml": 'materialized = "view"\n'}),
    "new defaults": lambda site: site.write({"models/_defaults.toml": 'tags = ["all"]\n'}),
    "ephemeral": lambda site: site.write(
        {"models/recent.sql": "SELECT id, amount * 2 AS amount, happened FROM stg WHERE happened < $as_of"}
    ),
    "an ephemeral no more": lambda site: site.write({"models/recent.toml": 'materialized = "view"\n'}),
    "macro": lambda site: site.write({"macros/m.sql": FILES["macros/m.sql"].replace("x * 2", "x * 2.0")}),
    "macro of another name": lambda site: site.write({"macros/n.sql": "CREATE MACRO thrice(x) AS x * 3"}),
    "macro with the time": lambda site: site.write({"macros/m.sql": FILES["macros/m.sql"] + ";\nCREATE MACRO now_() AS $as_of"}),
    "variable": lambda site: site.write({"interlock.toml": CONFIG.replace('"EU"', '"US"')}),
    "variable of another type": lambda site: site.write({"interlock.toml": CONFIG.replace("least = 1", "least = 1.0")}),
    "variable of a macro": lambda site: site.write({"interlock.toml": CONFIG.replace("least = 1", "least = 2")}),
    "--vars": lambda site: site.variables.update(region="US"),
    "$as_of": lambda site: setattr(site, "as_of", LATER),
    "target": lambda site: setattr(site, "target", "other"),
    "a target's schema": lambda site: site.write(
        {"interlock.toml": CONFIG.replace('path = "dev.duckdb"', 'path = "dev.duckdb"\nschema = "x"')}
    ),
    "a target's file": lambda site: site.write({"interlock.toml": CONFIG.replace("dev.duckdb", "raw.duckdb")}),
    "a setting, by the environment": lambda site: setattr(site, "zone", "Europe/Berlin"),
    "a setting": lambda site: site.write({"interlock.toml": CONFIG.replace('"${ZONE}"\n', '"UTC"\ninteger_division = true\n')}),
    "a source's columns": lambda site: site.write({"sources.toml": SOURCES.replace("DECIMAL(10,2)", "DOUBLE")}),
    "a source's nulls": lambda site: site.write({"sources.toml": SOURCES.replace('"VARCHAR"', '{ type = "VARCHAR", nullable = false }')}),
    "a source's place": lambda site: site.write(
        {"sources.toml": SOURCES.replace("[sources.landed]", "[sources.landed]\noptions = { header = false }")}
    ),
    "a source's files": lambda site: site.write({"in/b.csv": "id,name\n2,b\n"}),
    "a source as it is": lambda site: setattr(site, "observed", {"raw.orders": _orders("BIGINT")}),
    "a source with another column": lambda site: setattr(site, "observed", {"raw.orders": _orders("INTEGER")}),
    "a pinned source": lambda site: site.write({"sources.lock.toml": '[sources."raw.orders"]\nid = "BIGINT"\n'}),
    "seed": lambda site: site.write({"seeds/kinds.csv": "id,label\n1,\n"}),
    "a seed's columns": lambda site: site.write({"seeds/kinds.toml": 'columns = { id = "INTEGER" }\n'}),
    "new model": lambda site: site.write({"models/new.sql": "SELECT * FROM top"}),
    "new model that takes a name": lambda site: site.write({"models/taken.sql": "SELECT 1 AS id", "models/taken.toml": 'alias = "stg"\n'}),
    "a source that is a model now": lambda site: site.write(
        {"models/orders.sql": "SELECT 1 AS id", "models/orders.toml": 'schema = "raw"\n'}
    ),
    "model gone": lambda site: (site.root / "models/top.sql").unlink(),
    "model gone that is read": lambda site: (site.root / "models/names.sql").unlink(),
    "sidecar gone": lambda site: (site.root / "models/totals.toml").unlink(),
    "renamed": lambda site: (site.root / "models/top.sql").rename(site.root / "models/best.sql"),
    "moved": lambda site: (site.root / "models/top.sql").rename(site.root / "models/deep/top.sql"),
    "an error": lambda site: site.write({"models/stg.sql": "SELECT nothing FROM raw.orders"}),
    "an error at the end": lambda site: site.write({"models/top.sql": "SELECT nothing FROM totals"}),
    "no SQL": lambda site: site.write({"models/top.sql": "SELECT FROM WHERE"}),
    "a circle": lambda site: site.write(
        {"models/stg.sql": "SELECT id, 1 AS customer, 1 AS amount, happened, region FROM alone, kept USING (id), top"}
    ),
    "a circle through a check": lambda site: site.write(
        {
            "models/deep/alone.toml": FILES["models/deep/alone.toml"]
            + '[[checks]]\nrelationships = { column = "id", to = "last2", to_column = "id" }\n',
            "models/last2.sql": "SELECT id FROM alone",
        }
    ),
    "a file without a name": lambda site: site.write({"models/two words.sql": "SELECT 1 AS one"}),
    "an orphan": lambda site: site.write({"models/orphan.toml": 'description = "x"\n'}),
}


def _orders(kind: str) -> tuple[Column, ...]:
    kinds = {"id": kind, "customer": "INTEGER", "amount": "DECIMAL(10,2)", "happened": "TIMESTAMP WITH TIME ZONE", "region": "VARCHAR"}
    return tuple(Column(name=name, type=type_) for name, type_ in kinds.items())


@pytest.mark.parametrize("what", EDITS)
def test_after_any_edit_and_back_the_answer_is_as_without_a_cache(what: str, before: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    shutil.copytree(before[0], tmp_path, dirs_exist_ok=True)
    site = Site(tmp_path)
    EDITS[what](site)
    after = site.same()
    if what not in {"a target's file", "an orphan", "a file without a name", "a pinned source"}:
        assert after != before[1], "it is an edit"
    again(site, tmp_path)
    site.same(before[1])


@pytest.mark.parametrize("name", ["format", "interlock", "code", "python", "msgspec", "engine", "build", "semantics"])
def test_another_version_of_anything_is_a_miss(name: str, site: Site, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    site.compiled(Cache(site.root))
    del made[:]
    if name in {"engine", "build"}:
        monkeypatch.setattr(remembered, {"engine": "engine_version", "build": "build"}[name], lambda: "another")
    elif name == "semantics":
        monkeypatch.setattr(remembered, "SEMANTICS_VERSION", 99)
    else:
        known = versions.versions()
        monkeypatch.setattr(remembered, "versions", lambda: {**known, name: "another"})
    site.compiled(Cache(site.root))
    assert len(made) == len(site.compiled(None).models)


def test_every_version_that_there_is_counts() -> None:
    assert set(versions.versions()) == {"format", "interlock", "code", "python", "msgspec"}


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x80", b"\x93\x01\x02\x03"])
def test_a_file_of_other_types_is_ignored(body: bytes, site: Site) -> None:
    before = site.same()
    Cache(site.root).write("compiled-dev-declared.cache", body)
    assert site.same() == before


def test_another_projects_cache_is_of_no_use(site: Site, tmp_path: Path) -> None:
    other = Site(tmp_path / "other")
    other.write({"models/stg.sql": FILES["models/stg.sql"].replace("id,", "id + 7 AS id,")})
    other.same()
    shutil.copytree(other.root / ".interlock", site.root / ".interlock", dirs_exist_ok=True)
    assert "+ 7" not in site.same()["models"]["stg"].sql


def test_nothing_of_the_environment_is_kept(site: Site) -> None:
    site.zone = "Antarctica/Troll"
    site.same()
    for path in (site.root / ".interlock").iterdir():
        assert b"Troll" not in path.read_bytes()


def test_where_nothing_may_be_written_nothing_is(site: Site) -> None:
    site.compiled(Cache(site.root, writes=False))
    assert not (site.root / ".interlock").exists()


def test_findings_are_told_each_time(site: Site) -> None:
    cold = site.compiled(None).findings
    assert any(finding.severity == "warning" for finding in cold)
    assert [site.compiled(Cache(site.root)).findings for _ in range(3)] == [cold] * 3


def test_what_clashes_is_not_kept(site: Site) -> None:
    site.write({"models/taken.sql": "SELECT 1 AS id", "models/taken.toml": 'alias = "stg"\n'})
    project = load(site.root, environment={"ZONE": "UTC"})
    assert relation_conflicts(project, project.targets["dev"])
    site.compiled(Cache(site.root))
    assert not (site.root / ".interlock" / "compiled-dev-declared.cache").exists()


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_any_history_of_edits_gives_what_no_cache_gives(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    root = tmp_path / str(seed)
    site = Site(root)
    for what in chance.sample(sorted(EDITS), 3):
        if chance.random() < 0.3:
            again(site, root)
        try:
            EDITS[what](site)
        except FileNotFoundError:
            continue
        site.same()
    shutil.rmtree(root)


PROMISED = '[contract.columns]\nid = { type = "BIGINT", nullable = false }\n'
CHAIN = {
    "sources.toml": SOURCES.replace('region = "VARCHAR"', 'region = { type = "VARCHAR", nullable = false }'),
    "interlock.toml": CONFIG,
    "in/a.csv": "id,name\n1,a\n",
    "seeds/kinds.csv": "id,label\n1,a\n2,b\n",
    "models/base.sql": "SELECT id, amount, happened, 1 AS mark FROM raw.orders",
    "models/base.toml": f'materialized = "table"\n{PROMISED}[[checks]]\nunique = "id"\n',
    "models/seen.sql": "SELECT id, amount, happened, 1 AS mark FROM base",
    "models/first.sql": "SELECT id, amount, happened, 1 AS mark FROM raw.orders",
    "models/cut.sql": "SELECT id, amount, happened, 1 AS mark FROM first",
    "models/cut.toml": 'materialized = "ephemeral"\n',
    "models/added.sql": "SELECT id, sum(amount) AS amount, min(happened) AS happened, 1 AS mark FROM cut LEFT JOIN landed USING (id) GROUP BY id",
    "models/raised.sql": "SELECT id, amount + 1 AS amount, 1 AS mark FROM raw.orders",
    "models/raised.toml": 'materialized = "ephemeral"\n',
    "models/midway.sql": "SELECT id, amount, 1 AS mark FROM raised",
    "models/midway.toml": 'materialized = "table"\n',
    "models/leaning.sql": "SELECT amount, 1 AS mark FROM midway",
    "models/leaning.toml": 'materialized = "table"\n[contract.columns]\namount = { nullable = false }\n',
    "models/relying.sql": "SELECT id, 1 AS mark FROM first",
    "models/relying.toml": f'materialized = "table"\n{PROMISED}',
    "models/asking.sql": "SELECT id, 1 AS mark FROM merged",
    "models/asking.toml": f'materialized = "table"\n{PROMISED}',
    "models/behind.sql": "SELECT s.id, a.amount, a.happened, 1 AS mark FROM added AS a JOIN seen AS s USING (id)",
    "models/dated.sql": "SELECT id, $as_of AS happened, 1 AS mark FROM seen",
    "models/dated.toml": 'materialized = "ephemeral"\n',
    "models/pair.sql": "SELECT id, happened, 1 AS mark FROM dated UNION ALL SELECT id, $as_of, 1 FROM (SELECT * FROM behind LIMIT 3)",
    "models/merged.sql": "SELECT id, amount, happened, 1 AS mark FROM behind",
    "models/merged.toml": f'materialized = "incremental"\nstrategy = "merge"\nwatermark = "happened"\nunique_key = "id"\n{PROMISED}',
    "models/history.sql": "SELECT id, amount, 1 AS mark FROM merged",
    "models/history.toml": 'materialized = "snapshot"\nunique_key = "id"\nsnapshot_by = "columns"\n',
    "models/again.sql": "SELECT list(id ORDER BY id) AS ids, sum(amount) AS amount, 1 AS mark FROM behind",
    "models/again.toml": 'materialized = "table"\ndeterministic = true\n',
    "models/proved.sql": "SELECT b.id, h.valid_from, 1 AS mark FROM pair AS b JOIN history AS h USING (id) JOIN kinds AS k USING (id)",
    "models/proved.toml": f'materialized = "table"\n{PROMISED}',
    "models/top.sql": "SELECT p.id, a.ids, b.happened, 1 AS mark FROM proved AS p, again AS a, pair AS b UNION ALL SELECT id, NULL, happened, 1 FROM dated",
    "models/top.toml": 'materialized = "table"\n[contract.columns]\nid = "BIGINT"\n[[checks]]\nrelationships = { column = "id", to = "base", to_column = "id" }\n',
}
MARKED = sorted(path for path in CHAIN if path.startswith("models/") and path.endswith(".sql"))
BESIDE = {f"models/beside{number}.sql": f"SELECT id, {number} AS number FROM raw.orders" for number in range(2 * len(MARKED))}
"""Where most of a project changes, all of it is compiled."""


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("chain")
    site = Site(root)
    shutil.rmtree(root / "models")
    (root / "macros/m.sql").unlink()
    (root / "seeds/kinds.toml").unlink()
    site.write(CHAIN | BESIDE)
    assert [finding.summary for finding in site.compiled(None).findings if finding.severity == "error"] == []
    site.same()
    return root


def at_chain(tmp_path: Path, chain: Path) -> Site:
    site = Site.__new__(Site)
    shutil.copytree(chain, tmp_path, dirs_exist_ok=True)
    site.root, site.as_of, site.target, site.zone, site.variables, site.observed = tmp_path, AS_OF, "dev", "UTC", {}, {}
    return site


@pytest.mark.parametrize("path", MARKED)
def test_what_is_compiled_against_known_answers_is_as_if_all_were(path: str, chain: Path, made: list[str], tmp_path: Path) -> None:
    site = at_chain(tmp_path, chain)
    site.write({path: CHAIN[path].replace("1 AS mark", "'one' AS mark")})
    if path != "models/pair.sql":  # its other branch says what type the column has
        site.same()
    site.write({path: CHAIN[path].replace("1 AS mark", "2 AS mark")})
    site.same()
    del made[:]
    site.write({path: CHAIN[path] + " "})
    site.compiled(Cache(site.root))
    assert Path(path).stem in made
    assert ("base" in made) == (path == "models/base.sql")
    site.as_of = LATER
    site.same()


def test_nothing_that_is_read_is_compiled_again(chain: Path, made: list[str], tmp_path: Path) -> None:
    site = at_chain(tmp_path, chain)
    site.write({"models/again.sql": CHAIN["models/again.sql"] + " "})
    site.compiled(Cache(site.root))
    assert set(made) == {"again", "top", "dated"}, "what reads it, and what is put into that"
