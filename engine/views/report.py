"""A run as one HTML page: it works offline and from a mail attachment, asks nobody for anything, and every text in it is escaped.

What is always there (summary, refusals, drawing, timeline, list) is written out; a model's details are data that the page's own
script shows, as text and never as markup. A content security policy allows that script and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from interlock.engine.audit.report import Report, ReportModel
from interlock.engine.diagrams.drawing import Drawing, Node, NodeLook, models_drawing
from interlock.engine.diagrams.svg import STYLE, body_of, laid_out
from interlock.engine.views.look import counted, duration, printable
from interlock.engine.views.text_state import moment_words

DRAWN_OPEN_MAX = 150
"""Models up to which the drawing is shown at once; a larger one is opened by a click."""
REFUSALS_OPEN_MAX = 12
"""Refusals that are shown at once; those beyond are opened by a click."""
BARS_MAX = 400
"""Models of the timeline that are shown; the longest ones."""

_LOOKS: Final[dict[str, NodeLook]] = {"checkpointed": "good", "refused": "refused", "no_op": "idle", "planned": "faint", "outside": "faint"}


def page(report: Report) -> str:
    """The whole page."""
    style, script = _file("report.css"), _file("report.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = msgspec.json.encode({"models": report.models}).decode().replace("<", "\\u003c").replace("&", "\\u0026")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>Interlock run {_text(report.run)}</title>",
            f"<style>{style}{STYLE}</style></head>",
            "<body><main>",
            *_summary(report),
            *_refusals(report.models),
            *_dag(report),
            *_timeline(report),
            *_list(report.models),
            "</main>",
            '<aside id="panel" aria-labelledby="panel-title" hidden></aside>',
            f'<script type="application/json" id="data">{data}</script>',
            f"<script>{script}</script>",
            "</body></html>",
            "",
        ]
    )


def _file(name: str) -> str:
    return (files("interlock.engine.views") / name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(printable(text))


def _summary(report: Report) -> Iterable[str]:
    states = [model.state for model in report.models]
    tiles = [("models", len(states))]
    tiles += [
        (state.replace("_", "-"), states.count(state)) for state in ("checkpointed", "refused", "no_op", "planned") if state in states
    ]
    tiles += [(state, states.count(state)) for state in ("verified", "bootstrapping", "committed") if state in states]
    where = ", ".join(
        part for part in (f"project {report.project}" if report.project else "", f"target {report.target}" if report.target else "") if part
    )
    yield f'<h1>Run {_text(report.run)}: <span class="{_text(report.outcome)}">{_text(report.outcome)}</span></h1>'
    yield f'<p class="dim">{_text(where)}. Started {_text(moment_words(report.started))}, took {duration(report.milliseconds)}, by {_text(report.actor)} '
    yield f'with Interlock {_text(report.version)}. Plan <span class="mono">{_text(report.plan[:12])}</span>.</p>'
    yield '<ul class="tiles">' + "".join(f'<li><b class="{_text(name)}">{count}</b>{_text(name)}</li>' for name, count in tiles) + "</ul>"
    for finding in report.findings:
        yield f'<p><b class="refused">{_text(finding.code)}</b> {_text(finding.summary)}: {_text(finding.because)}</p>'
    yield from (f'<p class="dim">{_text(said)}</p>' for said in report.said)
    yield '<noscript><p class="nojs">Without scripts, this page shows the run; a model\'s details need them.</p></noscript>'


def _refusals(models: Sequence[ReportModel]) -> Iterable[str]:
    refused = [model for model in models if model.state == "refused"]
    first = [model for model in refused if model.withheld == "no"]
    if not refused:
        return
    yield f"<h2>Refused: {counted(len(refused), 'model')}</h2>"
    for model in first[:REFUSALS_OPEN_MAX]:
        yield from _refusal(model)
    if len(first) > REFUSALS_OPEN_MAX:
        yield f"<details><summary>{len(first) - REFUSALS_OPEN_MAX} more that were refused</summary>"
        for model in first[REFUSALS_OPEN_MAX:]:
            yield from _refusal(model)
        yield "</details>"
    withheld = [model for model in refused if model.withheld == "yes"]
    if withheld:
        links = ", ".join(f'<button data-name="{escape(model.name)}">{_text(model.name)}</button>' for model in withheld[:200])
        more = f" and {len(withheld) - 200} more" if len(withheld) > 200 else ""
        yield f"<p>Withheld, because something that they read was refused: {links}{more}</p>"


def _refusal(model: ReportModel) -> Iterable[str]:
    yield f'<div class="refusal"><button class="name" data-name="{escape(model.name)}">{_text(model.name)}</button>'
    yield f"<p>[{_text(model.code)}] {_text(model.because)}</p>"
    yield from (f'<p class="dim">would have had to be true: {_text(need)}</p>' for need in model.needed)
    yield f"<p><b>remedy:</b> {_text(model.remedy)}</p></div>"


def _dag(report: Report) -> Iterable[str]:
    drawing = _drawn(report)
    at = laid_out(drawing)
    width, height = at.width + 40, at.height + 40
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="interlock" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">',
        *body_of(drawing, at, links=True),
        "</svg>",
    ]
    opened = " open" if len(drawing.nodes) <= DRAWN_OPEN_MAX else ""
    yield "<h2>Models</h2>"
    yield f"<details{opened}><summary>drawing: an arrow leads from what is read to what reads it</summary>"
    yield '<div class="scroll dag">'
    yield from svg
    yield "</div></details>"


def _drawn(report: Report) -> Drawing:
    known = {model.name: model for model in report.models}
    outside = sorted({read for model in report.models for read in model.reads if read not in known})
    nodes = [Node(id=name, label=printable(name), note="not in this run", look="faint") for name in outside]
    for model in report.models:
        note = f"[{model.code}]" if model.code else model.action or model.kind
        nodes.append(Node(id=model.name, label=printable(model.name), note=note, look=_LOOKS.get(model.state, "open")))
    reads = [(read, model.name) for model in report.models for read in _nearest(model, known)]
    return models_drawing(report.run, nodes, reads)


def _nearest(model: ReportModel, known: dict[str, ReportModel]) -> list[str]:
    """What it reads, without what it reads only through something else that it reads: the arrows that are needed to see the way."""
    through = {far for read in model.reads if read in known for far in known[read].reads}
    return [read for read in model.reads if read not in through and read != model.name]


def _timeline(report: Report) -> Iterable[str]:
    timed = [model for model in report.models if model.begun is not None and model.ended is not None]
    if not timed:
        return
    longest = sorted(timed, key=lambda model: (model.begun or 0) - (model.ended or 0))[:BARS_MAX]
    shown = sorted(longest, key=lambda model: (model.begun or 0, model.name))
    total = max(1, *(model.ended or 0 for model in timed))
    more = f", the {len(shown)} that took longest" if len(shown) < len(timed) else ""
    yield f"<h2>Timeline{more}</h2>"
    yield f'<div class="scroll bars" role="img" aria-label="what ran in parallel, over {duration(total)}">'
    for model in shown:
        begun, ended = model.begun or 0, model.ended or 0
        left, width = 100 * begun / total, 100 * (ended - begun) / total
        said = f"{model.name}: {duration(ended - begun)}, from {duration(begun)}"
        yield f'<div class="bar" title="{_text(said)}"><span class="who">{_text(model.name)}</span>'
        yield f'<span class="track {_text(model.state)}"><i style="left:{left:.2f}%;width:{width:.2f}%"></i></span></div>'
    yield "</div>"


def _list(models: Sequence[ReportModel]) -> Iterable[str]:
    states = sorted({model.state for model in models})
    options = "".join(f'<option value="{_text(state)}">{_text(state)}</option>' for state in states)
    yield "<h2>All models</h2>"
    yield '<div class="controls"><input type="search" id="search" placeholder="search by name (press /)" aria-label="search models by name">'
    yield f'<select id="state" aria-label="only models in this state"><option value="">every state</option>{options}</select>'
    yield '<span id="count" class="dim" aria-live="polite"></span></div>'
    yield '<div class="scroll"><table id="models"><thead><tr><th>model</th><th>state</th><th class="wide">action</th><th class="wide">rows</th><th>why</th></tr></thead><tbody>'
    for model in models:
        why = f"[{model.code}] {model.because}" if model.code else model.because
        yield f'<tr data-model="{escape(model.name)}" data-state="{_text(model.state)}"><td><button data-name="{escape(model.name)}">{_text(model.name)}</button></td>'
        yield f'<td class="{_text(model.state)}">{_text(model.state)}</td><td class="wide">{_text(model.action)}</td><td class="wide">{_text(model.rows)}</td>'
        yield f'<td class="why">{_text(why)}</td></tr>'
    yield "</tbody></table></div>"
