"""`compile --watch`: again after each change, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interlock.engine.cli.watching import State, state_of, watch


def test_it_compiles_at_once_and_after_each_change_until_it_is_stopped() -> None:
    states: Iterator[State] = iter([{"a": (1, 1)}, {"a": (1, 1)}, {"a": (2, 1)}, {"a": (2, 1)}, {"a": (2, 1), "b": (1, 1)}])
    seen: list[State] = []
    now: State = {}

    def look() -> State:
        nonlocal now
        try:
            now = next(states)
        except StopIteration:
            raise KeyboardInterrupt from None
        return now

    def once() -> int:
        seen.append(now)
        return len(seen)

    assert watch(once, look, wait=lambda: None) == 3
    assert seen == [{"a": (1, 1)}, {"a": (2, 1)}, {"a": (2, 1), "b": (1, 1)}]


def test_it_looks_at_the_files_of_the_project_and_at_no_other(tmp_path: Path) -> None:
    for path in ("interlock.toml", "sources.toml", "models/a/b.sql", "seeds/x.csv", "macros/m.sql", "notes.txt", "dev.duckdb"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    found = {Path(path).relative_to(tmp_path).as_posix() for path in state_of(tmp_path)}
    assert found == {"interlock.toml", "sources.toml", "models/a/b.sql", "seeds/x.csv", "macros/m.sql"}
    before = state_of(tmp_path)
    (tmp_path / "models/a/b.sql").write_text("xy")
    assert state_of(tmp_path) != before
