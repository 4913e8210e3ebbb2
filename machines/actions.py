"""What an action does to a relation: the sets of actions that guards, plans and runs go by, so that no two of them differ."""

from __future__ import annotations

from typing import Final

MAKES: Final = frozenset({"create", "replace", "convert"})
"""Make the relation: what stands there afterwards is new."""

ADDS: Final = frozenset({"append", "merge", "replace_range", "snapshot"})
"""Stage a delta and add it to what stands there."""

KEEPS: Final = ADDS | {"recheck"}
"""After these the relation still is the one that stood there, with the columns that it had."""

WRITES_ROWS: Final = MAKES | ADDS
"""Rows are others after these. An adopted relation's are not: they were there."""
