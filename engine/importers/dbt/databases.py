"""Where a profile's databases lie, seen from the new project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.engine.importers.dbt.collect import Found
from interlock.engine.importers.dbt.session import Rendering
from interlock.engine.importers.dbt.sources import Places, relative_path
from interlock.engine.importers.dbt.template import EVALUATION, CannotKeep
from interlock.engine.importers.dbt.yamls import items, table


def places_of(found: Found, out: Path) -> Places:
    """The database that dbt builds, and those that it attaches."""
    tree = found.tree
    profile = tree.profile
    path = profile.get("path")
    attached: dict[str, str] = {}
    rendering = Rendering("profiles.yml", found.session.root, of_project=True)

    def relative(given: Any) -> str | None:
        try:
            text = str(found.session.value(given, rendering)) if given else ""
        except (CannotKeep, *EVALUATION):
            return None
        if not text or text == ":memory:" or "://" in text or text.startswith("md:"):
            return None
        return relative_path(text, tree.root, out)

    if profile.get("type") != "duckdb":
        return Places(None, "", attached, tree.root, out)
    for entry in items(profile.get("attach")):
        each = table(entry)
        where = relative(each.get("path"))
        if where is not None:
            attached[str(each.get("alias") or Path(where).stem)] = where
    database = relative(path)
    name = str(profile.get("database") or (Path(database).stem if database else ""))
    return Places(database, name, attached, tree.root, out)
