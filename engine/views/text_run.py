"""What a run did: each model's way through its states, rows and time; no-ops folded; refusals with what helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.engine.results import ModelResult, RunResult
from interlock.engine.views.look import Ink, Look, counted, duration, listed, number, one_line, pad, printable, short, width_of
from interlock.engine.views.parts import authority_lines, by_reason, headed, refusal, verdict_line
from interlock.engine.views.text_plan import action_word

ARROW: Final = " → "
ENDED: Final = frozenset({"checkpointed", "refused", "no_op"})
_WITHHELD: Final = "upstream"


def run_text(result: RunResult, look: Look) -> list[str]:
    """A run as lines."""
    lines = headed(result, look)
    lines += [] if result.settled else authority_lines(result.authority, look)
    lines += [f"settled first: run {one_line(run)}, which had not ended" for run in result.settled]
    lines += [printable(said) for said in result.said]
    if result.run is not None:
        lines.append(f"run {result.run}" + (f", plan {short(result.plan)}" if result.plan else ""))
    done = [model for model in result.models if model.state != "no_op"]
    lines += _layers(done, look)
    lines += _idle(result.models, look)
    lines += _warnings(done, look)
    lines += _refused(done, look)
    lines += _in_doubt(done, look)
    return [*lines, "", _closing(result, look)]


def _layers(models: Sequence[ModelResult], look: Look) -> list[str]:
    if not models:
        return []
    rows = {id(model): (one_line(model.model), action_word(model.action), rows_words(model), _time(model)) for model in models}
    widths = [max(width_of(row[index]) for row in rows.values()) for index in range(4)]
    lines: list[str] = []
    for layer in sorted({model.layer for model in models}):
        lines += ["", look.ink(f"layer {layer}", "bold")]
        for model in models:
            if model.layer == layer:
                cells = rows[id(model)]
                aligned = [
                    pad(cell, width, right=index == 3) for index, (cell, width) in enumerate(zip(cells, widths, strict=True)) if width
                ]
                lines.append(f"  {'  '.join([*aligned, path_words(model, look)])}")
    return lines


def path_words(model: ModelResult, look: Look) -> str:
    """The states that a model went through; where it ended is coloured."""
    if not model.path:
        return model.state
    *before, last = model.path
    inks: dict[str, Ink] = {"checkpointed": "green", "refused": "red"}
    end = look.ink(last, inks.get(last, "yellow"))
    code = f" [{model.code}]" if model.code and last == "refused" else ""
    doubt = look.ink(" (in doubt)", "yellow") if last not in ENDED else ""
    return ARROW.join([*before, end]) + code + doubt


def rows_words(model: ModelResult) -> str:
    """Rows written, deleted, held, and how many stand there now; and before, where that was another kind of model."""
    if model.state != "checkpointed":
        return ""
    parts = []
    if model.rows_written is not None and (model.rows_written or model.rows_after is not None):
        parts.append(f"{number(model.rows_written)} written")
    if model.rows_deleted:
        parts.append(f"{number(model.rows_deleted)} deleted")
    if model.rows_held:
        parts.append(f"{number(model.rows_held)} held")
    if model.rows_late:
        parts.append(f"{number(model.rows_late)} late, not loaded")
    if model.rows_stale:
        parts.append(f"{number(model.rows_stale)} stale")
    if model.rows_after is not None:
        parts.append(f"{counted(model.rows_after, 'row')} now")
    if model.rows_before is not None:
        parts.append(f"{number(model.rows_before)} before")
    return ", ".join(parts)


def _time(model: ModelResult) -> str:
    return "" if model.milliseconds is None else duration(model.milliseconds)


def _idle(models: Sequence[ModelResult], look: Look) -> list[str]:
    idle = [(model.model, model.reason) for model in models if model.state == "no_op"]
    return ["", f"nothing to do for {counted(len(idle), 'model')}", *by_reason(idle, look.width)] if idle else []


def _warnings(models: Sequence[ModelResult], look: Look) -> list[str]:
    warned = [
        (model.model, verdict)
        for model in models
        if model.state == "checkpointed"
        for verdict in model.verdicts
        if verdict.outcome != "passed"
    ]
    if not warned:
        return []
    lines = ["", look.ink(f"warnings: {counted(len(warned), 'check')}", "yellow", "bold")]
    return lines + [f"  {one_line(name)}: {verdict_line(verdict)}" for name, verdict in warned]


def _refused(models: Sequence[ModelResult], look: Look) -> list[str]:
    refused = [model for model in models if model.state == "refused"]
    if not refused:
        return []
    lines = ["", look.ink(f"refused: {counted(len(refused), 'model')}", "red", "bold")]
    withheld: dict[tuple[str, str, str], list[str]] = {}
    for model in refused:
        if model.cause == _WITHHELD:
            withheld.setdefault((model.code, model.because, model.remedy), []).append(model.model)
            continue
        lines += refusal(look, code=model.code, summary=model.model, because=model.because, remedy=model.remedy, detail=model.detail)
        lines += [f"    check {verdict_line(verdict)}" for verdict in model.verdicts if verdict.outcome != "passed"]
    for (code, because, remedy), names in withheld.items():
        lines += refusal(look, code=code, summary=listed(names, most=20), because=because, remedy=remedy)
    return lines


def _in_doubt(models: Sequence[ModelResult], look: Look) -> list[str]:
    open_models = [model.model for model in models if model.state not in ENDED]
    if not open_models:
        return []
    return [
        "",
        look.ink(f"in doubt: {listed(open_models)}", "yellow", "bold"),
        "  it is not known whether a write of them exists; nothing was guessed",
        f"  {look.ink('remedy:', 'green')}  "
        + look.act("`interlock resume` looks it up, settles it and does the rest; so does the next `interlock run`, with a new plan"),
    ]


_WORDS: Final[dict[str, str]] = {
    "succeeded": "succeeded",
    "partial": "partial",
    "refused": "refused",
    "in_doubt": "in doubt",
    "interrupted": "interrupted",
    "nothing": "nothing to do",
}


def _closing(result: RunResult, look: Look) -> str:
    states = [model.state for model in result.models]
    ink: Ink = "green" if result.exit_code == 0 else "red"
    word = look.ink(_WORDS.get(result.outcome, result.outcome), ink, "bold")
    if result.outcome == "refused" and not states:
        return f"{word} before it began: no model was touched, in {duration(result.milliseconds)}"
    done = states.count("checkpointed")
    if result.outcome == "partial" and not done:
        # "partial" would say that a part was done.
        word = look.ink("nothing was built", ink, "bold")
    parts = [f"{done} checkpointed"] if done or not states.count("refused") else []
    if states.count("refused"):
        parts.append(f"{states.count('refused')} refused")
    doubt = sum(state not in ENDED for state in states)
    if doubt:
        parts.append(f"{doubt} in doubt")
    if states.count("no_op"):
        parts.append(counted(states.count("no_op"), "no-op"))
    written = sum(model.rows_written or 0 for model in result.models if model.state == "checkpointed")
    if done or not states.count("refused"):
        parts.append(f"{counted(written, 'row')} written")
    return f"{word}: {', '.join(parts)}, in {duration(result.milliseconds)}"
