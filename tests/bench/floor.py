"""The floor: plain Python that runs the same statements through DuckDB in dependency order, one transaction each.

Run as `floor.py PROJECT DATABASE THREADS first|second`. `second` does what is to do when rows have come: tables are made
again, incremental models merge the rows above their watermark (less the lookback), views stay.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb


def main(project: str, database: str, threads: str, turn: str) -> None:
    """Run every model once."""
    folder = Path(project)
    with (folder / "models.jsonl").open(encoding="utf-8") as lines:
        models = [json.loads(line) for line in lines]
    texts = [(model["name"], model["kind"], (folder / "plain" / f"{model['name']}.sql").read_text(encoding="utf-8")) for model in models]
    connection = duckdb.connect(database, config={"threads": int(threads)})
    for name, kind, text in texts:
        if turn == "first":
            connection.execute(f"create {'view' if kind == 'view' else 'table'} main.{name} as {text}")
        elif kind == "table":
            connection.execute(f"create or replace table main.{name} as {text}")
        elif kind == "incremental":
            connection.execute(
                f"merge into main.{name} as t using (select * from (\n{text}\n) as q "
                f"where q.ts >= (select max(ts) from main.{name}) - interval 3 day) as d on t.id = d.id "
                "when matched then update by name when not matched then insert by name"
            )
    connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
