"""Guards on what a model reads and nobody here made: its sources, asked once in a run before anything reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, assert_never

from interlock.machines.evidence import SourceCheck, SourceVerdict, Verdict, VerifyEvidence
from interlock.machines.guards import REPORT, Answer, Refuses, ask_all, guard, unless
from interlock.machines.guards_model import authority_is_known, contract_is_proved, plan_is_as_sealed

_FRESHEN: Final = 'load it, then plan again; `severity = "warn"` in its freshness records and lets pass'
_DECLARE: Final = (
    "declare a type that holds it (VARCHAR holds any) and cast where it is read, say how it is written (such as `dateformat` "
    "in its options), or have it corrected"
)
_FILL: Final = "have those rows corrected at the source, or take `nullable = false` of the column out of sources.toml"

Question: TypeAlias = Literal["freshness", "not_null", "cells"]

_AGAINST: Final[dict[Question, tuple[str, str]]] = {
    "freshness": ("G504", _FRESHEN),
    "not_null": ("G505", _FILL),
    "cells": ("G507", _DECLARE),
}


@guard("I4", "G504", reads="freshness of each source that is read, as it was asked in this run, against what was pinned")
def sources_are_fresh(evidence: VerifyEvidence) -> Answer:
    """Every source that is read is as fresh as it has to be."""
    return unless(_against(evidence, "freshness"))


@guard("I4", "G505", reads="nulls counted in this run in the columns of sources whose promise of none a proof rests on")
def source_promises_hold(evidence: VerifyEvidence) -> Answer:
    """Every promise of a source that the contract's proof rests on was asked of it in this run, and holds."""
    return unless(_against(evidence, "not_null"))


@guard("I4", "G507", reads="cells of each source of files that their types do not hold, counted in this run")
def source_cells_are_held(evidence: VerifyEvidence) -> Answer:
    """What the files of a source hold is held by the types that they are read with."""
    return unless(_against(evidence, "cells"))


def judge_verify(evidence: VerifyEvidence) -> tuple[Verdict, ...]:
    """Verdicts of `verify`. The guards on sources are asked where the sealed item asks something of a source.

    Records of before a guard hold none of its questions, and are judged as they were.
    """
    verdicts = ask_all((plan_is_as_sealed, contract_is_proved, authority_is_known), evidence)
    if evidence.sources or evidence.said:
        verdicts += ask_all((sources_are_fresh, source_promises_hold), evidence)
    if "cells" in {*(pin.question for pin in evidence.sources), *(verdict.question for verdict in evidence.said)}:
        verdicts += ask_all((source_cells_are_held,), evidence)
    return verdicts


def _against(evidence: VerifyEvidence, question: Question) -> Iterator[Refuses]:
    pins = [pin for pin in evidence.sources if pin.question == question]
    said = [verdict for verdict in evidence.said if verdict.question == question]
    answers = {_key(verdict): verdict for verdict in said}
    times = Counter(_key(verdict) for verdict in said)
    asked = Counter(_key(pin) for pin in pins)
    for pin in pins:
        key = _key(pin)
        verdict = answers.get(key)
        if verdict is None or times[key] != 1 or asked[key] != 1:
            because = f"source `{pin.source}` was asked {_about(pin)} {asked[key]} times, and answered {times[key]} times"
            yield Refuses("G506", because, REPORT)
            continue
        yield from _one(pin, verdict)
    for key in times.keys() - asked.keys():
        yield Refuses("G506", f"source `{key[0]}` answered a question that was not asked of it", REPORT)


def _key(about: SourceCheck | SourceVerdict) -> tuple[str, str, int]:
    return about.source, about.column, -1 if about.limit_seconds is None else about.limit_seconds


def _one(pin: SourceCheck, verdict: SourceVerdict) -> Iterator[Refuses]:
    if verdict.outcome == "passed" and verdict.failing == 0:
        return
    if verdict.outcome == "failed" and verdict.failing:
        if pin.severity == "error":
            code, remedy = _AGAINST[pin.question]
            yield Refuses(code, f"source `{pin.source}`: {verdict.because}", remedy)
        return
    if verdict.outcome == "no_rows" and pin.question == "freshness":
        if pin.no_rows == "refuse":
            remedy = 'load it; where it may be empty, say `no_rows = "warn"` in its freshness'
            yield Refuses("G504", f"source `{pin.source}` has no rows, so nothing says that it is fresh", remedy)
        return
    because = f"source `{pin.source}` could not be asked {_about(pin)}"
    yield Refuses(
        "G506",
        f"{because}: {verdict.because}" if verdict.because else because,
        "make the source answer, then run again; what is not known is no pass",
    )


def _about(pin: SourceCheck) -> str:
    match pin.question:
        case "freshness":
            return f"how fresh `{pin.column}` is"
        case "not_null":
            return f"whether `{pin.column}` has nulls"
        case "cells":
            return "whether its types hold its cells"
        case _ as unreachable:
            assert_never(unreachable)
