"""Settings that change answers: set by us on every connection, overridden only by the target, part of the environment."""

from __future__ import annotations

from typing import Final

from interlock.engine.warehouse.duckdb.quoting import literal
from interlock.engine.warehouse.target import TargetConfig

ANSWERS: Final[dict[str, str]] = {
    "Calendar": "gregorian",
    "TimeZone": "UTC",
    "default_collation": "",
    "default_null_order": "NULLS_LAST",
    "default_order": "ASCENDING",
    "ieee_floating_point_ops": "true",
    "integer_division": "false",
}
"""What each is where the target says nothing."""

COST_ONLY: Final = frozenset(
    {
        "allocator_background_threads",
        "checkpoint_threshold",
        "enable_object_cache",
        "external_threads",
        "max_memory",
        "max_temp_directory_size",
        "memory_limit",
        "partitioned_write_max_open_files",
        "temp_directory",
        "threads",
        "wal_autocheckpoint",
        "worker_threads",
    }
)
"""Settings that cost time or memory and change no answer. Any other that a target sets is taken to change answers."""


def settings(target: TargetConfig) -> dict[str, str]:
    """The answer-changing settings of a target, resolved, by name: ours, the target's over them, sorted.

    >>> from pathlib import Path
    >>> dev = TargetConfig(name="dev", type="duckdb", path="x", location=Path("x"), settings={"timezone": "Europe/Berlin", "threads": 2})
    >>> settings(dev)["TimeZone"], "threads" in settings(dev)
    ('Europe/Berlin', False)
    """
    names = {name.lower(): name for name in ANSWERS}
    resolved = dict(ANSWERS)
    for name, value in target.settings.items():
        if name.lower() not in COST_ONLY:
            resolved[names.get(name.lower(), name.lower())] = _text(value)
    return dict(sorted(resolved.items()))


def statements(target: TargetConfig) -> tuple[str, ...]:
    """SET statements for the answer-changing settings, in order."""
    return tuple(f"SET {_name(name)} = {literal(value)}" for name, value in settings(target).items())


def costs(target: TargetConfig) -> tuple[str, ...]:
    """SET statements for what the target says of time and memory, `threads` included, in order."""
    chosen = {name.lower(): value for name, value in target.settings.items() if name.lower() in COST_ONLY}
    return tuple(f"SET {_name(name)} = {literal(_text(value))}" for name, value in sorted(chosen.items()))


def _text(value: str | int | bool) -> str:  # noqa: FBT001 - a value from a file, not a switch
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name(name: str) -> str:
    if not name.replace("_", "").isalnum():
        message = f"`{name}` is no name of a setting"
        raise ValueError(message)
    return name
