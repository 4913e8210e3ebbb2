"""Other tools on the same project, where they are installed: dbt-core with dbt-duckdb, dbt 2, SQLMesh, a `rocky` binary."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from measure import Measured, measured

import project


def installed() -> dict[str, str]:
    """Peers that are here, with their program."""
    found = {}
    if (dbt := shutil.which("dbt")) and importlib.util.find_spec("dbt.adapters.duckdb" if importlib.util.find_spec("dbt") else "dbt"):
        found["dbt-core"] = dbt
    for name, program in (("dbt 2", "dbtf"), ("SQLMesh", "sqlmesh"), ("rocky", "rocky")):
        if path := shutil.which(program):
            found[name] = path
    return found


def missing() -> dict[str, str]:
    """Peers that are not here, and what was looked for."""
    wanted = {
        "dbt-core": "`dbt` on PATH with dbt-duckdb",
        "dbt 2": "`dbtf` on PATH",
        "SQLMesh": "`sqlmesh` on PATH",
        "rocky": "`rocky` on PATH",
    }
    here = installed()
    return {name: why for name, why in wanted.items() if name not in here}


def has_command(program: Sequence[str], environment: Mapping[str, str], words: Sequence[str]) -> bool:
    """Whether a program has a command of that name."""
    return subprocess.run([*program, *words, "--help"], capture_output=True, check=False, env={**os.environ, **environment}).returncode == 0


def measure(name: str, program: str, folder: Path, models: int, threads: int) -> Iterator[tuple[str, Measured]]:
    """A full run and a second one of a peer."""
    database = folder / "peer.duckdb"
    for path in folder.glob("peer.duckdb*"):
        path.unlink()
    shutil.copy(folder / "given.duckdb", database)
    environment = {"PEERS_DB": str(database), "PEERS_THREADS": str(threads), "DBT_PROFILES_DIR": str(folder / "dbt")}
    made = project.make(models)
    if name in {"dbt-core", "dbt 2"}:
        project.write_dbt(folder / "dbt", made)
        commands = {"full run": [program, "run", "--project-dir", str(folder / "dbt")]}
        commands["no-op run"] = commands["full run"]
    elif name == "SQLMesh":
        project.write_sqlmesh(folder / "sqlmesh", made)
        commands = {
            "full run": [program, "-p", str(folder / "sqlmesh"), "plan", "--auto-apply", "--no-prompts"],
            "no-op run": [program, "-p", str(folder / "sqlmesh"), "run"],
        }
    else:
        return
    for what, command in commands.items():
        yield f"{name}: {what}", measured(command, cwd=folder, environment=environment)
