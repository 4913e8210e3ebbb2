"""Every command, every way to end: the exit code, and the same in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.views import samples
from tests.views.test_envelope import conforms

from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.outcome import exit_of, exit_of_findings
from interlock.engine.views.schema import output_schema

OUTCOMES = {
    "succeeded": 0,
    "partial": 3,
    "refused": 3,
    "in_doubt": 3,
    "interrupted": 130,
    "nothing": 0,
    "planned": 0,
    "done": 0,
    "failed": 1,
}
LINES = {
    "init": ["init", "somewhere"],
    "compile": ["compile"],
    "plan": ["plan"],
    "apply": ["apply", samples.PLAN],
    "run": ["run"],
    "check": ["check"],
    "status": ["status"],
    "show": ["show", "a"],
    "ls": ["ls"],
    "diff": ["diff", samples.PLAN],
    "adopt": ["adopt", "a", "--yes"],
    "reset": ["reset", "--target", "dev", "--yes"],
    "ledger accept-warehouse": ["ledger", "accept-warehouse", "--yes"],
    "audit compare": ["audit", "compare", "a"],
    "explain": ["explain", "P412"],
}
OTHERS = samples.others()
ANSWERS: dict[str, Any] = {
    "init": OTHERS["init"],
    "compile": OTHERS["compile"],
    "plan": samples.plan_result(),
    "apply": samples.doubtful_run(),
    "run": samples.run_result(),
    "check": OTHERS["check"],
    "status": samples.status_result(),
    "show": OTHERS["show"],
    "ls": OTHERS["ls"],
    "diff": OTHERS["diff"],
    "adopt": OTHERS["act_declined"],
    "reset": OTHERS["act"],
    "ledger accept-warehouse": OTHERS["act"],
    "audit compare": OTHERS["compare"],
    "explain": OTHERS["explain"],
}


def test_a_word_of_dbt_is_answered_with_ours_and_never_with_the_nearest_by_letters(interlock_: Callable[..., Any]) -> None:
    ran = interlock_("test")
    assert ran.exit == 2
    assert "interlock check" in ran.err
    assert "reset" not in ran.err


def test_one_function_knows_exit_codes() -> None:
    assert {outcome: exit_of(outcome) for outcome in OUTCOMES} == OUTCOMES  # type: ignore[arg-type]
    assert exit_of("usage", untrusted=True, interrupted=True) == 2
    assert exit_of("failed", untrusted=True, interrupted=True) == 1
    assert exit_of("partial", untrusted=True, interrupted=True) == 4
    assert exit_of("partial", interrupted=True) == 130
    assert exit_of("in_doubt", interrupted=True) == 130


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((), 0),
        (("S103",), 3),
        (("W603",), 3),
        (("K701",), 4),
        (("P412", "K709"), 4),
        (("K742",), 3),
        (("K743",), 3),
        (("G562",), 130),
        (("G562", "K701"), 4),
        (("X901", "K701"), 1),
    ],
)
def test_findings_have_the_exit_code_of_the_gravest(codes: tuple[str, ...], expected: int) -> None:
    assert exit_of_findings(Diagnostic(code=code, summary="") for code in codes) == expected


def test_warnings_alone_are_no_refusal() -> None:
    assert exit_of_findings([Diagnostic(code="L218", severity="warning", summary="")]) == 0


@pytest.mark.parametrize("command", LINES)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_command_ends_as_its_result_says(command: str, outcome: str, api: Any, interlock_: Callable[..., Any]) -> None:
    api.answer = lambda: msgspec.structs.replace(ANSWERS[command], command=command, outcome=outcome, exit_code=OUTCOMES[outcome])
    assert interlock_(*LINES[command]).exit == OUTCOMES[outcome]
    ran = interlock_(*LINES[command], "--json")
    answer = json.loads(ran.out)
    assert (ran.exit, answer["exit"], answer["status"], answer["command"]) == (OUTCOMES[outcome], OUTCOMES[outcome], outcome, command)
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("command", LINES)
@pytest.mark.parametrize(
    ("error", "expected", "status"),
    [
        (Refused(Diagnostic(code="S103", summary="unknown key")), 3, "refused"),
        (Refused(Diagnostic(code="K701", summary="ledger is lost")), 4, "refused"),
        (Refused(Diagnostic(code="P401", summary="no such plan"), exit_code=3), 3, "refused"),
        (Refused(), 3, "refused"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("oh"), 1, "failed"),
        (EOFError("the end of some file"), 1, "failed"),
        (BrokenPipeError(32, "some pipe of the engine"), 1, "failed"),
    ],
)
def test_each_command_answers_when_it_comes_to_no_result(
    command: str, *, error: BaseException, expected: int, status: str, api: Any, interlock_: Callable[..., Any]
) -> None:
    def fail() -> None:
        raise error

    api.answer = fail
    text = interlock_(*LINES[command])
    assert (text.exit, text.out) == (expected, "")
    ran = interlock_(*LINES[command], "--json")
    answer = json.loads(ran.out)
    assert (ran.exit, answer["exit"], answer["status"], answer["command"], answer["result"]) == (expected, expected, status, command, None)


def test_a_bug_keeps_its_traceback_and_asks_for_a_report(api: Any, interlock_: Callable[..., Any]) -> None:
    def fail() -> None:
        raise KeyError("hunter2")

    api.answer, api.secret = fail, "hunter2"
    ran = interlock_("run")
    assert ran.exit == 1
    assert "Traceback (most recent call last)" in ran.err
    assert "error[X901]: a bug of Interlock: KeyError" in ran.err
    assert "report" in ran.err
    assert "hunter2" not in ran.err


@pytest.mark.parametrize(
    "line",
    [
        ["apply"],
        ["plan", "--no-such-option"],
        ["pln"],
        ["show"],
        ["run", "--threads", "0"],
        ["run", "--on-change", "a=perhaps"],
        ["run", "--on-change", "a"],
        ["run", "--vars", "novalue"],
        ["run", "--vars", "a=1", "--vars", "a=2"],
        ["ledger"],
        ["audit", "lgo"],
        ["import"],
        ["explain"],
        ["plan", "extra"],
        ["diagram", "--ledger", "x.zip"],
        ["diagram", "--model", "a"],
        ["diagram", "--diff", "main", "--run", "2026"],
        ["run", "--project", ""],
        ["run", "--project="],
        ["report", "--out", ""],
        ["audit", "log", "--ledger", ""],
        ["audit", "replay", ""],
        ["init", ""],
        ["ledger", "attach", "--yes", ""],
        ["import", "dbt", "", "--out", "x"],
        ["import", "dbt", "x", "--out="],
    ],
)
def test_what_is_not_understood_ends_with_2_and_calls_nothing(line: list[str], api: Any, interlock_: Callable[..., Any]) -> None:
    text = interlock_(*line)
    assert (text.exit, text.out) == (2, "")
    assert "error[S122]" in text.err
    assert "--help" in text.err
    ran = interlock_(*line, "--json")
    answer = json.loads(ran.out)
    assert (ran.exit, answer["exit"], answer["status"], answer["findings"][0]["code"]) == (2, 2, "usage", "S122")
    conforms(answer, output_schema())  # also where the word that stands for a command is none
    assert api.calls == []


@pytest.mark.parametrize("line", [["ledger", "attach", "x", "--reason", "", "--yes"], ["audit", "log", "--model", ""], ["show", ""]])
def test_an_empty_text_that_names_no_place_goes_on_as_it_is(line: list[str], api: Any, interlock_: Callable[..., Any]) -> None:
    interlock_(*line)
    assert len(api.calls) == 2  # the context, and the command's own


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_two_forms_of_one_answer_are_not_chosen_between(form: str, api: Any, interlock_: Callable[..., Any]) -> None:
    for line in (["compile", "--json", "--format", form], ["compile", "--format", form, "--json", "--watch"]):
        ran = interlock_(*line)
        answer = json.loads(ran.out)
        conforms(answer, output_schema())
        assert (ran.exit, answer["status"], answer["findings"][0]["code"]) == (2, "usage", "S122")
    assert api.calls == []


def test_apply_without_a_plan_says_how(interlock_: Callable[..., Any]) -> None:
    assert "`interlock plan` makes one" in interlock_("apply").err
