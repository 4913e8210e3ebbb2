"""A project that is read with the cache is the project that is read without it."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.engine.cache import versions
from interlock.engine.cache.store import Cache
from interlock.engine.project import load as loading
from interlock.engine.project.load import load
from interlock.engine.project.project import Project

FILES = {
    "interlock.toml": '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "${DB}.duckdb"\n[vars]\nday = 2024-01-31\n',
    "sources.toml": '[sources."raw.orders".columns]\nid = "BIGINT"\n[sources.files]\npath = "in/*.csv"\noptions = { header = true }\n',
    "models/_defaults.toml": 'tags = ["all"]\n',
    "models/a.sql": "SELECT id FROM raw.orders",
    "models/a.toml": """description = "first"
materialized = "table"
[contract.columns]
id = "BIGINT"
[[checks]]
accepted_values = { column = "id", values = [1, 2] }
[[checks]]
accepted_values = { column = "id", values = [2024-01-31, 2024-01-31T10:00:00Z, 2024-01-31T10:00:00] }
name = "times"
[[checks]]
accepted_values = { column = "id", values = [1.50, 2.0] }
name = "decimals"
[[checks]]
accepted_values = { column = "id", values = [true, false] }
name = "truths"
[[checks]]
relationships = { column = "id", to = "b", to_column = "id" }
[[checks]]
row_count = { min = 1 }
[[checks]]
sql = "SELECT * FROM a WHERE id < 0"
name = "no_negative"
severity = "warn"
""",
    "models/deep/_defaults.toml": 'materialized = "view"\n',
    "models/deep/b.sql": "SELECT id FROM a",
    "models/deep/c.sql": "SELECT id FROM b WHERE id = $day",
    "models/deep/c.toml": 'materialized = "incremental"\nstrategy = "merge"\nwatermark = "id"\nunique_key = "id"\nrestrict = ["a.id"]\n',
    "models/orphan.toml": 'description = "x"\n',
    "seeds/s.csv": 'k,v\n1,"a"\n2,\n',
    "seeds/s.toml": 'columns = { k = "INTEGER" }\n[[checks]]\nunique = "k"\n',
    "macros/m.sql": "CREATE MACRO twice(x) AS x * 2",
}
ENVIRONMENT = {"DB": "dev"}


def write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def plain(project: Project) -> dict[str, Any]:
    found = {name: getattr(project, name) for name in project.__struct_fields__}
    return {**found, "models": dict(project.models), "seeds": dict(project.seeds), "findings": project.findings}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    return tmp_path


def both(root: Path) -> dict[str, Any]:
    """The project, the same by every way."""
    cold = plain(load(root, environment=ENVIRONMENT))
    for _ in range(2):
        warm = plain(load(root, environment=ENVIRONMENT, cache=Cache(root)))
        assert warm == cold
        assert list(warm["models"]) == list(cold["models"])
        assert repr(warm) == repr(cold)
    return cold


EDITS: dict[str, str | None] = {
    "models/a.sql": "SELECT id + 1 AS id FROM raw.orders",
    "models/a.toml": 'materialized = "view"\n',
    "models/_defaults.toml": 'tags = ["none"]\n',
    "models/deep/_defaults.toml": 'materialised = "view"\n',
    "models/deep/b.sql": None,
    "models/deep/b.toml": 'renamed_from = "old_b"\n',
    "models/deep/d.sql": "SELECT 1 AS one",
    "models/deep/c.toml": 'materialized = "incremental"\nstrategy = "merge"\nwatermark = "id"\nunique_key = "id"\nrestrict = ["nothing.id"]\n',
    "models/orphan.toml": None,
    "models/b b.sql": "SELECT 1 AS one",
    "models/s.sql": "SELECT 1 AS one",
    "seeds/s.csv": "k,v\n3,c\n",
    "seeds/s.toml": None,
    "sources.toml": '[sources.orders.columns]\nid = "BIGINT"\n',
    "sources.lock.toml": '[sources."raw.orders"]\nid = "BIGINT"\n',
    "macros/m.sql": "CREATE MACRO twice(x) AS x + x",
    "macros/n.sql": "CREATE MACRO thrice(x) AS x * 3",
    "interlock.toml": FILES["interlock.toml"].replace("2024-01-31", '"text"'),
}


@pytest.mark.parametrize("path", EDITS)
def test_after_any_edit_and_back_the_project_is_as_its_files_say(path: str, root: Path) -> None:
    before = both(root)
    text = EDITS[path]
    if text is None:
        (root / path).unlink()
    else:
        write(root, {path: text})
    assert both(root) != before
    if path in FILES:
        write(root, {path: FILES[path]})
    else:
        (root / path).unlink()
    assert both(root) == before


def test_what_is_the_same_is_not_decoded_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(root, environment=ENVIRONMENT, cache=Cache(root))
    asked = []
    real = loading.model_of
    monkeypatch.setattr(loading, "model_of", lambda name, *args, **kwargs: [asked.append(name), real(name, *args, **kwargs)][1])
    load(root, environment=ENVIRONMENT, cache=Cache(root))
    assert asked == []
    write(root, {"models/a.sql": "SELECT 2 AS id"})
    load(root, environment=ENVIRONMENT, cache=Cache(root))
    assert asked == ["a", "c"], "`c` names another file in its sidecar"


@pytest.mark.parametrize("name", ["format", "interlock", "code", "python", "msgspec"])
def test_another_version_of_anything_is_a_miss(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(root, environment=ENVIRONMENT, cache=Cache(root))
    known = versions.versions()
    monkeypatch.setattr("interlock.engine.project.kept.versions", lambda: {**known, name: "another"})
    asked = []
    real = loading.model_of
    monkeypatch.setattr(loading, "model_of", lambda name, *args, **kwargs: [asked.append(name), real(name, *args, **kwargs)][1])
    load(root, environment=ENVIRONMENT, cache=Cache(root))
    assert asked == ["a", "b", "c"]


def test_another_projects_cache_is_of_no_use(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, {**FILES, "models/a.sql": "SELECT 3 AS other"})
    load(other, environment=ENVIRONMENT, cache=Cache(other))
    load(root, environment=ENVIRONMENT, cache=Cache(root))
    shutil.copy(other / ".interlock" / "project.cache", root / ".interlock" / "project.cache")
    assert both(root)["models"]["a"].text == FILES["models/a.sql"]


@pytest.mark.parametrize("body", [b"", b"\xc1", msgspec.msgpack.encode({"versions": {}, "rooms": 3}), msgspec.msgpack.encode([1] * 9)])
def test_a_file_of_other_types_is_ignored(body: bytes, root: Path) -> None:
    before = both(root)
    Cache(root).write("project.cache", body)
    assert both(root) == before


def test_nothing_of_the_environment_is_kept(root: Path) -> None:
    load(root, environment={"DB": "very-secret"}, cache=Cache(root))
    kept = (root / ".interlock" / "project.cache").read_bytes()
    assert b"very-secret" not in kept
    assert b"${DB}" not in kept


def test_a_file_that_cannot_be_read_is_told_each_time(root: Path) -> None:
    both(root)
    (root / "models/e.sql").mkdir()
    (root / "models/f.sql").symlink_to("nowhere.sql")
    assert any(finding.code == "S101" for finding in both(root)["findings"])
