"""What parts of a run cost on their own, on the records of a run that was made: `inside.py LEDGER_DIRECTORY RECORDS`.

Prints JSON: records a second of CPU appended with group commit, replayed with hashes, and folded; the memory that these took;
and CPU of the state machines for each model's run.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

from interlock.engine.cli.invocation import GARBAGE
from interlock.engine.clock import system_clock
from interlock.engine.ledger.reader import LedgerWhole, entries, read
from interlock.engine.ledger.writer import Ledger
from interlock.machines.evidence import Entry, GenesisEvidence, Transition
from interlock.machines.model_run import ModelRun

GROUP = 58
"""Records between two waits for the disk: a full run of the bench's 1,000 models writes 4,003 records and waits 69 times."""


def taken(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU and of wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def peak_kib() -> int:
    """Of this process, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def transition(entry: Entry) -> Transition:
    """What was given to the ledger."""
    return Transition(
        machine=entry.machine,
        subject=entry.subject,
        event=entry.event,
        source=entry.source,
        target=entry.target,
        verdicts=entry.verdicts,
        evidence=entry.evidence,
    )


def append(directory: Path, records: Iterator[tuple[Transition, str | None]], genesis: GenesisEvidence) -> None:
    """A ledger of these records."""
    ledger = Ledger.create(directory, clock=system_clock, actor="bench", version="0", genesis=genesis)
    for number, (record, run) in enumerate(records):
        ledger.append(record, run=run)
        if number % GROUP == GROUP - 1:
            ledger.sync()
    ledger.sync()
    ledger.close()


def machines(sample: list[Entry]) -> tuple[int, Callable[[], None]]:
    """Every model's run of the sample that went to its end, through a machine that writes nowhere."""
    runs: dict[str, list[Entry]] = {}
    for entry in sample:
        if entry.machine == "model_run":
            runs.setdefault(entry.subject, []).append(entry)
    whole = [steps for steps in runs.values() if [step.target for step in steps][-1] == "checkpointed" and len(steps) == 4]
    anchors = {step.subject: getattr(step.evidence, "anchor", "") for steps in whole for step in steps if step.event == "commit"}

    def through() -> None:
        for steps in whole:
            anchor = anchors[steps[0].subject]
            machine = ModelRun(steps[0].subject, lambda _, anchor=anchor: anchor)  # type: ignore[misc]
            for step in steps:
                machine.step(step.event, step.evidence)
            assert machine.state_name == "checkpointed"

    return len(whole), through


def main(directory: str, count: str) -> None:
    """Measure, and print."""
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])  # as every command has it
    found = read(Path(directory))
    assert isinstance(found, LedgerWhole)
    folded, _ = taken(lambda: read(Path(directory)))
    sample = [numbered.entry for numbered in entries(Path(directory))]
    models, through = machines(sample)
    through()
    stepped, _ = taken(through)
    own = [(transition(entry), entry.run) for entry in sample if entry.machine != "ledger"]
    records = int(count)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "ledger"
        appended, appended_wall = taken(lambda: append(place, islice(cycle(own), records), found.genesis))
        before = peak_kib()
        replayed, replayed_wall = taken(lambda: sum(1 for _ in entries(place)))
        grown = peak_kib() - before
        size = sum(path.stat().st_size for path in place.rglob("*.jsonl"))
    said = {
        "records": records,
        "bytes_a_record": size // records,
        "appended_a_cpu_second": round(records / appended),
        "appended_a_second": round(records / appended_wall),
        "replayed_a_cpu_second": round(records / replayed),
        "replayed_a_second": round(records / replayed_wall),
        "replay_grew_kib": grown,
        "folded_a_cpu_second": round(len(sample) / folded),
        "machine_ms_a_model": round(1000 * stepped / max(models, 1), 3),
        "models": models,
    }
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
