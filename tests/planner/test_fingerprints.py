"""A mark of a source of files is of all that they hold, or there is none and it is said why."""

from __future__ import annotations

from pathlib import Path

from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.planner.fingerprints import NONE, fingerprints_of
from interlock.engine.project.project import Source
from interlock.engine.warehouse.protocol import Catalog


def marks(root: Path, *files: str) -> tuple[dict[str, str], dict[str, str]]:
    source = CompiledSource(
        source=Source(name="rates", path="*.csv", fingerprint="content"), sql="t", columns=(), origin="declared", files=files
    )
    return fingerprints_of(None, root, "p", Catalog(relations={}, schemas=frozenset()), [source])


def test_a_file_that_went_since_its_name_was_listed_leaves_no_mark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    found, why = marks(tmp_path, "a.csv", "b.csv")
    assert found == {"rates": NONE}
    assert why["rates"] == "`b.csv` could not be read: No such file or directory"


def test_a_mark_is_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "b.csv").write_text("1\n")
    seen = {marks(tmp_path, *files)[0]["rates"] for files in (("a.csv",), ("b.csv",), ("a.csv", "b.csv"), ())}
    (tmp_path / "a.csv").write_text("2\n")
    seen |= {marks(tmp_path, *files)[0]["rates"] for files in (("a.csv",), ("a.csv", "b.csv"))}
    assert len(seen) == 6
    assert NONE not in seen
