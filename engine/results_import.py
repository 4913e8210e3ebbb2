"""What `import dbt` answers: the value that `--json` prints and that the text view shows."""

from __future__ import annotations

from interlock.engine.importers.dbt.items import Compared, Counted, Item
from interlock.engine.results import Result


class ImportResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dbt project turned into one of ours: an item for each thing that was found."""

    name: str
    """Of the dbt project."""
    directory: str
    """Of the new project."""
    counts: tuple[Counted, ...]
    items: tuple[Item, ...]
    files: tuple[str, ...]
    said: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()
    next_commands: tuple[str, ...] = ()
