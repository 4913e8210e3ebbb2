"""One process, measured from outside: wall time, CPU time with that of its children, peak memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a process took."""

    wall: float
    cpu: float
    peak_kib: int
    exit_code: int
    said: str
    """The end of what it said where it failed."""


def measured(command: Sequence[str], *, cwd: Path, stdin: str = "", environment: Mapping[str, str] | None = None) -> Measured:
    """Run a command to its end, its results thrown away."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(stdin.encode())
        given.seek(0)
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd, stdin=given, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode(errors="replace").strip()[-600:] if process.returncode else ""
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(wall=wall, cpu=cpu, peak_kib=usage.ru_maxrss, exit_code=process.returncode, said=words)


def load_warning() -> str:
    """Words where something else keeps the machine busy; empty where nothing does."""
    if not hasattr(os, "getloadavg"):
        return ""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    return (
        f"warning: the load of this machine is {load:.1f} on {cores} cores: compare CPU times, not wall times" if load > 0.5 * cores else ""
    )
