"""Any history of a source, followed by a snapshot by `updated_at`, against the same rules written down in Python."""

import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.engine.api import open_context, run
from interlock.engine.diagnostics import Refused

TOML = """[project]
id = "00000000000000000001"
name = "small"
default_target = "dev"

[targets.dev]
type = "duckdb"
path = "small.duckdb"
schema = "main"
create = true
"""
SNAPSHOT = """materialized = "snapshot"
unique_key = ["id"]
updated_at = "ts"
hard_deletes = "{hard_deletes}"
"""
FIRST = datetime(2024, 1, 1)
SKEW = 1
"""Days after the plan's, of a time without a zone."""

Rows = Mapping[int, tuple[str, int]]
"""By key: a value, and the day of its change."""


class Version(NamedTuple):
    """A row of the snapshot; times in days."""

    key: int
    value: str
    own: int
    begin: int
    end: int | None


class Expected(NamedTuple):
    """What a run comes to."""

    versions: list[Version]
    held: int
    late: int


def follow(versions: list[Version], source: Rows, today: int, *, closes: bool) -> Expected | None:
    """The next state of the snapshot, or nothing where the run is to be refused."""
    is_open = {version.key: version for version in versions if version.end is None}
    held = {key for key, (_, own) in source.items() if own >= today + SKEW}
    late = 0
    after = [version for version in versions if version.end is not None]
    ends = {version.key: version.end for version in sorted(after, key=lambda each: each.end or 0)}
    for key, version in is_open.items():
        if key not in source:
            after.append(version._replace(end=max(today, version.begin)) if closes else version)
            continue
        value, own = source[key]
        if own == version.own and value != version.value:
            return None
        late += own < version.own and value != version.value
        if own > version.own and key not in held:
            ends[key] = max(own, version.begin)
            after += [version._replace(end=ends[key]), Version(key, value, own, ends[key], None)]
        else:
            after.append(version)
    for key, (value, own) in source.items():
        if key not in is_open and key not in held:
            after.append(Version(key, value, own, max(own, ends.get(key, own)), None))
    waiting = [key for key in held if key not in is_open or is_open[key].own != source[key][1]]
    return Expected(after, len(waiting), late)


def day(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def found(database: Path) -> tuple[list[Version], int, int]:
    with duckdb.connect(str(database), read_only=True) as connection:
        rows = connection.execute("SELECT id, name, ts, valid_from, valid_to FROM main.snap").fetchall()
        said = connection.execute("SELECT rows_held, rows_late FROM interlock.history JOIN interlock.heads USING (receipt)").fetchall()
    versions = [Version(key, value, *(None if at is None else (at - FIRST).days for at in times)) for key, value, *times in rows]
    return versions, said[0][0], said[0][1] or 0


SOURCES = st.dictionaries(st.integers(1, 3), st.tuples(st.sampled_from("ab"), st.integers(0, 8)), max_size=3)


@settings(max_examples=10)
@given(steps=st.lists(st.tuples(SOURCES, st.integers(0, 6)), min_size=2, max_size=6), closes=st.booleans())
def test_a_snapshot_is_what_its_rules_say(steps: list[tuple[Rows, int]], closes: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "models").mkdir()
        (root / "interlock.toml").write_text(TOML)
        (root / "sources.toml").write_text('[sources."raw.c"]\n')
        (root / "models" / "snap.sql").write_text("SELECT id, name, ts FROM raw.c")
        (root / "models" / "snap.toml").write_text(SNAPSHOT.format(hard_deletes="close" if closes else "keep"))
        database = root / "small.duckdb"
        versions: list[Version] = []
        for source, today in steps:
            with duckdb.connect(str(database)) as connection:
                connection.execute("CREATE SCHEMA IF NOT EXISTS raw")
                connection.execute("CREATE OR REPLACE TABLE raw.c (id BIGINT, name VARCHAR, ts TIMESTAMP)")
                for key, (value, own) in source.items():
                    connection.execute("INSERT INTO raw.c VALUES (?, ?, ?)", [key, value, day(own)])
            expected = follow(versions, source, today, closes=closes)
            now = day(today).replace(tzinfo=UTC)
            try:
                result = run(open_context(root, environment={}, clock=lambda now=now: now))
                codes = {model.code for model in result.models if model.code}
            except Refused as error:
                codes = {finding.code for finding in error.findings}
            if expected is None:
                assert codes == {"G538"}
                assert sorted(found(database)[0], key=repr) == sorted(versions, key=repr)
                continue
            assert not codes
            versions = expected.versions
            there, held, late = found(database)
            assert sorted(there, key=repr) == sorted(versions, key=repr)
            assert (held, late) == (expected.held, expected.late)
