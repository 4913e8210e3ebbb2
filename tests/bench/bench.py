"""How fast it is, against the floor of the same round: `PYTHONPATH=.src python tests/bench/bench.py --models 100,1000`.

Floor and product are measured in turn (A B A B), each as a whole process; the table gives medians of wall and CPU time, their
ratios to the floor (the faster of one thread and as many as there are cores) and peak memory. Peers are measured where they
are installed. Distrust a round in which something else loads the machine: it says so, and so does a floor that moves.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import peers
from measure import Measured, load_warning, measured

import project

HERE = Path(__file__).parent
PRODUCT = (sys.executable, "-m", "interlock.engine")
ENVIRONMENT = {"PYTHONPATH": str(HERE.parents[1] / ".src"), "NO_COLOR": "1"}
"""The working tree is measured, from whatever directory."""
CORES = os.cpu_count() or 1


@dataclass(slots=True)
class Site:
    """The files of one size, and what was measured there."""

    models: int
    folder: Path
    threads: int
    found: dict[str, list[Measured]] = field(default_factory=dict)

    @property
    def product(self) -> Path:
        """The project in Interlock's form."""
        return self.folder / "interlock"

    def note(self, what: str, value: Measured) -> None:
        """Keep a measurement."""
        if value.exit_code:
            _say(f"{what}: exit {value.exit_code}: {value.said}")
        self.found.setdefault(what, []).append(value)

    def run(self, what: str, *arguments: str) -> None:
        """Measure a command of the product."""
        self.note(what, measured([*PRODUCT, *arguments, "--project", str(self.product)], cwd=self.folder, environment=ENVIRONMENT))

    def fresh(self) -> None:
        """No cache, no ledger, no model: only the raw tables."""
        for path in self.product.glob("bench.duckdb*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(self.product / ".interlock", ignore_errors=True)
        shutil.copy(self.folder / "given.duckdb", self.product / "bench.duckdb")

    def rows_arrive(self, database: Path) -> None:
        """One tenth more rows in each raw table."""
        _execute(database, project.raw_sql(self.models, rows=100, start=1000))


def byte_compiled() -> None:
    """Byte-compile our modules, as installing does; where Python may write no bytecode, each process would read their sources."""
    for room in ("engine", "machines"):
        compileall.compile_dir(HERE.parents[1] / room, quiet=1)


def prepare(folder: Path, models: int, threads: int) -> Site:
    """Make the project in every form, and the database with its raw tables."""
    made = project.make(models)
    project.write_neutral(folder, made)
    project.write_interlock(folder / "interlock", made, threads=threads)
    given = folder / "given.duckdb"
    given.unlink(missing_ok=True)
    _execute(given, project.raw_sql(models))
    return Site(models=models, folder=folder, threads=threads)


def _execute(database: Path, statements: Sequence[str]) -> None:
    """In a process of its own: this one must not hold the file."""
    code = "import duckdb, json, sys\nc = duckdb.connect(sys.argv[1])\nfor s in json.load(sys.stdin): c.execute(s)\nc.close()"
    measured([sys.executable, "-c", code, str(database)], cwd=database.parent, stdin=json.dumps(list(statements)))


def floors(site: Site) -> None:
    """The floor, with one thread and with one for each core; then with new rows."""
    database = site.folder / "floor.duckdb"
    for threads in dict.fromkeys((CORES, 1)):
        for path in site.folder.glob("floor.duckdb*"):
            path.unlink()
        shutil.copy(site.folder / "given.duckdb", database)
        command = [sys.executable, str(HERE / "floor.py"), str(site.folder), str(database), str(threads)]
        site.note(f"floor, {threads} threads" if threads > 1 else "floor, 1 thread", measured([*command, "first"], cwd=site.folder))
    if CORES > 1:
        site.note(f"floor, {CORES} at once", _at_once(site))
    site.rows_arrive(database)
    command = [sys.executable, str(HERE / "floor.py"), str(site.folder), str(database), "1", "second"]
    site.note("floor, new rows", measured(command, cwd=site.folder))


def _at_once(site: Site) -> Measured:
    """As many floors as there are cores, each with one thread and a database of its own: how many cores these really are.

    Of real ones each floor takes as long as it does alone. Two halves of one give little more than one core's work, and no product that
    does more than the floor can then be close to it by using both.
    """
    databases = [site.folder / f"floor-{number}.duckdb" for number in range(CORES)]
    for database in databases:
        shutil.copy(site.folder / "given.duckdb", database)

    def one(database: Path) -> Measured:
        return measured([sys.executable, str(HERE / "floor.py"), str(site.folder), str(database), "1", "first"], cwd=site.folder)

    with ThreadPoolExecutor(CORES) as pool:
        runs = list(pool.map(one, databases))
    for path in site.folder.glob("floor-*.duckdb*"):
        path.unlink()
    failed = next((run for run in runs if run.exit_code), runs[0])
    return replace(failed, wall=max(run.wall for run in runs), cpu=statistics.mean(run.cpu for run in runs))


def product(site: Site) -> None:
    """Everything that a user waits for."""
    site.fresh()
    site.run("compile, cold", "compile")
    site.run("compile, warm", "compile")
    site.run("ls", "ls")
    shutil.rmtree(site.product / ".interlock", ignore_errors=True)
    site.run(f"full run, {site.threads} threads", "run", "--threads", str(site.threads))
    site.run("no-op run", "run")
    site.run("status", "status")
    leaf = next(iter(sorted((site.product / "models" / f"l{project.LAYERS}").glob("*.sql"), reverse=True)))
    before = leaf.read_text(encoding="utf-8")
    leaf.write_text(before.replace(" 1 as v", " 2 as v"), encoding="utf-8")
    site.run("plan, one leaf edited", "plan", "--no-save")
    site.run("run, one leaf edited", "run")
    leaf.write_text(before, encoding="utf-8")
    site.run("run, leaf back", "run")
    site.rows_arrive(site.product / "bench.duckdb")
    site.run("run, new rows", "run", "--threads", str(site.threads))
    for what in (("lineage", f"m{site.models - 1:05d}"), ("report",), ("audit", "replay")):
        if peers.has_command(PRODUCT, ENVIRONMENT, what[:2] if what[0] == "audit" else what[:1]):
            site.run(" ".join(what[:2] if what[0] == "audit" else what[:1]), *what)
    site.fresh()
    site.run("full run, 1 thread", "run", "--threads", "1")


RECORDS = 50_000
"""Appended and replayed to see how fast a ledger is."""


def inside(site: Site, records: int = RECORDS) -> dict[str, object]:
    """What ledger and state machines cost by themselves, on the records of the run that was made."""
    (ledger,) = (path.parent for path in site.product.glob("bench.duckdb.interlock/*/ledger"))
    done = subprocess.run(
        [sys.executable, str(HERE / "inside.py"), str(ledger), str(records)],
        cwd=site.folder,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
    )
    said: dict[str, object] = {"N": site.models, **json.loads(done.stdout)}
    whole = statistics.median(run.cpu for run in site.found["full run, 1 thread"])
    steps = said["machine_ms_a_model"]
    assert isinstance(steps, float)
    return {**said, "machine_share_of_full_run": round(steps * site.models / 1000 / whole, 3)}


def table(site: Site) -> list[dict[str, object]]:
    """Rows of the result: medians, and ratios to the faster floor."""
    base = min((runs for what, runs in site.found.items() if what in {"floor, 1 thread", f"floor, {CORES} threads"}), key=_wall)
    wall, cpu = _wall(base), statistics.median(run.cpu for run in base)
    rows: list[dict[str, object]] = []
    for what, runs in site.found.items():
        floor_wall, floor_cpu = wall, cpu
        if what == "run, new rows":
            second = site.found["floor, new rows"]
            floor_wall, floor_cpu = _wall(second), statistics.median(run.cpu for run in second)
        rows.append(
            {
                "models": site.models,
                "what": what,
                "wall": round(_wall(runs), 3),
                "cpu": round(statistics.median(run.cpu for run in runs), 3),
                "of_floor_wall": round(_wall(runs) / floor_wall, 3),
                "of_floor_cpu": round(statistics.median(run.cpu for run in runs) / floor_cpu, 3),
                "ms_a_model": round(1000 * statistics.median(run.cpu for run in runs) / site.models, 3),
                "peak_mib": max(run.peak_kib for run in runs) // 1024,
                "failed": sum(run.exit_code != 0 for run in runs),
            }
        )
    return rows


def _wall(runs: Sequence[Measured]) -> float:
    return statistics.median(run.wall for run in runs)


def starts(rounds: int) -> list[dict[str, object]]:
    """What starting costs."""
    commands: dict[str, Sequence[str]] = {
        "python": (sys.executable, "-c", "import sys"),
        "interlock --version": (*PRODUCT, "--version"),
        "interlock --help": (*PRODUCT, "--help"),
        "interlock run --help": (*PRODUCT, "run", "--help"),
    }
    found: dict[str, list[Measured]] = {}
    for _ in range(max(rounds, 5)):
        for what, command in commands.items():
            found.setdefault(what, []).append(measured(command, cwd=HERE, environment=ENVIRONMENT))
    base, base_cpu = _wall(found["python"]), statistics.median(run.cpu for run in found["python"])
    return [
        {
            "what": what,
            "wall_ms": round(1000 * _wall(runs), 1),
            "cpu_ms": round(1000 * statistics.median(run.cpu for run in runs), 1),
            "of_python_wall": round(_wall(runs) / base, 2),
            "of_python_cpu": round(statistics.median(run.cpu for run in runs) / base_cpu, 2),
        }
        for what, runs in found.items()
    ]


def shown(rows: Sequence[dict[str, object]]) -> str:
    """A table in Markdown."""
    if not rows:
        return ""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]
    return "\n".join(lines)


def bench(
    folder: Path,
    sizes: Sequence[int],
    *,
    rounds: int,
    threads: int,
    with_peers: bool,
    say: Callable[[str], None],
    records: int = RECORDS,
) -> dict[str, object]:
    """Measure every size."""
    rows: list[dict[str, object]] = []
    insides: list[dict[str, object]] = []
    warnings = []
    byte_compiled()
    for models in sizes:
        site = prepare(folder / str(models), models, threads)
        found = peers.installed() if with_peers else {}
        for number in range(rounds):
            warning = load_warning()
            if warning:
                warnings.append(warning)
                say(warning)
            say(f"N = {models}, round {number + 1} of {rounds}")
            floors(site)
            product(site)
            for name, command in found.items():
                for what, value in peers.measure(name, command, site.folder, models, threads):
                    site.note(what, value)
        rows += (own := table(site))
        say(shown(own))
        insides.append(inside(site, records))
        say(shown(insides[-1:]))
    missing = [f"{name} is not installed: {why}" for name, why in peers.missing().items()] if with_peers else []
    for line in missing:
        say(line)
    return {"rows": rows, "inside": insides, "starts": starts(rounds), "warnings": warnings, "missing": missing, "cores": CORES}


def main() -> None:
    """The documented command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="100,1000", help="sizes, by comma (100,1000,5000,10000)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=4, help="workers of the product")
    parser.add_argument("--work", type=Path, help="directory for its files; else a temporary one")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.models.split(",")]
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        result = bench(
            options.work or Path(scratch), sizes, rounds=options.rounds, threads=options.threads, with_peers=not options.no_peers, say=_say
        )
    _say(shown(result["starts"]))  # type: ignore[arg-type]
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
