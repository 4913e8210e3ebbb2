"""One door from a result to the lines that a person reads."""

from __future__ import annotations

from typing import TypeAlias, assert_never

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
from interlock.engine.results_audit import BundleResult, DrawnResult, LogResult, ReplayResult, ReportResult, StoryResult, VerifyResult
from interlock.engine.results_import import ImportResult
from interlock.engine.views.look import Look
from interlock.engine.views.text_audit import bundle_text, drawn_text, log_text, replay_text, report_text, story_text, verify_text
from interlock.engine.views.text_import import import_text
from interlock.engine.views.text_other import act_text, compare_text, compile_text, doctor_text, explain_text, init_text, show_text
from interlock.engine.views.text_plan import diff_text, plan_text
from interlock.engine.views.text_run import run_text
from interlock.engine.views.text_state import check_text, list_text, status_text

AnyResult: TypeAlias = (
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
    | LogResult
    | StoryResult
    | ReplayResult
    | VerifyResult
    | BundleResult
    | DrawnResult
    | ReportResult
    | ImportResult
)


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
        case LogResult():
            return log_text(result, look)
        case StoryResult():
            return story_text(result, look)
        case ReplayResult():
            return replay_text(result, look)
        case VerifyResult():
            return verify_text(result, look)
        case BundleResult():
            return bundle_text(result, look)
        case DrawnResult():
            return drawn_text(result)
        case ReportResult():
            return report_text(result, look)
        case ImportResult():
            return import_text(result, look)
        case _ as unreachable:
            assert_never(unreachable)
