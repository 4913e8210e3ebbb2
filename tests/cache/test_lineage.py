"""Column lineage that is kept is what would be looked at anew, whatever changed; and what nothing changed is not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from interlock.engine.cache.store import FOLDER, Cache
from interlock.engine.compiler import lineage_kept
from interlock.engine.compiler.compile import compile_project
from interlock.engine.compiler.lineage import Lineages, ModelLineage
from interlock.engine.compiler.lineage_kept import KeptLineages
from interlock.engine.project.load import load

AS_OF = "2026-03-01T12:00:00.000000Z"
CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n[vars]\nleast = 1\n'
FILES = {
    "interlock.toml": CONFIG,
    "sources.toml": '[sources."raw.orders".columns]\nid = "BIGINT"\ncustomer = "INTEGER"\namount = "DECIMAL(10,2)"\n',
    "models/stg.sql": "SELECT id, customer, doubled(amount) AS amount FROM raw.orders WHERE id > $least",
    "models/mid.sql": "SELECT customer, amount FROM stg",
    "models/mid.toml": 'materialized = "ephemeral"\n',
    "models/totals.sql": "SELECT m.customer, sum(m.amount) AS total FROM mid AS m JOIN more USING (customer) GROUP BY ALL",
    "models/more.sql": "SELECT customer, id FROM stg",
    "models/star.sql": "SELECT * FROM more",
    "seeds/lists.csv": "a,b\n1,2\n",
    "seeds/lists.toml": '[columns]\na = "INTEGER"\nb = "INTEGER"\n',
    "models/apart.sql": "SELECT a FROM lists WHERE b > 0",
    "macros/doubled.sql": "CREATE MACRO doubled(x) AS x * 2",
}
EDITS: dict[str, dict[str, str | None]] = {
    "a text": {"models/stg.sql": "SELECT id, id AS customer, doubled(amount) AS amount FROM raw.orders"},
    "a column more in what a star reads": {"models/more.sql": "SELECT customer, id, amount FROM stg"},
    "a condition": {"models/apart.sql": "SELECT a FROM lists WHERE a > 0"},
    "a source": {"sources.toml": '[sources."raw.orders".columns]\nid = "BIGINT"\ncustomer = "VARCHAR"\namount = "DECIMAL(10,2)"\n'},
    "a macro": {"macros/doubled.sql": "CREATE MACRO doubled(x) AS 2"},
    "names that change places": {
        "models/mid.toml": 'materialized = "view"\nalias = "more"\n',
        "models/more.toml": 'alias = "mid"\n',
    },
    "an ephemeral model that is a view": {"models/mid.toml": 'materialized = "view"\n'},
    "a variable": {"interlock.toml": CONFIG.replace("least = 1", "least = 2")},
    "a model less": {"models/star.sql": None},
    "a seed": {"seeds/lists.csv": "a,c\n1,2\n", "seeds/lists.toml": '[columns]\na = "INTEGER"\nc = "INTEGER"\n'},
    "a name that begins to mean a model": {"models/raw.sql": "SELECT 1 AS id", "models/raw.toml": 'schema = "raw"\nalias = "orders"\n'},
}


def write(root: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            place.unlink()
        else:
            place.write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    return tmp_path


def looked(root: Path, cache: Cache | None) -> tuple[dict[str, ModelLineage], dict[str, ModelLineage]]:
    """Lineage of every model as the cache gives it, and as it is looked at without one."""
    project = load(root, environment={}, variables={}, cache=None)
    target = project.targets["dev"]
    compiled = compile_project(project, target, as_of=AS_OF)
    kept = KeptLineages(project, target, compiled, cache)
    found = {name: kept.of(name) for name in compiled.models}
    kept.keep()
    plain = Lineages(project, target, compiled)
    return found, {name: plain.of(name) for name in compiled.models}


def untouched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    real = Lineages._look

    def look(self: Lineages, model: lineage_kept.CompiledModel) -> ModelLineage:
        if isinstance(self, KeptLineages):
            seen.append(model.name)
        return real(self, model)

    monkeypatch.setattr(Lineages, "_look", look)
    return seen


def test_nothing_is_looked_at_twice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = untouched(monkeypatch)
    looked(root, Cache(root))
    assert set(seen) == {"stg", "mid", "totals", "more", "star", "lists", "apart"}
    seen.clear()
    found, plain = looked(root, Cache(root))
    assert found == plain
    assert seen == []


def test_what_changed_is_looked_at_and_the_rest_is_not(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = untouched(monkeypatch)
    looked(root, Cache(root))
    seen.clear()
    write(root, EDITS["a column more in what a star reads"])
    found, plain = looked(root, Cache(root))
    assert found == plain
    assert {"more", "star"} <= set(seen) <= {"more", "star", "totals"}


@pytest.mark.parametrize("edit", EDITS)
def test_after_any_edit_it_is_what_would_be_looked_at(edit: str, root: Path) -> None:
    cache = Cache(root)
    looked(root, cache)
    write(root, EDITS[edit])
    found, plain = looked(root, cache)
    assert found == plain
    for name in EDITS[edit]:
        write(root, {name: FILES.get(name)})
    found, plain = looked(root, cache)
    assert found == plain


def test_without_a_cache_or_where_it_is_not_written_it_is_the_same(root: Path) -> None:
    for cache in (None, Cache(root, writes=False)):
        found, plain = looked(root, cache)
        assert found == plain
    assert not (root / FOLDER).exists()


def test_what_another_version_kept_is_not_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked(root, Cache(root))
    seen = untouched(monkeypatch)
    monkeypatch.setattr(lineage_kept, "versions", lambda: {"format": "other"})
    looked(root, Cache(root))
    assert len(seen) == 7
