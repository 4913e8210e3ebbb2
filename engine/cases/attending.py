"""Acts on the ledger as files: attach one that lies elsewhere, archive what is old. Each shown, asked, and recorded."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from interlock.engine.cases.acts import Where, acted, demand_ended
from interlock.engine.diagnostics import Diagnostic, Refused, refused
from interlock.engine.faults import point
from interlock.engine.ledger.durable import make_directory, set_aside, sync_directory, write_file
from interlock.engine.ledger.packing import closed_segments, pack
from interlock.engine.ledger.places import LOCK, plans_directory, segments_directory
from interlock.engine.ledger.reader import LedgerAbsent, LedgerBroken, LedgerUnreadable, LedgerWhole, read
from interlock.engine.ledger.writer import Ledger, LedgerError, own
from interlock.engine.results import ActResult, Confirm
from interlock.engine.runner.authority import demand
from interlock.engine.runner.ground import Ground
from interlock.engine.runner.site import Site, site
from interlock.engine.version import VERSION
from interlock.engine.warehouse.duckdb.session import refusal
from interlock.engine.warehouse.protocol import Identity, WarehouseError
from interlock.machines.evidence import AttachEvidence

ATTACH: Final = ("ledger attach", "attach")
ARCHIVE: Final = ("ledger archive", "archive")


def attach(ground: Ground, directory: Path, *, confirm: Confirm, reason: str, where: Where) -> ActResult:
    """Copy a ledger from where it lies to beside the database whose identity names it.

    Raises:
        Refused: there is no whole ledger of this project, or the database names another.
    """
    with site(ground, "ledger attach") as place:
        origin = _origin(directory, ground.project.id)
        if origin.resolve() == ground.directory.resolve():
            return acted(*ATTACH, ("the ledger lies there already",), "nothing", where)
        found = _whole(origin, ground.project.id)
        identity = _identity(place)
        if identity is None or identity.ledger != found.fold.ledger:
            named = "no ledger of this project" if identity is None else f"the ledger {identity.ledger}"
            raise refused(
                "K704",
                "this is not the ledger of this database",
                because=f"the database names {named}; in `{directory}` lies {found.fold.ledger}",
                remedy="find the one that it names, or run `interlock ledger accept-warehouse`",
                subject=ground.target.name,
            )
        shown = [
            f"found: ledger {found.fold.ledger} with {found.tip.sequence} records, the newest of {found.fold.time}",
            f"copies it and its plans to {ground.directory.parent.name}/{ground.directory.name}, beside the database; nothing is deleted",
        ]
        here = read(ground.directory)
        if isinstance(here, LedgerWhole) and here.fold.ledger == found.fold.ledger and here.tip.sequence >= found.tip.sequence:
            raise refused(
                "K704",
                "the ledger that lies beside the database is the same one, and not older",
                because=f"it has {here.tip.sequence} records, and the one in `{directory}` {found.tip.sequence}",
                remedy="there is nothing to attach",
                subject=ground.target.name,
            )
        if ground.directory.exists():
            shown.append("what lies there now is set aside under another name")
        if not confirm(tuple(shown)):
            return acted(*ATTACH, tuple(shown), "refused", where)
        _bring(ground, origin, str(directory), reason)
        return acted(*ATTACH, tuple(shown), "done", where)


def archive(ground: Ground, *, confirm: Confirm, reason: str, where: Where) -> ActResult:
    """Close the ledger's segment, and pack all closed ones. Every reader still reads and verifies them.

    Raises:
        Refused: ledger and warehouse cannot be trusted, or a run is open.
    """
    with site(ground, "ledger archive") as place:
        sight = place.sight()
        demand(sight, ground.target.name)
        if not isinstance(sight.ledger, LedgerWhole):
            return acted(*ARCHIVE, ("there is no ledger yet",), "nothing", where)
        demand_ended(sight, ground.target.name, "archive")
        tip = sight.ledger.tip
        shown = [
            f"closes segment {tip.segment} at record {tip.sequence}, {tip.digest}",
            "packs what is closed; every record stays readable",
        ]
        if not confirm(tuple(shown)):
            return acted(*ARCHIVE, tuple(shown), "refused", where)
        closed = place.open_ledger(sight).archive(ground.project.id, reason)
        try:
            for number in closed_segments(ground.directory, closed.segment):
                size = pack(ground.directory, number)
                shown.append(f"segment {number} takes {size} bytes now")
        except OSError as error:
            raise LedgerError(str(error)) from error
        return acted(*ARCHIVE, tuple(shown), "done", where)


def _origin(directory: Path, project: str) -> Path:
    """The ledger directory that was meant: itself, or the one of this project in a `<database>.interlock`."""
    for candidate in (directory, directory / project):
        if segments_directory(candidate).is_dir():
            return candidate
    raise refused(
        "K701",
        f"there is no ledger in `{directory}`",
        because=f"neither it nor `{project}` in it holds a directory `{segments_directory(directory).name}`",
        remedy="name the directory `<database>.interlock`, or the project's own directory in it",
    )


def _whole(origin: Path, project: str) -> LedgerWhole:
    found = read(origin)
    match found:
        case LedgerAbsent():
            raise refused("K701", f"there is no ledger in `{origin}`", because="it holds no record", remedy="name another directory")
        case LedgerBroken() | LedgerUnreadable():
            raise Refused(found.finding)
        case LedgerWhole():
            if found.fold.project != project:
                raise refused(
                    "K704",
                    f"the ledger in `{origin}` is of another project",
                    because=f"it is of {found.fold.project}; this is {project}",
                    remedy="name the directory of this project's ledger",
                )
            return found


def _identity(place: Site) -> Identity | None:
    if place.session is None:
        raise refused(
            "K705",
            "there is no database that a ledger could belong to",
            because=f"`{place.ground.target.path}` does not exist",
            remedy="put the database there first",
            subject=place.ground.target.name,
        )
    reader = place.session.reader()
    try:
        return reader.identity(place.ground.project.id)
    except WarehouseError as error:
        raise refusal(error, subject=place.ground.target.name) from error
    finally:
        reader.close()


def _bring(ground: Ground, origin: Path, named: str, reason: str) -> None:
    """The copy stands under another name until its own record is in it: a kill leaves the old state or the new one."""
    aside = ground.directory.with_name(f".{ground.directory.name}.attach")
    try:
        if aside.exists():
            shutil.rmtree(aside)
        for source in (segments_directory(origin), plans_directory(origin)):
            if not source.is_dir():
                continue
            make_directory(aside / source.name)
            for file in sorted(item for item in source.iterdir() if item.is_file() and item.name != LOCK):
                write_file(aside / source.name / file.name, file.read_bytes())
        copied = _whole(aside, ground.project.id)
        ledger = Ledger.open(aside, clock=ground.clock, actor=ground.actor, version=VERSION, at=copied.tip)
        try:
            torn = ledger.cut_torn(ground.project.id)
            at = copied.tip if torn is None else _whole(aside, ground.project.id).tip
            evidence = AttachEvidence(
                project=ground.project.id, ledger=copied.fold.ledger, sequence=at.sequence, tip=at.digest, origin=named, reason=reason
            )
            ledger.append(own(ground.project.id, evidence), run=None)
            ledger.sync()
        finally:
            ledger.close()
        if ground.directory.exists():
            set_aside(ground.directory, f"{ground.directory.name}.before-attach-{ground.clock():%Y%m%dT%H%M%S}")
        point("directory.rename.before")
        aside.rename(ground.directory)
        point("directory.rename.after")
        sync_directory(ground.directory.parent)
    except OSError as error:
        raise LedgerError(str(error)) from error


def unattached(ground: Ground) -> Diagnostic | None:
    """A copy that a kill left in the middle of an attach, for `doctor`."""
    aside = ground.directory.with_name(f".{ground.directory.name}.attach")
    try:
        if not aside.exists():
            return None
    except OSError:
        return None  # the ledger beside it does not answer either, and that is said
    return Diagnostic(
        code="K704",
        severity="warning",
        summary=f"`{aside.name}` is what a stopped `ledger attach` left",
        remedy="run `interlock ledger attach DIR` again, or delete it",
    )
