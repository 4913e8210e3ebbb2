"""From a result of the audit, of a drawing or of an import to the lines that a person reads."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from interlock.engine.results_audit import BundleResult, DrawnResult, LogResult, ReplayResult, ReportResult, StoryResult, VerifyResult
from interlock.engine.results_import import ImportResult
from interlock.engine.views.look import Look
from interlock.engine.views.text_audit import bundle_text, drawn_text, log_text, replay_text, report_text, story_text, verify_text
from interlock.engine.views.text_import import import_text

SeldomResult: TypeAlias = LogResult | StoryResult | ReplayResult | VerifyResult | BundleResult | DrawnResult | ReportResult | ImportResult


def seldom_text_of(result: SeldomResult, look: Look) -> list[str]:
    """The lines for a person."""
    match result:
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
