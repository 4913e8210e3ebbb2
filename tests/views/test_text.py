"""What people read is unchanged: each view beside its golden text. `INTERLOCK_WRITE_GOLDEN=1` writes them anew, to be read in the diff."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from tests.views import samples

from interlock.engine.views.diagnostics import diagnostics
from interlock.engine.views.look import PLAIN, Look
from interlock.engine.views.text import text_of

GOLDEN = Path(__file__).parent / "golden"
RESULTS = samples.every_result()
COLOURED = Look(colour="yes")


def golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("INTERLOCK_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), name


def test_findings_are_shown_with_their_line_and_carets() -> None:
    golden("findings", "\n".join(diagnostics(samples.findings(), PLAIN)) + "\n")


@pytest.mark.parametrize("name", RESULTS)
def test_each_result_reads_as_its_golden_text(name: str) -> None:
    golden(name, "\n".join(text_of(RESULTS[name], PLAIN)) + "\n")


@pytest.mark.parametrize("name", RESULTS)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    coloured = "\n".join(text_of(RESULTS[name], COLOURED))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == "\n".join(text_of(RESULTS[name], PLAIN))


@pytest.mark.parametrize("name", RESULTS)
def test_no_data_can_move_the_cursor(name: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", "\n".join(text_of(RESULTS[name], PLAIN)))


@pytest.mark.parametrize("name", [name for name, result in RESULTS.items() if result.project])
def test_the_first_line_names_project_target_and_path(name: str) -> None:
    first = text_of(RESULTS[name], PLAIN)[0]
    assert first.removeprefix("-- ") == "project shop, target dev, shop.duckdb"


def test_goldens_are_of_results_that_exist() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*RESULTS, "findings"}


def test_a_run_of_which_nothing_was_done_is_not_called_partial() -> None:
    run = samples.run_result()
    refused = tuple(model for model in run.models if model.state in {"refused", "no_op"})
    last = text_of(msgspec.structs.replace(run, models=refused), PLAIN)[-1]
    assert last == "nothing was built: 4 refused, 3 no-ops, in 1 min 5 s"
