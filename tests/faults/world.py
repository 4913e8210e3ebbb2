"""One small project that holds every materialization and strategy, and what of a database must be equal after any crash."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from interlock.engine import faults
from interlock.engine.cli import main
from interlock.engine.clock import moment
from interlock.engine.ledger.reader import LedgerWhole, entries, read
from interlock.machines.evidence import CommitEvidence, CompactEvidence

PROJECT = "5eedf00d00000001"
CLOCK = "2024-06-01T00:00:00Z"

EVENTS = """[sources.events]
path = "landing/*.csv"
fingerprint = "content"
[sources.events.columns]
id = "BIGINT"
ts = "TIMESTAMP"
amount = "BIGINT"
"""
INCREMENTAL = 'materialized = "incremental"\nwatermark = "ts"\n'
FILES = {
    "interlock.toml": f'[project]\nid = "{PROJECT}"\nname = "world"\n\n[targets.dev]\ntype = "duckdb"\npath = "world.duckdb"\n'
    'create = true\nthreads = 1\non_change = "rebuild"\n',
    "sources.toml": EVENTS,
    "seeds/kinds.csv": "id,kind\n1,a\n2,b\n3,c\n",
    "models/v_events.sql": "SELECT events.id, ts, amount, kind FROM events LEFT JOIN kinds ON kinds.id = events.id",
    "models/v_events.toml": 'materialized = "view"\n',
    "models/t_days.sql": "SELECT ts::DATE AS day, sum(amount)::BIGINT AS amount FROM v_events GROUP BY ALL",
    "models/t_days.toml": 'materialized = "table"\n[[checks]]\nunique = ["day"]\n[[checks]]\nsql = "SELECT * FROM t_days WHERE amount > 10"\n'
    'severity = "warn"\n',
    "models/i_append.sql": "SELECT id, ts, amount FROM events",
    "models/i_append.toml": INCREMENTAL + 'strategy = "append"\n',
    "models/i_merge.sql": "SELECT id, max(ts) AS ts, sum(amount)::BIGINT AS amount FROM i_append GROUP BY ALL",
    "models/i_merge.toml": INCREMENTAL + 'strategy = "merge"\nunique_key = ["id"]\nlookback = "30 days"\n',
    "models/i_partition.sql": "SELECT id, ts, amount FROM i_append",
    "models/i_partition.toml": INCREMENTAL + 'strategy = "partition"\npartition = "day"\nlookback = "1 day"\n',
    "models/s_merge.sql": "SELECT id, amount, ts FROM i_merge",
    "models/s_merge.toml": 'materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "updated_at"\nupdated_at = "ts"\n',
    "landing/a.csv": "id,ts,amount\n1,2024-01-01 01:00:00,1\n2,2024-01-01 02:00:00,2\n3,2024-01-02 00:00:00,30\n",
}
LATER = {
    "landing/b.csv": "id,ts,amount\n5,2024-01-02 00:00:00,4\n1,2024-01-02 05:00:00,5\n4,2024-01-04 00:00:00,6\n",
    "seeds/kinds.csv": "id,kind\n1,a\n2,b\n3,c\n4,d\n",
}

_HEX = re.compile(r"[0-9a-f]{64}")
_OF_THE_ATTEMPT = ("anchor", "plan", "previous", "head", "generation", "token", "statements")


class Answer(msgspec.Struct, frozen=True):
    """What a command came to in this process."""

    exit: int
    out: str

    @property
    def brief(self) -> str:
        """What helps when it was not what was expected."""
        found = msgspec.json.decode(self.out) if self.out.startswith("{") else {}
        said = [f"{each['code']} {each['summary']} {each.get('because', '')}" for each in found.get("findings", ())]
        models = (found.get("result") or {}).get("models", ())
        said += [f"{each['model']} {each['state']} {each['code']} {each['because']}" for each in models if each.get("code")]
        return f"exit {self.exit}: {said or self.out[:500]}"

    @property
    def codes(self) -> set[str]:
        found = msgspec.json.decode(self.out)
        return {finding["code"] for finding in found["findings"] if finding.get("severity", "error") == "error"}


def lay(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def command(root: Path, *words: str) -> Answer:
    """Give a command in this process."""
    out = io.StringIO()
    with contextlib.chdir(root), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*words, "--json"], clock=lambda: moment(CLOCK))
    return Answer(code, out.getvalue())


def templates(root: Path) -> dict[str, Path]:
    """Where each kind of run begins: `first` with nothing, `later` after a run and with news in every source."""
    first, later = root / "first", root / "later"
    lay(first, FILES)
    lay(later, FILES)
    answer = command(later, "run")
    assert answer.exit == 0, answer.brief
    lay(later, LATER)
    return {"first": first, "later": later}


def visits(template: Path, at: Path, *words: str) -> list[str]:
    """Every visit of every point of a command that nothing disturbs, as `name:nth`."""
    shutil.copytree(template, at)
    with faults.recorded() as seen:
        answer = command(at, *words)
    assert answer.exit == 0, answer.brief
    return counted(seen)


def counted(seen: Iterable[str]) -> list[str]:
    """Visits of points, as `name:nth`."""
    counts: dict[str, int] = {}
    found = []
    for name in seen:
        counts[name] = counts.get(name, 0) + 1
        found.append(f"{name}:{counts[name]}")
    return found


def state(root: Path) -> dict[str, Any]:
    """What must be equal to that of an undisturbed run: rows, watermarks, receipts but for run, anchor, ids and times."""
    with contextlib.chdir(root), duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("ATTACH 'world.duckdb' AS warehouse (READ_ONLY)")
        names = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'warehouse' AND table_schema <> 'interlock'"
        ).fetchall()
        rows = {
            f"{schema}.{name}": sorted(map(repr, connection.execute(f'FROM "warehouse"."{schema}"."{name}"').fetchall()))
            for schema, name in sorted(names)
        }
        bodies = connection.execute(
            "SELECT r.model, r.body FROM warehouse.interlock.receipts r LEFT JOIN warehouse.interlock.receipts p ON p.receipt = r.previous"
        ).fetchall()
        heads = connection.execute(
            "SELECT model, receipt IS NULL, token IS NULL, generation IS NULL FROM warehouse.interlock.heads"
        ).fetchall()
        whole = connection.execute(
            "SELECT count(*) FROM warehouse.interlock.heads h LEFT JOIN warehouse.interlock.receipts r USING (receipt)"
            " WHERE h.receipt IS NOT NULL AND r.receipt IS NULL"
        ).fetchall()
    assert whole == [(0,)], "a head names a receipt that is not there"
    receipts = sorted(f"{model} {_plain(body)}" for model, body in bodies)
    return {"rows": rows, "receipts": receipts, "heads": sorted(heads)}


def _plain(body: str | bytes) -> str:
    fields = msgspec.json.decode(body)
    for name in _OF_THE_ATTEMPT:
        fields[name] = None if fields[name] is None else "·"
    fields["reads"] = [{**read, "receipt": "·", "generation": "·"} for read in fields["reads"]]
    return msgspec.json.encode(fields, order="sorted").decode()


def _anchors_let_go(root: Path) -> set[str]:
    """Of attempts whose receipts a person let go: all from before the act, but for the last one of each model."""
    gone: set[str] = set()
    newest: dict[str, str] = {}
    earlier: set[str] = set()
    for numbered in entries(root / "world.duckdb.interlock" / PROJECT):
        entry = numbered.entry
        if isinstance(entry.evidence, CommitEvidence) and entry.target == "committed":
            earlier |= {newest.get(entry.subject.partition("#")[0], "")}
            newest[entry.subject.partition("#")[0]] = entry.evidence.anchor
        elif isinstance(entry.evidence, CompactEvidence):
            gone |= earlier
    return gone


def demand_sound(root: Path) -> None:
    """The ledger reads whole, every record follows, no run is open, and it says of every head what the warehouse says."""
    found = read(root / "world.duckdb.interlock" / PROJECT)
    assert isinstance(found, LedgerWhole), found
    assert not found.torn
    assert not found.fold.open
    assert not found.fold.contradictions
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{root / 'world.duckdb'}' AS warehouse (READ_ONLY)")
        heads = dict(connection.execute("SELECT model, receipt FROM warehouse.interlock.heads").fetchall())
        seals = connection.execute("SELECT run, serial FROM warehouse.interlock.seals ORDER BY serial").fetchall()
        anchors = [
            anchor
            for (anchor,) in connection.execute(
                "SELECT json_extract_string(body, '$.anchor') FROM warehouse.interlock.receipts WHERE project = ?", [PROJECT]
            ).fetchall()
        ]
    assert {name: known.head.receipt for name, known in found.fold.models.items() if known.head.receipt} == {
        name: receipt for name, receipt in heads.items() if receipt
    }
    closed = [run for run, known in found.fold.runs.items() if known.state == "closed"]
    sealed = [run for run, _ in seals]
    # A person who took the warehouse's word may have left runs behind that the ledger does not know any more, or seals.
    assert sealed == closed or found.fold.accepted is not None
    assert found.fold.seal is None or sealed[-1] == found.fold.seal.run
    serials = [serial for _, serial in seals]
    assert serials == sorted(set(serials))
    assert len(anchors) == len(set(anchors)), "an attempt left two receipts"
    attempts = [attempt for run in found.fold.runs.values() for attempt in run.attempts.values() if attempt.anchor is not None]
    nothing = {attempt.anchor for attempt in attempts if attempt.state == "refused" and attempt.receipt is None}
    assert not nothing & set(anchors), "a refusal says that nothing was written, and its receipt is there"
    if found.fold.accepted is None:
        seen = {attempt.anchor for attempt in attempts if attempt.state == "checkpointed"}
        let_go = _anchors_let_go(root)
        assert set(anchors) - let_go == seen - let_go, "a checkpoint without its receipt, or a receipt without its checkpoint"
