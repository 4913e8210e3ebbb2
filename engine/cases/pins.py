"""`sources pin` and `sources diff`: columns of sources on record, so that a project compiles where no warehouse is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing

from interlock.engine.diagnostics import Diagnostic, Position, did_you_mean, refused
from interlock.engine.ledger.durable import write_file
from interlock.engine.project.load import LOCK
from interlock.engine.runner.ground import Ground, discover
from interlock.machines.evidence import Column

_HEAD = """\
# Columns of sources as `interlock sources pin` found them. `interlock compile` goes by these where a source's columns are not
# declared and no warehouse can be looked at; where one of them is gone or has another type, what reads the source stops. Not to be
# edited by hand.
"""


def pin(ground: Ground, names: Sequence[str]) -> str:
    """Look at sources and write `sources.lock.toml`; answers with its text. Pins of sources that are not named stay.

    Raises:
        Refused: S114, there is no such source; P425, one cannot be read: then nothing is written; W605, it cannot be written.
    """
    seen = _observed(ground, names)
    kept = {name: columns for name, columns in ground.project.pinned.items() if name in ground.project.sources}
    pinned = {**kept, **{name: {column.name: column.type for column in columns} for name, columns in seen.items()}}
    text = lock_text(pinned)
    try:
        write_file(ground.project.root / LOCK, text.encode())
    except OSError as error:
        raise refused("W605", f"`{LOCK}` cannot be written", because=str(error), remedy="make the project's directory writable") from error
    return text


def lock_text(pinned: Mapping[str, Mapping[str, str]]) -> str:
    """The file's text: sources by name, columns in their order.

    >>> print(lock_text({"raw.orders": {"id": "BIGINT"}}).splitlines()[-2:])
    ['[sources."raw.orders"]', '"id" = "BIGINT"']
    """
    parts = [_HEAD]
    for name, columns in sorted(pinned.items()):
        lines = [f"[sources.{_quoted(name)}]", *(f"{_quoted(column)} = {_quoted(kind)}" for column, kind in columns.items())]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def drift(ground: Ground, names: Sequence[str]) -> tuple[str, tuple[Diagnostic, ...]]:
    """How sources differ from what is pinned or declared of them, as text, and a finding for each that does.

    Raises:
        Refused: S114, there is no such source; P425, one cannot be read.
    """
    lines: list[str] = []
    findings: list[Diagnostic] = []
    for name, columns in _observed(ground, names).items():
        known = _known(ground, name)
        if known is None:
            lines += [f"{name}: neither pinned nor declared", *(f"  + {column.name} {column.type}" for column in columns)]
            continue
        found = _changes(known, columns)
        lines += [f"{name}: {'differs' if found else 'as on record'}", *(f"  {change}" for change in found)]
        if found:
            findings.append(
                Diagnostic(
                    code="P407",
                    summary=f"source `{name}` is not as on record",
                    because="; ".join(found),
                    remedy="`interlock sources pin` takes it as it is now; then look at what reads it",
                    at=Position(path=LOCK if name in ground.project.pinned else "sources.toml", key=f"sources.{name}"),
                    subject=name,
                )
            )
    return "\n".join(lines), tuple(findings)


def _known(ground: Ground, name: str) -> dict[str, str] | None:
    declared = ground.project.sources[name].columns
    if declared is None:
        return ground.project.pinned.get(name)
    return {column: each.type for column, each in declared.items()}


def _changes(known: Mapping[str, str], columns: Sequence[Column]) -> list[str]:
    before = {name.lower(): (name, kind) for name, kind in known.items()}
    after = {column.name.lower(): column for column in columns}
    found = [f"- {name} {kind}" for small, (name, kind) in before.items() if small not in after]
    found += [
        f"~ {column.name} {before[small][1]} → {column.type}"
        for small, column in after.items()
        if small in before and before[small][1].upper() != column.type.upper()
    ]
    return [*found, *(f"+ {column.name} {column.type}" for small, column in after.items() if small not in before)]


def _observed(ground: Ground, names: Sequence[str]) -> dict[str, tuple[Column, ...]]:
    sources = ground.project.sources
    for name in names:
        if name not in sources:
            raise refused("S114", f"there is no source `{name}`", remedy=did_you_mean(name, sources, "see sources.toml"))
    wanted = list(names) or list(sources)
    reader = ground.reader()
    with closing(reader if reader is not None else ground.scratch()) as looking:
        world = discover(ground.project, ground.target, looking, only=wanted)
    unread = [name for name in wanted if name not in world.sources]
    if unread:
        raise refused(
            "P425",
            f"source `{unread[0]}` could not be read",
            because=world.unreadable.get(unread[0], "nothing is there"),
            remedy="see that it can be read, or name the sources that can",
        )
    return {name: world.sources[name] for name in wanted}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
