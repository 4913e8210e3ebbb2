"""A ledger's length costs time and no memory. `INTERLOCK_RECORDS=1000000 python -m pytest -s tests/audit/test_many_records.py` says how much."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.audit.forge import history

from interlock.engine.ledger.places import segment_path

RECORDS = int(os.environ.get("INTERLOCK_RECORDS", "12000"))
PROGRAM = """
import resource, sys
from pathlib import Path
from interlock.engine.audit.replay import replay_at
found = replay_at(Path(sys.argv[1]))
assert (found.trust, found.law) == ("whole", "kept"), found.flaws[:3]
print(found.records, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_kib(directory: Path, records: int) -> tuple[int, int]:
    """Records, and the most memory that a process of its own took to replay them."""
    path = segment_path(directory, 1)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        history(records, keep=False, sink=file.write)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(directory)], capture_output=True, text=True, check=True)
    count, most = ran.stdout.split()
    return int(count), int(most)


def test_ten_times_the_records_take_hardly_more_memory(tmp_path: Path) -> None:
    few, before = peak_kib(tmp_path / "few", RECORDS // 10)
    many, after = peak_kib(tmp_path / "many", RECORDS)
    print(f"{few} records: {before // 1024} MiB; {many} records: {after // 1024} MiB")  # noqa: T201 - the documented command's answer
    assert many >= 9 * few
    # A closed run leaves a line of some hundred bytes, whatever it did.
    assert after - before < 8 * 1024 + (many - few) * 60 // 1024
