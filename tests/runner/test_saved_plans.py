"""What a person reads where a plan cannot be saved."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from interlock.engine.diagnostics import Refused
from interlock.engine.runner import planning
from interlock.engine.runner.planning import Planned, save


def test_a_full_disk_is_named_where_a_plan_cannot_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(planning, "write_file", full)
    with pytest.raises(Refused) as stopped:
        save(tmp_path, Planned(id="ab" * 32, body=None, history=(), findings=(), said=()))
    (finding,) = stopped.value.findings
    assert (finding.code, finding.because) == ("K741", "[Errno 28] No space left on device")
    assert finding.remedy.startswith("free disk space")
