"""Answers of audit, drawings and reports, with names and values that must not move a cursor."""

from __future__ import annotations

from typing import Any

from interlock.engine.audit.difference import ModelDifference, RunDifference, Side
from interlock.engine.audit.facts import Fact
from interlock.engine.audit.replay import ModelAt, Replayed
from interlock.engine.audit.tape import Flaw
from interlock.engine.audit.timeline import Line
from interlock.engine.audit.told import End, Guarded, Story, Text, Told, Work
from interlock.engine.audit.verify import Looked, Mismatch, Verified
from interlock.engine.results_audit import (
    BundleResult,
    DrawnResult,
    LogResult,
    ReplayResult,
    ReportResult,
    StoryResult,
    VerifyResult,
)
from interlock.machines.evidence import Watermark

WHERE: dict[str, Any] = {"project": "shop", "target": "dev", "location": "shop.duckdb"}
RUN = "20260302T100000-0123456789abcdef0123"
TIME = "2026-03-02T10:00:00.000000Z"
HOSTILE = "an \x1b[2J odd\nname"
REFUSES = Guarded(
    guard="no_error_check_failed", holds="no", says="No check of error severity found rows against it.", reads="the verdicts of the checks",
    invariant="I4", code="G527", because=f"check `unique_id` failed for 2 rows: {HOSTILE}", remedy="correct the rows or the model",
)  # fmt: skip
HOLDS = Guarded(guard="delta_is_well_formed", holds="yes", says="", reads="", invariant="I3")
STEP = Told(
    sequence=12, time=TIME, event="commit", source="bootstrapping", target="refused", guards=(HOLDS, REFUSES),
    facts=(Fact(name="rows", value="10 before, 2 written"), Fact(name="first against it", value=HOSTILE)), by="20260302T110000",
)  # fmt: skip
WORK = Work(
    action="append", reasons=("source `raw.orders` has moved",), notes=("late rows are not looked at",), bounds=("2026-03-01 <= at < 2026-03-02",),
    statements=(Text(role="insert", text="INSERT INTO t\nSELECT 1"), Text(role="look", text="SELECT 2")), text="select 1",
)  # fmt: skip


def replayed(*flaws: Flaw) -> Replayed:
    broken = any(flaw.kind == "altered" for flaw in flaws)
    return Replayed(
        records=120, tip="ab" * 32, sequence=120, first_time=TIME, last_time=TIME, runs=3, open_runs=(RUN,) if flaws else (),
        models=(
            ModelAt(model="orders", state="checkpointed", run=RUN, receipt="cd" * 32, rows=12, watermark=Watermark(type="DATE", low="a", high="b"), since=TIME),
            ModelAt(model=HOSTILE, state="refused", run=RUN, receipt=None, rows=None, watermark=None, since=TIME, code="G527"),
        ),
        trust="broken" if broken else "whole", law="broken" if flaws else "kept", flaws=flaws, flaws_count=len(flaws) and 1001,
    )  # fmt: skip


def results() -> dict[str, Any]:
    lines = (
        Line(sequence=9, time=TIME, run=RUN, machine="run", subject=RUN, event="start", source="authorized", target="running", actor="ann"),
        Line(
            sequence=12, time=TIME, run=RUN, machine="model_run", subject="orders#1", event="commit", source="bootstrapping", target="refused",
            actor="ann", code="G527", because=HOSTILE, by="20260302T110000",
        ),
        Line(sequence=13, time=TIME, run=None, machine="ledger", subject="shop", event="torn", source="", target="", actor="ann"),
    )  # fmt: skip
    altered = Flaw(
        sequence=7, kind="altered", because="its bytes do not have the digest that stands beside them", place="000001.jsonl, line 7"
    )
    lying = Flaw(sequence=9, kind="contradicts", because=HOSTILE)
    difference = RunDifference(
        one=RUN, other="20260303", sides=(Side(what="outcome", one="succeeded", other="partial"),),
        models=(ModelDifference(model="orders", sides=(Side(what="code", one=None, other="G527"),)),), same=("customers",),
    )  # fmt: skip
    story = Story(
        kind="model", subject="orders#1", answer="it was refused: nothing was written, and the relation is as before", run=RUN, plan="ef" * 32,
        code="G527", because=HOSTILE, remedy="correct the rows or the model", needed=("No check of error severity found rows against it",),
        steps=(STEP,), work=WORK, said=("the last run did not have it in its plan",),
    )  # fmt: skip
    of_run = Story(
        kind="run", subject=RUN, answer="it was closed as partial: 1 checkpointed, 1 refused", run=RUN, plan="ef" * 32,
        ends=(End(model="a", action="create", state="checkpointed"), End(model="b", action="append", state="refused", code="G561", because="it reads `a`")),
    )  # fmt: skip
    mismatches = (
        Mismatch(topic="receipts", subject="orders", code="K702", because="receipt abcd is foreign"),
        Mismatch(topic="heads", subject=HOSTILE, code="K742", because="its last attempt has no end", severity="warning"),
    )
    looked = (Looked(topic="ledger", count=120), Looked(topic="receipts", count=7))
    done: dict[str, Any] = {"outcome": "done", "exit_code": 0}
    untrusted: dict[str, Any] = {"outcome": "refused", "exit_code": 4}
    return {
        "audit_log": LogResult(command="audit log", lines=lines, next_after=13, **done, **WHERE),
        "audit_log_nothing": LogResult(command="audit log", lines=(), **done, **WHERE),
        "audit_explain": StoryResult(command="audit explain", question="orders", story=story, **done, **WHERE),
        "audit_explain_run": StoryResult(command="audit explain", question=RUN, story=of_run, **done, **WHERE),
        "audit_replay": ReplayResult(command="audit replay", ledger="8c52", replayed=replayed(), at="yes", withheld=2, **done, **WHERE),
        "audit_replay_broken": ReplayResult(
            command="audit replay", ledger="8c52", replayed=replayed(altered, lying), difference=difference, **untrusted, **WHERE
        ),
        "audit_verify": VerifyResult(
            command="audit verify", replayed=replayed(), verified=Verified(looked=looked, mismatches=()), **done, **WHERE
        ),
        "audit_verify_fault": VerifyResult(
            command="audit verify", replayed=replayed(), verified=Verified(looked=looked, mismatches=mismatches), **untrusted, **WHERE
        ),
        "audit_bundle": BundleResult(command="audit bundle", run=RUN, file="run.zip", records=9, withheld=1, bytes=4096, **done, **WHERE),
        "diagram": DrawnResult(command="diagram", format="mermaid", text="stateDiagram-v2\n    [*] --> planned\n", **done),
        "report": ReportResult(command="report", run=RUN, file="report.html", models=12, bytes=144464, **done, **WHERE),
    }
