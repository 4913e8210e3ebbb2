"""What of the outside is known while compiling."""

from __future__ import annotations

from interlock.machines.evidence import Column
from interlock.machines.records import Record


class World(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Observations: without them, columns of sources are as declared, and upstream models as they compile."""

    sources: dict[str, tuple[Column, ...]] = {}
    """Columns of sources as they really are (of files: as the reader gives them)."""
    files: dict[str, tuple[str, ...]] = {}
    """Files of file sources, as `match_files` gives them."""
    unreadable: dict[str, str] = {}
    """Sources that were looked at without an answer, and why."""
    deployed: dict[str, tuple[Column, ...]] = {}
    """Columns of unselected upstream models as they stand in the warehouse: these are not compiled, they are read."""
    never_null: dict[str, frozenset[str]] = {}
    """Of the deployed tables: columns, in small letters, of which their receipts say that no row has a null."""
