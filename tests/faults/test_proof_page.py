"""What `specs/proof.md` names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.faults.mutations import MUTATIONS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "specs" / "proof.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|specs)/[^`\s]+)`", PAGE)))


@pytest.mark.parametrize("name", NAMED)
def test_what_the_page_names_is_there(name: str) -> None:
    path, _, test = name.partition("::")
    assert (ROOT / path).is_file()
    assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8") or not test


def test_the_page_names_histories() -> None:
    assert sum("::" in name for name in NAMED) > 15


@pytest.mark.parametrize("page", ["README.md", "specs/proof.md"])
def test_as_many_mutations_are_told_as_there_are(page: str) -> None:
    told = re.findall(r"\| (\d+) \| `PYTHONPATH=\.src:\. python -m tests\.faults\.mutations`", (ROOT / page).read_text(encoding="utf-8"))
    assert told == [str(len(MUTATIONS))]
