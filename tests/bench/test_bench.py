"""The bench itself: everything that it measures can be run. No time is asserted."""

import sys
from importlib.util import cache_from_source
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bench


def test_every_command_of_the_bench_succeeds_at_a_hundred_models(tmp_path: Path) -> None:
    result = bench.bench(tmp_path, [100], rounds=1, threads=4, with_peers=False, say=lambda _: None, records=2000)
    rows = result["rows"]
    assert isinstance(rows, list)
    assert [row["what"] for row in rows if row["failed"]] == []
    assert {"floor, 1 thread", "compile, cold", "full run, 4 threads", "no-op run", "run, new rows"} <= {row["what"] for row in rows}
    for source in (bench.HERE.parents[1] / "engine").rglob("*.py"):
        assert Path(cache_from_source(str(source))).exists(), f"{source} was read as text by each process that was measured"
    (inside,) = result["inside"]
    assert inside["models"] == 100, "the machines were stepped through every model's run"
