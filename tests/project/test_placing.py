"""A finding that names a key of a file is told with the line where that key stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.project.placing import placed

TEXT = """\
materialized = "table"

[contract.columns.amount]
type = "DECIMAL(12,2)"

[contract.columns."odd name"]
type = "BIGINT"

[[checks]]
unique = ["id"]

[[checks]]
not_null = ["id"]

[sources."crm.orders"]
columns = { id = "BIGINT", at = { type = "DATE" } }
"""

STANDS = {
    "contract.columns.amount.type": (4, "type"),
    "contract.columns.amount.nullable": (3, "amount"),
    "contract.columns.odd name.type": (7, "type"),
    'contract.columns."odd name".type': (7, "type"),
    "checks[1].not_null": (13, "not_null"),
    "checks[1].where": (12, "checks"),
    "checks[0]": (9, "checks"),
    "sources.crm.orders.columns.id": (16, "id"),
    'sources."crm.orders".columns.at.type': (16, "type"),
    'sources."crm.orders".freshness': (15, '"crm.orders"'),
    "checks.by_its_name": (None, ""),
    "nothing.of.it": (None, ""),
    "": (None, ""),
}


@pytest.mark.parametrize("key", STANDS)
def test_a_key_is_told_with_its_line(key: str, tmp_path: Path) -> None:
    lines = TEXT.splitlines()
    (tmp_path / "models").mkdir()
    (tmp_path / "models/a.toml").write_text(TEXT, encoding="utf-8")
    finding = Diagnostic(
        code="C303", summary="x", at=Position(path="models/a.toml", key=key), also=(Position(path="models/a.toml", key=key),)
    )
    (found,) = placed([finding], tmp_path)
    assert found.at is not None
    assert found.also == (found.at,)
    assert found.at.key == key
    line, word = STANDS[key]
    assert found.at.line == line
    if line is not None:
        assert found.at.excerpt == lines[found.at.line - 1]
        start = found.at.column - 1
        assert found.at.excerpt[start : start + found.at.length] == word


def test_what_has_a_line_or_no_file_stays_as_it_is(tmp_path: Path) -> None:
    kept = (
        Diagnostic(code="S103", summary="x", at=Position(path="models/a.toml", line=3, key="contract")),
        Diagnostic(code="S103", summary="x", at=Position(path="models/gone.toml", key="contract")),
        Diagnostic(code="S103", summary="x", at=Position(path="models/a.sql", key="contract")),
        Diagnostic(code="S103", summary="x"),
    )
    assert placed(kept, tmp_path) == kept
