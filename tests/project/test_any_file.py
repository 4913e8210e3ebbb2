"""Whatever the files hold, loading answers with findings that say where and what to do; it never crashes."""

from __future__ import annotations

import json
import tempfile
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.project.files import CONFIG, MODEL, write

from interlock.engine.project.files import DefaultsToml, InterlockToml, ModelToml, SeedToml, SourcesToml
from interlock.engine.project.load import load
from interlock.machines.refusals import CATALOGUE

FILES: dict[str, type[msgspec.Struct]] = {
    "interlock.toml": InterlockToml,
    "sources.toml": SourcesToml,
    "models/m.toml": ModelToml,
    "models/_defaults.toml": DefaultsToml,
    "seeds/s.toml": SeedToml,
}


def keys_of(kind: Any, found: set[str]) -> set[str]:
    """Every key that can stand anywhere in a file, so that random tables look like real ones."""
    for part in msgspec.json.schema_components([kind])[1].values():
        found |= set(part.get("properties", {}))
        found |= {option for each in part.get("properties", {}).values() for option in each.get("enum", [])}
    return found


WORDS = sorted({"id", "raw.orders", "ID", "m", "1 day", "day", "none", "${X}", "${", "é", "", " ", "BIGINT", "interlock"})


def written(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(written(each) for each in value)}]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)} = {written(each)}" for key, each in value.items()) + "}"
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value).lower().replace("infinity", "inf")


def trees(kind: type[msgspec.Struct]) -> st.SearchStrategy[dict[str, Any]]:
    keys = sorted(keys_of(kind, set()))
    words = st.sampled_from([*keys, *WORDS])
    numbers = st.sampled_from([0, 1, -1, 2**63, Decimal("1.50"), Decimal("inf"), Decimal("nan")])
    times = st.sampled_from([date(2024, 1, 1), datetime(2024, 1, 1), time(10)])
    leaves = words | st.booleans() | numbers | times
    return st.dictionaries(
        words,
        st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=8),
        max_size=5,
    )


@pytest.mark.parametrize("path", sorted(FILES))
def test_any_file_gets_an_answer(path: str) -> None:
    base = {"interlock.toml": CONFIG, "models/m.sql": MODEL, "seeds/s.csv": "id\n1\n"}

    @settings(max_examples=60, deadline=None)
    @given(trees(FILES[path]))
    def holds(tree: dict[str, Any]) -> None:
        text = "\n".join(f"{json.dumps(key, ensure_ascii=False)} = {written(value)}" for key, value in tree.items())
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), {**base, path: text})
            found = load(Path(folder), environment={})
        for finding in found.findings:
            assert finding.code in CATALOGUE
            assert finding.remedy, finding
            assert finding.at is not None
            assert finding.at.path
        json.loads(msgspec.json.encode(found.findings))

    holds()
