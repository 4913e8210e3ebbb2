"""A first run: the ledger's first record is on disk, then one serial transaction makes the control tables and the identity."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path

from interlock.engine.clock import Clock, stamp
from interlock.engine.ledger.reader import entries
from interlock.engine.ledger.writer import Ledger
from interlock.engine.warehouse.duckdb import control
from interlock.engine.warehouse.protocol import Session
from interlock.machines.evidence import GenesisEvidence
from interlock.machines.permits import act_permit

ID_BYTES = 16


def new_id() -> str:
    """A random id of a ledger or warehouse."""
    return secrets.token_hex(ID_BYTES)


def run_id(moment: datetime) -> str:
    """A run's id: its time and 80 random bits, so that ids sort by time."""
    return f"{moment:%Y%m%dT%H%M%S}-{secrets.token_hex(10)}"


def begin(directory: Path, *, project: str, target: str, warehouse: str | None, clock: Clock, actor: str, version: str) -> Ledger:
    """A ledger with its genesis record, on disk."""
    evidence = GenesisEvidence(project=project, target=target, ledger=new_id(), warehouse=warehouse or new_id())
    return Ledger.create(directory, clock=clock, actor=actor, version=version, genesis=evidence)


def found_warehouse(directory: Path, session: Session, clock: Clock) -> None:
    """Make the identity that the ledger's genesis record names. May be repeated: a kill in between is finished by the next run."""
    first = next(iter(entries(directory)))
    evidence = first.entry.evidence
    assert isinstance(evidence, GenesisEvidence)
    bound = control.genesis(project=evidence.project, warehouse=evidence.warehouse, ledger=evidence.ledger, since=stamp(clock()))
    permit = act_permit(first.entry, first.digest, [statement.digest for statement, _ in bound])
    session.act(permit, bound)
