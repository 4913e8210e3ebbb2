"""The stage on which a scenario plays: a directory, a clock, plans kept by name, and what the last command said."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
from tests.scenarios.scenario import DEFAULT_CONFIG, Cell, Scenario, Step

from interlock.engine import faults
from interlock.engine.cli import main
from interlock.engine.clock import moment

TAKES_AS_OF = frozenset({"plan", "run"})

HOLD_DATABASE = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
HOLD_LOCK = "import fcntl, sys; f = open(sys.argv[1], 'a+'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"

Rows = list[tuple[str, ...]]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a command answered."""

    exit: int
    out: str
    err: str
    envelope: dict[str, Any]
    """Empty where the output is for people."""

    @property
    def result(self) -> dict[str, Any]:
        """The envelope's result, or nothing."""
        found = self.envelope.get("result")
        return found if isinstance(found, dict) else {}

    @property
    def body(self) -> dict[str, Any]:
        """The plan, where the answer has one."""
        found = self.result.get("body")
        return found if isinstance(found, dict) else {}

    def codes(self, *severities: str) -> set[str]:
        """Codes of findings of these severities; what the plan or the run refused counts as an error."""
        found = {finding["code"] for finding in self.envelope.get("findings", []) if finding.get("severity", "error") in severities}
        if "error" in severities:
            found |= {item["refusal"]["code"] for item in self.body.get("items", []) if item.get("refusal")}
            found |= {model["code"] for model in self.models if model.get("state") == "refused" and model.get("code")}
        return found

    @property
    def models(self) -> list[dict[str, Any]]:
        """What became of each model, of a run."""
        return self.result.get("models", []) if "run" in self.result else []

    @property
    def actions(self) -> dict[str, str]:
        """What the plan does with each model. (A recheck that follows another action of the same model is not shown.)"""
        items = self.body.get("items") or self.models
        return {item["model"]: item["action"] for item in reversed(items)}

    @property
    def states(self) -> dict[str, str]:
        """The state in which each model ended."""
        return {model["model"]: model["state"] for model in self.models}


class Stage:
    """A directory in which a scenario's files stand and its steps are taken."""

    def __init__(self, scenario: Scenario, root: Path) -> None:
        self.scenario = scenario
        self.root = root
        self.clock = scenario.clock
        self.plans: dict[str, str] = {}
        files = dict(scenario.files)
        if not any(path.endswith("interlock.toml") for path in files):
            files["interlock.toml"] = DEFAULT_CONFIG
        for path, content in files.items():
            self.write(path, content)

    def filled(self, text: str) -> str:
        """A text with the ids of kept plans in it. Braces that name no plan stay."""
        return re.sub(r"\{(\w+)\}", lambda name: self.plans.get(name[1], name[0]), text)

    # --- files --------------------------------------------------------------------------------------------------------

    def write(self, path: str, content: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()

    def copy(self, origin: str, to: str) -> None:
        source, target = self.root / origin, self.root / to
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        for suffix in ("", ".wal"):
            target.with_name(target.name + suffix).unlink(missing_ok=True)
            if (log := source.with_name(source.name + suffix)).exists():
                shutil.copyfile(log, target.with_name(target.name + suffix))

    def fingerprint(self) -> dict[str, str]:
        """Digests of all databases and ledgers. Plans are left out: planning writes those; so is the cache, which says nothing."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            relative = path.relative_to(self.root).as_posix()
            beside = ".duckdb.interlock/" in relative and "/plans/" not in relative and path.name != "lock"
            if path.is_file() and (beside or path.suffix in {".duckdb", ".wal"}):
                found[relative] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    # --- the database, by plain DuckDB --------------------------------------------------------------------------------

    def described(self, relation: str, database: str) -> list[tuple[str, str]]:
        """Names and types of the columns, in order."""
        with self.connected(database) as connection:
            return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {relation}").fetchall()]

    @contextlib.contextmanager
    def connected(self, database: str) -> Iterator[duckdb.DuckDBPyConnection]:
        with contextlib.chdir(self.root), duckdb.connect(str(self.root / database)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection

    def sql(self, text: str, database: str) -> None:
        with self.connected(database) as connection:
            connection.execute(text)

    def relations(self, database: str) -> set[str]:
        if not (self.root / database).exists():
            return set()
        with self.connected(database) as connection:
            found = connection.execute("SELECT table_schema || '.' || table_name FROM information_schema.tables").fetchall()
        return {name for (name,) in found}

    def query(self, text: str, database: str) -> Rows:
        with self.connected(database) as connection:
            return sorted(tuple(shown(value) for value in row) for row in connection.execute(text).fetchall())

    def rows(self, relation: str, database: str) -> Rows | None:
        """All rows of a relation; `None` where it is not there."""
        return self.query(f"FROM {relation}", database) if relation in self.relations(database) else None

    # --- commands -----------------------------------------------------------------------------------------------------

    def command(self, step: Step) -> Said:
        """Give the command of a step, in this process unless it is to be killed."""
        words = shlex.split(self.filled(step.run or ""))
        if not step.text:
            words.append("--json")
        with self.others(step):
            said = self.killed(words, step) if (step.fault or "").endswith(":kill") else self.given(words, step)
        if step.keep is not None:
            self.plans[step.keep] = plan_id(said)
        return said

    def given(self, words: list[str], step: Step) -> Said:
        out, err = io.StringIO(), io.StringIO()
        armed: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if step.fault:
            armed = arming(step.fault)
        elif step.interrupt:
            armed = interrupting(step.interrupt)
        with (
            contextlib.chdir(self.root / step.directory),
            environment(step.env),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            armed,
        ):
            code = main(words, clock=lambda: moment(self.clock))
        return said(code, out.getvalue(), err.getvalue())

    def killed(self, words: list[str], step: Step) -> Said:
        if words[0] in TAKES_AS_OF and "--as-of" not in words:
            words = [*words, "--as-of", self.clock]
        env = {**os.environ, **step.env, "INTERLOCK_FAULT": step.fault or "", "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-m", "interlock.engine", *words],
            cwd=self.root / step.directory,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Said(exit=done.returncode, out=done.stdout, err=done.stderr, envelope={})

    @contextlib.contextmanager
    def others(self, step: Step) -> Iterator[None]:
        """Other processes that have the database open, or hold the lock, while the command runs."""
        wanted = [(HOLD_DATABASE, step.held_by), (HOLD_LOCK, step.locked_by)]
        with contextlib.ExitStack() as stack:
            for program, path in wanted:
                if path is None:
                    continue
                process = stack.enter_context(
                    subprocess.Popen(
                        [sys.executable, "-c", program, str(self.root / path)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                )
                assert process.stdout is not None
                assert process.stdout.readline() == "held\n"
            yield


def said(code: int, out: str, err: str) -> Said:
    """An answer, with its envelope where there is one."""
    envelope = msgspec.json.decode(out) if out.lstrip().startswith("{") else {}
    if envelope:
        assert envelope["exit"] == code, "the envelope's exit code is not the process's"
    return Said(exit=code, out=out, err=err, envelope=envelope)


def plan_id(answer: Said) -> str:
    """The id of the plan that a command made."""
    found = answer.result.get("plan")
    assert isinstance(found, str), f"no plan in {answer.out}"
    return found


def arming(fault: str) -> contextlib.AbstractContextManager[list[str]]:
    """A fault of a step, armed in this process."""
    name, nth, how = faults.parse(fault)
    return faults.armed(name, nth=nth, how=how)


class Interrupter:
    """A fault device that gives Ctrl-C to the handler that is installed, in the thread and at the very place of a point."""

    def __init__(self, name: str, nth: int) -> None:
        self._name = name
        self._left = nth
        self._lock = threading.Lock()
        self.given = False

    def visit(self, name: str) -> None:
        """Called at each point."""
        with self._lock:
            self._left -= name == self._name
            if self._left or self.given:
                return
            self.given = True
        handler = signal.getsignal(signal.SIGINT)
        assert callable(handler)
        assert handler is not signal.default_int_handler, "nobody listens for Ctrl-C here"
        handler(signal.SIGINT, None)


@contextlib.contextmanager
def interrupting(place: str) -> Iterator[None]:
    """Ctrl-C at a point, once."""
    name, nth = place.split(":")
    device = Interrupter(name, int(nth))
    faults._device = device  # type: ignore[assignment]
    try:
        yield
    finally:
        faults.disarm()
    assert device.given, f"{place} was not come to"


@contextlib.contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """These environment variables, for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def shown(value: object) -> str:
    """A cell as text, the same for a value from DuckDB and one from a scenario file."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(value)
    return str(value)


def written(rows: tuple[tuple[Cell, ...], ...]) -> Rows:
    """Rows of a scenario file, as `Stage.rows` gives them."""
    return sorted(tuple(shown(value) for value in row) for row in rows)
