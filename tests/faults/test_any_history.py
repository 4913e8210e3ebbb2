"""Any history: a rule-based machine against a model of a few lines that says what must be in the tables.

A usual run plays a few hundred steps, always the same. For as long as one likes, each time others:
`INTERLOCK_HISTORIES=1000 PYTHONPATH=.src:. python -m pytest tests/faults/test_any_history.py -q`; a failure prints its steps.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.faults import world
from tests.faults.sweep import Server

HISTORIES = int(os.environ.get("INTERLOCK_HISTORIES", "12"))
STEPS = 16
FILES = {
    "interlock.toml": world.FILES["interlock.toml"],
    "sources.toml": world.EVENTS,
    "models/a.sql": "SELECT id, ts FROM events",
    "models/a.toml": world.INCREMENTAL + 'strategy = "append"\n',
    "models/n.sql": "SELECT count(*) AS n FROM a",
    "models/n.toml": 'materialized = "table"\n',
    "models/t.sql": "SELECT id, 0 AS version FROM events",
    "models/t.toml": 'materialized = "table"\n',
}
BESIDE = "world.duckdb.interlock"


class World(msgspec.Struct, frozen=True):
    """One of the states in which the tables may be."""

    loaded: frozenset[int] | None
    """Ids in `a`; `None` where it is not built."""
    high: int | None = None
    """The greatest time in `a`."""


class Histories(RuleBasedStateMachine):
    """Everything that people, disks and crashes do to a project."""

    server: ClassVar[Server]
    points: ClassVar[list[str]]
    """Every visit of every point of a first run and of a later one."""

    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="interlock-history-")
        self.root = Path(self.directory.name) / "shop"
        world.lay(self.root, FILES)
        self.numbers = itertools.count(1)
        self.rows: dict[int, int | None] = {}
        self.version = 0
        self.possible = {World(None)}
        self.built = False
        self.dropped = False
        """`a` was dropped, or its columns were changed: only making it anew is left."""
        self.edited = False
        """Rows of `a` were taken out by hand: it is not extended any more."""
        self.kept: tuple[set[World], bool, bool] | None = None
        self.deliver(3, "new")

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.directory.cleanup()

    # --- what happens to the sources and the project -----------------------------------------------------------------

    @rule(count=st.integers(1, 3), when=st.sampled_from(["new", "tie", "late"]))
    def deliver(self, count: int, when: str) -> None:
        top = max((ts for ts in self.rows.values() if ts is not None), default=10)
        for _ in range(count):
            self.rows[next(self.numbers)] = {"new": top + 1, "tie": top, "late": max(1, top - 3)}[when]
        self._write()

    @rule()
    def deliver_a_null(self) -> None:
        self.rows[next(self.numbers)] = None
        self._write()

    @precondition(lambda self: None in self.rows.values())
    @rule()
    def mend_the_nulls(self) -> None:
        self.rows = {number: ts for number, ts in self.rows.items() if ts is not None}
        self._write()

    @rule()
    def edit_a_model(self) -> None:
        self.version += 1
        world.lay(self.root, {"models/t.sql": f"SELECT id, {self.version} AS version FROM events"})

    def _write(self) -> None:
        lines = [f"{number},{'' if ts is None else f'2024-01-01 00:{ts // 60:02}:{ts % 60:02}'}," for number, ts in self.rows.items()]
        world.lay(self.root, {"landing/a.csv": "\n".join(["id,ts,amount", *lines, ""])})

    # --- what is done by hand ----------------------------------------------------------------------------------------

    @precondition(lambda self: self.built and not self._is_open() and not self.dropped)
    @rule(name=st.sampled_from(["a", "t"]))
    def drop_by_hand(self, name: str) -> None:
        with self._database() as connection:
            connection.execute(f"DROP TABLE IF EXISTS main.{name}")
        if name == "a":
            self.dropped = True

    @precondition(lambda self: self.built and not self._is_open() and not self.dropped and not self.edited)
    @rule(what=st.sampled_from(["columns of t", "columns of a", "rows of a"]), choice=st.integers(0, 99))
    def change_by_hand(self, what: str, choice: int) -> None:
        tables = self._tables()
        if tables["t"] is None or not tables["a"]:
            return
        (here,) = self.possible
        with self._database() as connection:
            if what == "rows of a":
                gone = tables["a"][choice % len(tables["a"])]
                connection.execute("DELETE FROM main.a WHERE id = ?", [gone])
                self.edited = True
                self.possible = {World((here.loaded or frozenset()) - {gone}, here.high)}
            else:
                connection.execute(f"ALTER TABLE main.{what[-1]} ADD COLUMN by_hand INTEGER")
                self.dropped = what == "columns of a"

    @precondition(lambda self: self.built and not self.dropped)
    @rule()
    def rebuild(self) -> None:
        self._anew()

    @precondition(lambda self: self.dropped)
    @rule()
    def make_it_anew(self) -> None:
        self._demand(self._give("run"), {3, 4})
        self._anew()

    def _anew(self) -> None:
        answer = self._give("run", "--full-refresh", "a", "--allow-shrink", "a")
        if self._demand(answer, {0, 3}) == 0:
            assert None not in self.rows.values()
            self.dropped = self.edited = False
            self.possible = {self._full()}
            self._demand_tables()
        else:
            # What a run before it left open may have been settled first.
            self.possible |= {self._after(each) for each in self.possible}

    # --- what happens to files ---------------------------------------------------------------------------------------

    @precondition(lambda self: (self.root / BESIDE).exists())
    @rule()
    def lose_the_ledger(self) -> None:
        identified = self._has_identity()
        shutil.rmtree(self.root / BESIDE)
        if identified:
            before = self._tables()
            for command in ("run", "resume", "plan"):
                assert self._give(command).codes == {"K701"}
            assert self._tables() == before
            self._accept()

    @precondition(lambda self: self._segment().exists())
    @rule(lines=st.integers(1, 4), rest=st.integers(0, 30))
    def cut_the_ledger(self, lines: int, rest: int) -> None:
        content = self._segment().read_bytes().splitlines(keepends=True)
        if len(content) > lines:
            self._segment().write_bytes(b"".join(content[:-lines]) + content[-lines][:rest])
            self._settle_with_a_person()

    @precondition(lambda self: self._segment().exists())
    @rule(where=st.floats(0, 0.999), bit=st.integers(0, 7))
    def flip_a_bit_of_the_ledger_and_bring_it_back(self, where: float, bit: int) -> None:
        good = self._segment().read_bytes()
        bad = bytearray(good)
        bad[int(where * len(bad))] ^= 1 << bit
        self._segment().write_bytes(bytes(bad))
        before = self._tables()
        # The last line's end is what tells a record from a torn one.
        if int(where * len(bad)) < len(bad) - 1:
            assert self._give("run").codes <= {"K707", "K708"}
            assert self._tables() == before
        self._segment().write_bytes(good)

    @precondition(lambda self: self.built)
    @rule()
    def back_up(self) -> None:
        self._take_the_log_in()
        shutil.rmtree(self.root.parent / "kept", ignore_errors=True)
        shutil.copytree(self.root, self.root.parent / "kept")
        self.kept = (set(self.possible), self.dropped, self.edited)

    @precondition(lambda self: self.kept is not None)
    @rule(what=st.sampled_from(["both", "database", "ledger"]))
    def restore(self, what: str) -> None:
        kept = self.root.parent / "kept"
        assert self.kept is not None
        if what != "ledger":
            for suffix in ("", ".wal"):
                (self.root / f"world.duckdb{suffix}").unlink(missing_ok=True)
            shutil.copyfile(kept / "world.duckdb", self.root / "world.duckdb")
            self.possible, self.dropped, self.edited = set(self.kept[0]), self.kept[1], self.kept[2]
        if what != "database":
            shutil.rmtree(self.root / BESIDE, ignore_errors=True)
            shutil.copytree(kept / BESIDE, self.root / BESIDE)
        if what != "both":
            self._settle_with_a_person()

    # --- commands ----------------------------------------------------------------------------------------------------

    @rule(where=st.floats(0, 0.999), command=st.sampled_from(["run", "run", "resume"]))
    def be_killed(self, where: float, command: str) -> None:
        point = self.points[int(where * len(self.points))]
        note(f"at {point}")
        code = self.server.give(self.root, command, fault=f"{point}:kill")
        note(f"killed: {code}")
        assert code in {-9, 0, 3, 4}
        # What it committed, if anything, shows at the next look.
        self.possible |= {self._after(each) for each in self.possible}
        self.built = self.built or self._has_identity()

    @rule()
    def run(self) -> None:
        answer = self._give("run")
        if self._demand(answer, {0, 3, 4}) == 0:
            assert None not in self.rows.values()
            assert not self.dropped
            self.possible = {self._after(each) for each in self.possible}
            self.built = True
            self._demand_tables()
        elif answer.exit == 3:
            assert self.dropped or self.edited or None in self.rows.values(), answer.brief
            self.possible |= {self._after(each) for each in self.possible}
            self.built = True
        else:
            raise AssertionError(answer.brief)

    @rule()
    def resume(self) -> None:
        answer = self._give("resume")
        code = self._demand(answer, {0, 3})
        self.possible |= {self._after(each) for each in self.possible}
        if code == 0:
            world.demand_sound(self.root)

    @rule()
    def plan(self) -> None:
        before = self._tables()
        self._demand(self._give("plan"), {0, 3})
        assert self._tables() == before

    # --- the model ---------------------------------------------------------------------------------------------------

    def _full(self) -> World:
        times = {number: ts for number, ts in self.rows.items() if ts is not None}
        return World(frozenset(times), max(times.values(), default=None))

    def _after(self, before: World) -> World:
        """What a run makes of a state: everything at first, and then what is not below the greatest time."""
        if None in self.rows.values() or self.edited:
            return before
        if before.loaded is None or before.high is None:
            return self._full()
        high = before.high
        # At the greatest time itself, what was written must still be produced; here it always is.
        news = {number for number, ts in self.rows.items() if ts is not None and ts >= high}
        loaded = before.loaded | news
        return World(loaded, max([high, *(ts for number, ts in self.rows.items() if ts is not None and number in news)]))

    def _demand_tables(self) -> None:
        world.demand_sound(self.root)
        tables = self._tables()
        found = tables["a"]
        assert found is not None
        assert len(found) == len(set(found)), "a row was written twice"
        fitting = {each for each in self.possible if each.loaded == frozenset(found)}
        assert fitting, (sorted(found), self.possible)
        self.possible = fitting
        assert self.edited or tables["n"] == [len(found)]
        assert sorted(tables["t"] or ()) == sorted(self.rows)

    # --- hands -------------------------------------------------------------------------------------------------------

    def _give(self, *words: str) -> world.Answer:
        answer = world.command(self.root, *words)
        note(f"{' '.join(words)}: {answer.brief}")
        return answer

    def _demand(self, answer: world.Answer, codes: set[int]) -> int:
        assert answer.exit in codes, answer.brief
        return answer.exit

    def _accept(self) -> None:
        self._demand(self._give("ledger", "accept-warehouse", "--yes", "--reason", "a history"), {0})
        # What an attempt left that nobody has a record of any more counts as it stands.
        self.possible |= {self._after(each) for each in self.possible}

    def _settle_with_a_person(self) -> None:
        """Where ledger and warehouse disagree now, nothing is written before a person has decided."""
        before = self._tables()
        answer = self._give("plan")
        if answer.exit == 4:
            assert self._tables() == before
            self._accept()
            self._demand(self._give("plan"), {0, 3})

    def _segment(self) -> Path:
        return self.root / BESIDE / world.PROJECT / "ledger" / "000001.jsonl"

    def _database(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect(str(self.root / "world.duckdb"))

    def _take_the_log_in(self) -> None:
        self._database().close()

    def _tables(self) -> dict[str, list[Any] | None]:
        found: dict[str, list[Any] | None] = dict.fromkeys("ant")
        path = self.root / "world.duckdb"
        if not path.exists() or not path.stat().st_size:
            return found
        with self._database() as connection:
            for name in found:
                with contextlib.suppress(duckdb.CatalogException):
                    found[name] = sorted(row[0] for row in connection.execute(f"FROM main.{name}").fetchall())
        return found

    def _has_identity(self) -> bool:
        path = self.root / "world.duckdb"
        if not path.exists() or not path.stat().st_size:
            return False
        with self._database() as connection, contextlib.suppress(duckdb.CatalogException):
            return bool(connection.execute("SELECT count(*) FROM interlock.identity").fetchall()[0][0])
        return False

    def _is_open(self) -> bool:
        return len(self.possible) > 1


def every_visit(at: Path) -> list[str]:
    """Where a run can be killed: what a first and a later one come by."""
    template = at / "template"
    world.lay(template, FILES | {"landing/a.csv": "id,ts,amount\n1,2024-01-01 00:00:10,\n"})
    first = world.visits(template, at / "first", "run")
    world.lay(at / "first", {"landing/a.csv": "id,ts,amount\n1,2024-01-01 00:00:10,\n2,2024-01-01 00:00:11,\n"})
    return sorted({*first, *world.visits(at / "first", at / "later", "run")})


@pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")  # the compiler raises it, for texts that are deep
def test_any_history_keeps_every_row_once_and_every_doubt_refused(tmp_path: Path) -> None:
    Histories.server = Server()
    Histories.points = every_visit(tmp_path)
    try:
        run_state_machine_as_test(
            Histories,
            settings=settings(
                max_examples=HISTORIES,
                stateful_step_count=STEPS,
                deadline=None,
                derandomize="INTERLOCK_HISTORIES" not in os.environ,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
                database=None,
                print_blob=True,
            ),
        )
    finally:
        Histories.server.close()
