"""The test device: what is armed fires once, at its visit, and nothing fires otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from interlock.engine import faults
from interlock.engine.faults import FaultRaised, armed, parse, point, recorded


def test_a_point_is_nothing_when_nothing_is_armed() -> None:
    point("anything")


def test_an_armed_point_fires_at_its_visit_and_only_then() -> None:
    with armed("a", nth=2) as visits:
        point("a")
        point("b")
        with pytest.raises(FaultRaised, match="a, visit 2"):
            point("a")
        point("a")
    assert visits == ["a", "b", "a", "a"]
    point("a")


def test_it_raises_what_it_was_given() -> None:
    with armed("a", error=OSError(28, "full")), pytest.raises(OSError, match="full"):
        point("a")


def test_a_recorder_lists_visits_and_stops_nothing() -> None:
    with recorded() as visits:
        point("a")
        point("b")
    point("c")
    assert visits == ["a", "b"]


def test_visits_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        faults.arm("a", nth=0)


@pytest.mark.parametrize("text", ["a", "a:1", "a:0:kill", "a:x:raise", ":1:kill", "a:1:explode", "a:1:kill:now"])
def test_a_typo_in_the_environment_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="INTERLOCK_FAULT"):
        parse(text)


@pytest.mark.parametrize(("how", "code"), [("kill", -9), ("raise", 1)])
def test_a_process_is_stopped_through_its_environment(how: str, code: int) -> None:
    script = "from interlock.engine.faults import point\npoint('a'); print('once', flush=True); point('a'); print('twice')"
    env = {**os.environ, "INTERLOCK_FAULT": f"a:2:{how}", "PYTHONPATH": os.pathsep.join([".src", *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "once\n")
