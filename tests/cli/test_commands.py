"""What each command asks of its use case, and where its words go."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.views import samples

from interlock.engine.cli import main
from interlock.engine.cli.arguments import spread, terms
from interlock.engine.clock import system_clock
from interlock.engine.diagnostics import Diagnostic

Run = Callable[..., Any]


def test_options_reach_the_use_case(api: Any, interlock_: Run) -> None:
    api.answer = samples.good_run
    ran = interlock_(
        *("run", "--select", "a", "+b", "tag:x,path:models", "-s", "c d", "--exclude", "e"),
        *("--full-refresh", "a", "--full-refresh", "b", "--allow-shrink", "a", "--on-change", "a=rebuild", "--on-change", "b=continue"),
        *("--force", "c", "--drop-orphans", "--as-of", "2025-01-31T00:00:00Z", "--from", "2025-01-01", "--to", "2025-02-01"),
        *("--verify-content", "--threads", "3", "--fail-fast", "--unreviewed", "--project", "shop", "--target", "dev"),
        *("--vars", "region=EU", "--vars", "sql=a = b", "--wait", "1.5"),
    )
    assert ran.exit == 0
    name, _, named = api.called
    del named["progress"]
    assert name == "run"
    assert named == {
        "select": ("a", "+b", "tag:x,path:models", "c", "d"),
        "exclude": ("e",),
        "full_refresh": ("a", "b"),
        "allow_shrink": ("a",),
        "on_change": {"a": "rebuild", "b": "continue"},
        "force": ("c",),
        "drop_orphans": True,
        "as_of": "2025-01-31T00:00:00Z",
        "low": "2025-01-01",
        "high": "2025-02-01",
        "verify_content": True,
        "threads": 3,
        "fail_fast": True,
        "unreviewed": True,
    }
    assert api.calls[0] == (
        "open_context",
        (Path("shop"),),
        {"target": "dev", "variables": {"region": "EU", "sql": "a = b"}, "clock": system_clock, "wait_seconds": 1.5, "keep": True},
    )


def test_plan_saves_unless_it_is_told_not_to(api: Any, interlock_: Run) -> None:
    api.answer = samples.plan_result
    interlock_("plan")
    assert api.called[2]["save"] is True
    interlock_("plan", "--no-save")
    assert api.called[2]["save"] is False


def test_apply_takes_the_plan_and_how_to_carry_it_out(api: Any, interlock_: Run) -> None:
    api.answer = samples.good_run
    interlock_("apply", samples.PLAN, "--threads", "2", "--fail-fast")
    name, arguments, named = api.called
    assert (name, arguments[1], named["threads"], named["fail_fast"]) == ("apply", samples.PLAN, 2, True)


def test_the_clock_of_the_caller_is_used(api: Any) -> None:
    api.answer = samples.status_result

    def clock() -> Any:
        raise AssertionError("only passed on")

    assert main(["status"], clock=clock) == 0
    assert api.opened["clock"] is clock


def test_results_go_to_stdout_and_findings_and_progress_to_stderr(api: Any, interlock_: Run) -> None:
    finding = Diagnostic(code="L218", severity="warning", summary="volatile function")

    def answer() -> Any:
        api.called[2]["progress"].planned(2, 0)
        return msgspec.structs.replace(samples.good_run(), findings=(finding,))

    api.answer = answer
    ran = interlock_("run")
    assert "warning[L218]: volatile function" in ran.err
    assert "running 2 models" in ran.err
    assert "L218" not in ran.out
    assert ran.out.startswith("project shop, target dev, shop.duckdb\n")
    programs = interlock_("run", "--json")
    assert programs.err == ""
    assert json.loads(programs.out)["findings"][0]["code"] == "L218"


@pytest.mark.parametrize("format_", [[], ["--json"]])
def test_secrets_reach_no_output(format_: list[str], api: Any, interlock_: Run) -> None:
    secret = 'hun"ter\\2\n'
    leaky = Diagnostic(code="W605", summary=f"cannot open with {secret}", because=secret)
    api.secret = secret
    api.answer = lambda: msgspec.structs.replace(samples.good_run(), location=f"db?{secret}", findings=(leaky,))
    ran = interlock_("run", *format_)
    assert "hun" not in ran.out + ran.err
    assert "***" in ran.out


def asked(api: Any, monkeypatch: pytest.MonkeyPatch, said: str, *, terminal: bool) -> list[bool]:
    class Input(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setattr(sys, "stdin", Input(said))
    answers: list[bool] = []

    def answer() -> Any:
        answers.append(api.called[2]["confirm"](("drops main.a (5 rows)",)))
        return samples.others()["act" if answers[-1] else "act_declined"]

    api.answer = answer
    return answers


@pytest.mark.parametrize(("said", "expected"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)])
def test_an_act_shows_what_it_does_and_asks(said: str, expected: bool, api: Any, interlock_: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = asked(api, monkeypatch, said, terminal=True)
    ran = interlock_("reset", "--target", "dev")
    assert answers == [expected]
    assert ran.err.startswith("drops main.a (5 rows)\ndo it? [y/N] ")
    assert "main.a" not in ran.out


def test_without_a_terminal_only_yes_is_a_yes(api: Any, interlock_: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = asked(api, monkeypatch, "y\n", terminal=False)
    ran = interlock_("adopt", "a")
    assert ran.err.startswith("drops main.a (5 rows)\n")
    assert "error[S123]: adopt" in ran.err + ran.out
    assert "--yes" in ran.err + ran.out
    ran = interlock_("ledger", "accept-warehouse", "--yes", "--reason", "restored a backup")
    assert answers == [False, True]
    assert ran.err == ""
    assert "drops main.a (5 rows)" in ran.out
    assert api.called[2]["reason"] == "restored a backup"
    told = json.loads(interlock_("adopt", "a", "--json").out)
    assert [finding["code"] for finding in told["findings"]] == ["S123"]


def test_each_other_command_calls_its_use_case(api: Any, interlock_: Run) -> None:
    others = samples.others()
    for line, name, answer, arguments in [
        (["init", "d", "--sample", "shop"], "init", others["init"], (Path("d"),)),
        (["compile", "-s", "a"], "compile_", others["compile"], None),
        (["check", "-s", "a"], "check", others["check"], None),
        (["ls", "--exclude", "a"], "ls", others["ls"], None),
        (["show", "a", "--limit", "5"], "show", others["show_rows"], None),
        (["diff", "p"], "diff", others["diff"], None),
        (["audit", "compare", "a"], "compare", others["compare"], None),
        (["explain", "P412"], "explain", others["explain"], ("P412",)),
        (["import", "dbt", "d", "--out", "n", "--strict"], "import_dbt", others["import_dbt"], (Path("d"), Path("n"))),
    ]:
        api.answer = lambda answer=answer: answer
        interlock_(*line)
        assert api.called[0] == name
        assert arguments is None or api.called[1] == arguments


def test_values_behind_a_list_option_belong_to_it() -> None:
    assert spread(["run", "--select", "a", "b", "--threads", "2", "-s", "c"]) == [
        *("run", "--select", "a", "--select", "b", "--threads", "2", "-s", "c"),
    ]
    assert spread(["show", "m", "--select", "a", "b"]) == ["show", "m", "--select", "a", "b"]
    assert spread(["run", "--select", "a", "--", "b"]) == ["run", "--select", "a", "--", "b"]
    assert spread([]) == []


@given(st.lists(st.text("ab+: ", min_size=1).filter(str.strip), max_size=4))
def test_terms_are_words(values: list[str]) -> None:
    assert terms(values) == tuple(" ".join(values).split())


def test_resume_takes_a_run_and_nothing_that_could_widen_or_narrow_its_plan(api: Any, interlock_: Run) -> None:
    api.answer = samples.good_run
    assert interlock_("resume", "20240101T0000", "--threads", "2", "--fail-fast", "--wait", "3").exit == 0
    name, arguments, named = api.called
    assert (name, arguments[1], named["threads"], named["fail_fast"]) == ("resume", "20240101T0000", 2, True)
    assert interlock_("resume").exit == 0
    assert api.called[1][1] is None
    for option in ("--select", "--exclude", "--full-refresh", "--force", "--as-of", "--vars"):
        assert interlock_("resume", option, "a").exit == 2


def test_attach_takes_its_directory_and_archive_its_reason(api: Any, interlock_: Run) -> None:
    api.answer = lambda: samples.every_result()["act"]
    interlock_("ledger", "attach", "old.duckdb.interlock", "--yes", "--reason", "moved")
    name, arguments, named = api.called
    assert (name, arguments[1], named["reason"]) == ("attach", Path("old.duckdb.interlock"), "moved")
    interlock_("ledger", "archive", "--yes", "--reason", "month")
    assert (api.called[0], api.called[2]["reason"]) == ("archive", "month")
    interlock_("receipts", "compact", "--yes", "--reason", "a year of runs")
    assert (api.called[0], api.called[2]["reason"]) == ("compact_receipts", "a year of runs")


def test_what_init_says_next_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "a b/$x"]) == 0
    assert "  cd 'a b/$x'\n" in capsys.readouterr().out
