"""The pages for review say what the classes say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.machines import cases

from interlock.engine.diagrams.drawing import machine_drawing
from interlock.engine.diagrams.formats import mermaid_of
from interlock.engine.diagrams.markdown import MACHINES, invariants, markdown, pages
from interlock.machines.guards import INVARIANTS
from interlock.machines.model_run import ModelRun
from interlock.machines.table import compile_table, guards_of

SPECS = Path(__file__).resolve().parents[2] / "specs"


@pytest.mark.parametrize("path", sorted(pages()))
def test_a_page_is_as_generated(path: str) -> None:
    assert (SPECS / path).read_text(encoding="utf-8") == pages()[path], "run `python -m interlock.engine.diagrams`"


def test_no_page_is_left_over() -> None:
    assert {f"machines/{page.name}" for page in (SPECS / "machines").iterdir()} | {"invariants.md"} == set(pages())


def test_every_machine_has_a_page() -> None:
    assert set(MACHINES) == set(cases.STATES)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_arrow_state_and_guard_is_on_the_page(machine: type) -> None:
    page = markdown(machine)
    table = compile_table(machine)
    assert set(table.meaning) == set(table.states)
    for state in table.states:
        assert table.meaning[state] in page
    for row in table.rows:
        assert f"{row.source} --> {row.target}: " in page
        for each in guards_of(machine, row):
            assert f"| `{each.name}` | {each.invariant} | {each.code} |" in page


def test_every_invariant_is_encoded_by_guards_and_every_guard_encodes_one() -> None:
    page = invariants()
    for invariant, (name, _) in INVARIANTS.items():
        section = page.partition(f"## {invariant}: {name}")[2].partition("\n## ")[0]
        assert section.count("\n| `") >= 3
    for guards in cases.GUARDS.values():
        for guard in guards:
            assert page.count(f"| `{guard}` |") == 1


def test_the_drawing_reads_as_the_table() -> None:
    assert mermaid_of(machine_drawing(compile_table(ModelRun))) == (
        "stateDiagram-v2\n"
        "    direction LR\n"
        "    [*] --> planned\n"
        "    planned --> verified: verify [6]\n"
        "    planned --> refused: verify else, refuse\n"
        "    verified --> bootstrapping: bootstrap [3]\n"
        "    verified --> refused: bootstrap else, refuse\n"
        "    bootstrapping --> committed: commit [8]\n"
        "    bootstrapping --> refused: commit else, refuse [1]\n"
        "    committed --> checkpointed: checkpoint [1]\n"
        "    committed --> refused: checkpoint else\n"
        "    checkpointed --> [*]\n"
        "    refused --> [*]\n"
    )
