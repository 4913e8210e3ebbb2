"""Plan: from a project to bytes that will not change. Its history stands in the plan file; it writes no ledger records."""

from __future__ import annotations

from typing import ClassVar

from interlock.machines.evidence import CompileEvidence, RefuseEvidence, SealEvidence
from interlock.machines.guards import requires
from interlock.machines.guards_run import every_observation_was_read, no_finding_is_an_error
from interlock.machines.machine import Machine, State
from interlock.machines.records import Record


class Plan(Machine):
    """A plan, from a project to bytes that will not change."""

    ledger_name = "plan"

    drafted = State(initial=True)
    compiled = State()
    sealed = State(final=True)
    refused = State(final=True)

    compile = drafted.to(compiled, cond="may_compile") | drafted.to(refused)
    seal = compiled.to(sealed, cond="may_seal") | compiled.to(refused)
    refuse = drafted.to(refused) | compiled.to(refused)

    may_compile = requires(CompileEvidence, no_finding_is_an_error)
    may_seal = requires(SealEvidence, every_observation_was_read)

    evidence_types: ClassVar[dict[str, type[Record]]] = {
        "compile": CompileEvidence,
        "seal": SealEvidence,
        "refuse": RefuseEvidence,
    }

    meaning: ClassVar[dict[str, str]] = {
        "drafted": "it was asked for",
        "compiled": "the project has no error that concerns it",
        "sealed": "its bytes are fixed, and their digest is its id",
        "refused": "there is no plan, for reasons that were shown",
    }
