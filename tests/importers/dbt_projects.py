"""Small dbt projects made by tests, and their import."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from interlock.engine.importers.dbt.imported import Imported, import_project
from interlock.engine.importers.dbt.items import Item

PROJECT = "name: shop\nversion: '1.0'\nprofile: shop\n"
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


class Import:
    """An import that was done, and questions to it."""

    def __init__(self, root: Path, out: Path, done: Imported) -> None:
        self.root = root
        self.out = out
        self.done = done

    def item(self, name: str, kind: str = "model") -> Item:
        """The one item of this kind and name."""
        (found,) = [item for item in self.done.items if item.kind == kind and item.name == name]
        return found

    def items(self, kind: str) -> list[Item]:
        return [item for item in self.done.items if item.kind == kind]

    def text(self, path: str) -> str:
        return (self.out / path).read_bytes().decode()

    def sql(self, name: str) -> str:
        (path,) = self.out.glob(f"models/**/{name}.sql")
        return path.read_bytes().decode()

    def sidecar(self, name: str) -> str:
        (path,) = self.out.glob(f"models/**/{name}.toml")
        return path.read_text(encoding="utf-8")


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, text in {"dbt_project.yml": PROJECT, **files}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).lstrip("\n").encode())


def imported(
    tmp_path: Path, files: Mapping[str, str | bytes], *, accept: bool = False, environment: Mapping[str, str] | None = None
) -> Import:
    """Write a dbt project, and import it."""
    root, out = tmp_path / "dbt", tmp_path / "new"
    write(root, files)
    done = import_project(
        root, out, project_id="0123456789abcdef", environment=environment or {}, clock=lambda: NOW, accept_proposals=accept
    )
    return Import(root, out, done)
