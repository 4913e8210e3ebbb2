"""Under a locale that knows ASCII alone, paths and texts are UTF-8 all the same (cases X05 and X07)."""

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONPATH": str(Path(__file__).parents[2] / ".src")}
ENVIRONMENT.pop("PYTHONIOENCODING", None)


def told(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "interlock.engine", *words], cwd=folder, capture_output=True, env=ENVIRONMENT, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_project_in_a_folder_outside_of_ascii_runs(tmp_path: Path) -> None:
    root = tmp_path / "mit ü und 中"
    (root / "models").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "landing" / "é_1.csv").write_text("a\nß\n", encoding="utf-8")
    (root / "interlock.toml").write_text(
        '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "lager ö.duckdb"\ncreate = true\n', encoding="utf-8"
    )
    (root / "sources.toml").write_text('[sources."raw.e"]\npath = "landing/é_*.csv"\n', encoding="utf-8")
    (root / "models" / "m.sql").write_text("select a as \"ä\" from raw.e where a = 'ß'", encoding="utf-8")
    code, out, said = told(root, "run", "--json")
    assert code == 0, said
    assert "lager ö.duckdb" in {path.name for path in root.iterdir()}
    code, out, said = told(root, "show", "m", "--limit", "5")
    assert (code, "ä" in out, "ß" in out) == (0, True, True), said


def test_a_word_outside_of_ascii_arrives(tmp_path: Path) -> None:
    code, _, said = told(tmp_path, "status", "--project", "nirgends é")
    assert code != 1
    assert "nirgends é" in said
