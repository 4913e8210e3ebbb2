"""One door from a result to the lines that a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from interlock.engine.results import (
    ActResult,
    CheckResult,
    CompareResult,
    CompileResult,
    DiffResult,
    DoctorResult,
    ExplainResult,
    InitResult,
    ListResult,
    PlanResult,
    RunResult,
    ShowResult,
    StatusResult,
)
from interlock.engine.views.look import Look
from interlock.engine.views.text_other import act_text, compare_text, compile_text, doctor_text, explain_text, init_text, show_text
from interlock.engine.views.text_plan import diff_text, plan_text
from interlock.engine.views.text_run import run_text
from interlock.engine.views.text_state import check_text, list_text, status_text

EverydayResult: TypeAlias = (
    InitResult
    | CompileResult
    | PlanResult
    | RunResult
    | CheckResult
    | StatusResult
    | ShowResult
    | ListResult
    | DiffResult
    | ActResult
    | CompareResult
    | ExplainResult
    | DoctorResult
)
"""Results of everyday commands."""

if TYPE_CHECKING:
    from interlock.engine.views.text_seldom import SeldomResult

    AnyResult: TypeAlias = EverydayResult | SeldomResult


def text_of(result: AnyResult, look: Look) -> list[str]:
    """The lines for a person."""
    match result:
        case InitResult():
            return init_text(result, look)
        case CompileResult():
            return compile_text(result, look)
        case PlanResult():
            return plan_text(result, look)
        case RunResult():
            return run_text(result, look)
        case CheckResult():
            return check_text(result, look)
        case StatusResult():
            return status_text(result, look)
        case ShowResult():
            return show_text(result, look)
        case ListResult():
            return list_text(result, look)
        case DiffResult():
            return diff_text(result, look)
        case ActResult():
            return act_text(result, look)
        case CompareResult():
            return compare_text(result, look)
        case ExplainResult():
            return explain_text(result, look)
        case DoctorResult():
            return doctor_text(result, look)
        case _:
            from interlock.engine.views.text_seldom import seldom_text_of  # noqa: PLC0415 - what others need not wait for

            return seldom_text_of(result, look)
