from __future__ import annotations

import importlib.resources
import os
from pathlib import Path

import pytest

from interlock.engine.diagnostics import Refused
from interlock.engine.project.clashes import relation_conflicts
from interlock.engine.project.load import load
from interlock.engine.project.scaffold import IGNORED, init
from interlock.engine.project.targets import choose_target

ID = "0123456789abcdef0123"


@pytest.mark.parametrize("sample", [None, "shop"])
def test_a_new_project_is_right(tmp_path: Path, sample: str | None) -> None:
    written = init(tmp_path / "My Shop", sample=sample, project_id=ID)
    assert written == tuple(sorted(written))
    assert {".gitignore", "interlock.toml"} <= set(written)
    found = load(tmp_path / "My Shop", environment={})
    assert (found.findings, found.id) == ((), ID)
    target = choose_target(found, None, writes=True)
    assert (target.name, target.create, target.on_change) == ("dev", True, "rebuild")
    assert relation_conflicts(found, target) == ()
    assert found.models
    assert found.seeds
    assert any(model.contract and model.checks for model in found.models.values())


def test_a_small_project_is_called_as_its_directory(tmp_path: Path) -> None:
    init(tmp_path / 'a "b" é', sample=None, project_id=ID)
    found = load(tmp_path / 'a "b" é', environment={})
    assert (found.name, found.targets["dev"].path) == ('a "b" é', "a_b.duckdb")


def test_a_directory_that_is_called_like_a_variable_names_no_project(tmp_path: Path) -> None:
    init(tmp_path / "a ${HOME}", sample=None, project_id=ID)
    assert load(tmp_path / "a ${HOME}", environment={"HOME": "/root"}).name == "a_home"


@pytest.mark.parametrize("name", ["\U0001f600 $x", "\u00e9 'q'", 'a"b\\c', "tab\tdel\x7f", os.fsdecode(b"not \xff text")])
def test_a_small_project_stands_in_any_directory(tmp_path: Path, name: str) -> None:
    init(tmp_path / name, sample=None, project_id=ID)
    assert load(tmp_path / name, environment={}).name == os.fsencode(name).decode("utf-8", "replace")


def test_the_sample_is_copied_as_it_is_but_for_its_id(tmp_path: Path) -> None:
    written = init(tmp_path, sample="shop", project_id=ID)
    origin = importlib.resources.files("interlock.specs") / "playground"
    for path in written:
        if path in {".gitignore", "interlock.toml"}:
            continue
        assert (tmp_path / path).read_bytes() == (origin / path).read_bytes()
    lines = [(tmp_path / "interlock.toml").read_text().splitlines(), (origin / "interlock.toml").read_text().splitlines()]
    assert [line for line, old in zip(*lines, strict=True) if line != old and ID not in line] == []


def test_git_leaves_out_what_is_made(tmp_path: Path) -> None:
    init(tmp_path, sample=None, project_id=ID)
    assert (tmp_path / ".gitignore").read_text().splitlines() == list(IGNORED)


def test_what_a_person_wrote_in_gitignore_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"*.duckdb\nmine")
    init(tmp_path, sample=None, project_id=ID)
    assert (tmp_path / ".gitignore").read_text().splitlines() == ["*.duckdb", "mine", "*.duckdb.wal", "*.interlock/", ".interlock/"]


@pytest.mark.parametrize("sample", [None, "shop"])
@pytest.mark.parametrize("taken", ["interlock.toml", "seeds/raw_orders.csv", "seeds/products.csv"])
def test_nothing_is_overwritten(tmp_path: Path, sample: str | None, taken: str) -> None:
    place = tmp_path / taken
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine")
    if (taken == "seeds/products.csv") != (sample == "shop") and taken != "interlock.toml":
        init(tmp_path, sample=sample, project_id=ID)
        assert place.read_text() == "mine"
        return
    with pytest.raises(Refused) as caught:
        init(tmp_path, sample=sample, project_id=ID)
    assert caught.value.findings[0].code == "S120"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [place]
    assert place.read_text() == "mine"


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    init(tmp_path, sample=None, project_id=ID)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(Refused) as caught:
        init(tmp_path / "x", sample=None, project_id=ID)
    assert caught.value.findings[0].code == "S120"


def test_an_unknown_sample_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        init(tmp_path / "x", sample="shops", project_id=ID)
    assert caught.value.findings[0].remedy == "did you mean `shop`?"
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Refused) as caught:
        init(tmp_path / "x", sample=None, project_id=ID)
    assert caught.value.findings[0].code == "W605"


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(Refused) as caught:
        init(tmp_path / "x" / "y", sample=None, project_id=ID)
    assert caught.value.findings[0].code == "W605"
