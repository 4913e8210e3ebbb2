"""How a command ended, as one number: the only function that knows exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, assert_never

from interlock.engine.diagnostics import Diagnostic, Outcome

OK: Final = 0
BUG: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
UNTRUSTED: Final = 4
INTERRUPTED: Final = 130

Status: TypeAlias = Outcome | Literal["usage"]
"""What `--json` calls it. `failed` is a bug of ours and nothing else; a check that fails is `refused`."""


def exit_of(outcome: Status, *, untrusted: bool = False, interrupted: bool = False) -> int:
    """The exit code of a command. First that applies: 2, 1, 4, 130, 3; else 0.

    Args:
        outcome: how it ended.
        untrusted: ledger or warehouse cannot be trusted (a K7xx refusal).
        interrupted: a person stopped it, whatever it had come to.
    """
    if outcome == "usage":
        return USAGE
    if outcome == "failed":
        return BUG
    if untrusted:
        return UNTRUSTED
    if interrupted or outcome == "interrupted":
        return INTERRUPTED
    match outcome:
        case "refused" | "partial" | "in_doubt":
            return REFUSED
        case "succeeded" | "nothing" | "planned" | "done":
            return OK
        case _ as unreachable:
            assert_never(unreachable)


STANDS_APART: Final = frozenset({"K742", "K743", "K745"})
"""K codes that are no doubt about ledger or warehouse: an open outcome or run waits, a protected target is as it should be."""


def is_untrusted(code: str) -> bool:
    """Whether a code says that ledger or warehouse cannot be trusted."""
    return code.startswith("K7") and code not in STANDS_APART


def exit_of_findings(findings: Iterable[Diagnostic]) -> int:
    """The exit code of a request that was refused with these findings; warnings and notes alone are 0."""
    codes = [finding.code for finding in findings if finding.severity == "error"]
    if not codes:
        return OK
    if any(code.startswith("X9") for code in codes):
        return BUG
    return exit_of("refused", untrusted=any(is_untrusted(code) for code in codes), interrupted="G562" in codes)


def status_of_exit(code: int) -> Status:
    """How a refusal that says only its exit code is called."""
    match code:
        case 0:
            return "done"
        case 1:
            return "failed"
        case 2:
            return "usage"
        case 130:
            return "interrupted"
        case _:
            return "refused"
