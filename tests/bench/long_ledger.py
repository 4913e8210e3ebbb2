"""Makes a project's ledger long, by the product's own writer: `long_ledger.py LEDGER_DIRECTORY DATABASE RECORDS`.

Appends closed runs over the models that the ledger knows, each of which is verified and then refused, so that heads and tables
stay as they are; the warehouse gets the seal of the last run. Then `status` and `plan` say what a long ledger costs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
from msgspec.structs import replace

from interlock.engine.clock import system_clock
from interlock.engine.ledger.reader import LedgerWhole, entries, read
from interlock.engine.ledger.writer import Ledger
from interlock.machines.evidence import (
    AuthorizeEvidence,
    CloseEvidence,
    Evidence,
    RefuseEvidence,
    ScopeEnd,
    SealRow,
    StartEvidence,
    Transition,
    Verdict,
    VerifyEvidence,
)

CAUSE = RefuseEvidence(cause="fail_fast", code="G564", because="it is here to be many", remedy="none", proof=None)


def main(directory: str, database: str, count: str) -> None:
    """Append, and seal."""
    place = Path(directory)
    found = read(place)
    assert isinstance(found, LedgerWhole)
    sample: dict[type, tuple[Evidence, tuple[Verdict, ...]]] = {}
    for numbered in entries(place):
        sample[type(numbered.entry.evidence)] = (numbered.entry.evidence, numbered.entry.verdicts)
    authorize, close, start, verify = (sample[kind] for kind in (AuthorizeEvidence, CloseEvidence, StartEvidence, VerifyEvidence))
    assert isinstance(authorize[0], AuthorizeEvidence)
    assert isinstance(close[0], CloseEvidence)
    assert isinstance(verify[0], VerifyEvidence)
    ledger = Ledger.open(place, clock=system_clock, actor="bench", version="0", at=found.tip)
    serial = number = found.fold.serial  # so that a ledger can be made longer again
    seal: SealRow = close[0].seal_expected
    while ledger.sequence < int(count):
        number += 1
        run = f"20260101T000000-{number:020d}"
        plan = f"{number:064x}"
        scope = authorize[0].scope

        def move(
            machine: str, subject: str, event: str, ends: tuple[str, str], told: tuple[Evidence, tuple[Verdict, ...]], run: str = run
        ) -> None:
            evidence, verdicts = told
            ledger.append(
                Transition(
                    machine=machine, subject=subject, event=event, source=ends[0], target=ends[1], verdicts=verdicts, evidence=evidence
                ),
                run=run,
            )

        move("run", run, "authorize", ("opened", "authorized"), (replace(authorize[0], plan=plan, spent_by=()), authorize[1]))
        move("run", run, "start", ("authorized", "running"), start)
        verified = (replace(verify[0], plan=plan), verify[1])
        for item in scope:
            move("model_run", f"{item.model}#1", "verify", ("planned", "verified"), verified)
            move("model_run", f"{item.model}#1", "refuse", ("verified", "refused"), (CAUSE, ()))
        serial += 1
        seal = replace(seal, run=run, serial=serial, tip=ledger.tip, outcome="partial")
        ends = tuple(ScopeEnd(model=item.model, state="refused") for item in scope)
        told = CloseEvidence(planned=scope, executed=ends, outcome="partial", seal_expected=seal, seal=seal)
        move("run", run, "close", ("running", "closed"), (told, close[1]))
        ledger.sync()
    ledger.close()
    with duckdb.connect(database) as connection:
        connection.execute(
            "INSERT INTO interlock.seals (project, run, serial, tip, outcome, heads) VALUES (?, ?, ?, ?, ?, ?)",
            [seal.project, seal.run, seal.serial, seal.tip, seal.outcome, seal.heads],
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
