"""The catalogue of codes and their pages are one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.engine import api
from interlock.machines.refusals import CATALOGUE

PAGES = Path(__file__).parent.parent / "specs" / "refusals"


def test_each_code_has_a_page_and_each_page_a_code() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(CATALOGUE)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_page_says_what_it_means_shows_it_and_names_an_act(code: str) -> None:
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    means, _, rest = page.partition("\n## Example\n\n```")
    example, _, remedy = rest.partition("\n## Remedy\n\n")
    heading, _, meaning = means.partition("\n\n")
    assert heading == f"# {code}: {CATALOGUE[code]}"
    assert len(meaning) > 40
    assert example.count("```") == 1
    assert len(remedy) > 10


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_codes_that_a_page_refers_to_exist(code: str) -> None:
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\b[SLCPGWKDX]\d{3}\b", page)) <= set(CATALOGUE)


@pytest.mark.parametrize("code", ["P412", "g527", "X901"])
def test_explain_shows_the_page(code: str) -> None:
    assert api.explain(code).page == (PAGES / f"{code.upper()}.md").read_text(encoding="utf-8")
