"""What is taken of DuckDB's driver: its compiled module where that has all that is used, else the whole package."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from interlock.engine.warehouse.duckdb import driver

ROOMS = Path(__file__).parents[2]
USED = re.compile(r"(?<![\w.`])duckdb\.([A-Za-z_]+)")
RELATED = """
import sys
from interlock.engine.warehouse.duckdb import signature
signature.ASK = "no_such_name"
from interlock.engine.warehouse.duckdb.driver import duckdb
connection = duckdb.connect()
assert "duckdb" not in sys.modules
print(*signature.signature(connection, "SELECT 1 AS one"))
"""


def test_all_that_is_used_of_the_driver_is_asked_for() -> None:
    texts = [path.read_text() for path in (ROOMS / "engine" / "warehouse" / "duckdb").glob("*.py")]
    code = "\n".join(line for text in texts for line in text.splitlines() if not line.lstrip().startswith(("from ", "import ")))
    used = {name for name in USED.findall(code) if name != "DuckDBPyRelation"}
    assert used == set(driver.NEEDED)


def test_nobody_else_imports_it() -> None:
    found = {
        path.name for path in (ROOMS / "engine").rglob("*.py") if re.search(r"^\s*(import|from) _?duckdb\b", path.read_text(), re.MULTILINE)
    }
    assert found == {"driver.py"}


def test_what_is_taken_is_what_the_package_has() -> None:
    compiled = importlib.import_module("_duckdb")
    assert driver.chosen(compiled) is compiled
    for name in set(driver.NEEDED) - {"__version__"}:
        assert getattr(compiled, name) is getattr(duckdb, name), name
    assert duckdb.__version__.startswith(compiled.__version__)


@pytest.mark.parametrize("lacking", driver.NEEDED)
def test_a_release_that_lacks_a_name_gives_the_package(lacking: str) -> None:
    compiled = SimpleNamespace(**{name: object() for name in driver.NEEDED if name != lacking})
    assert driver.chosen(compiled) is duckdb
    assert driver.chosen(None) is duckdb


def test_relations_come_with_the_package_when_they_are_asked() -> None:
    said = subprocess.run(
        [sys.executable, "-c", RELATED], env={"PYTHONPATH": str(ROOMS / ".src")}, capture_output=True, text=True, check=True
    )
    assert said.stdout == "['one'] [INTEGER]\n"
