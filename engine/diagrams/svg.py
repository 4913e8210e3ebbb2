"""Drawings as SVG, laid out here: no Graphviz, no browser. It follows the reader's light or dark, and every text in it is escaped."""

from __future__ import annotations

from html import escape
from typing import Final

from interlock.engine.diagrams.drawing import Drawing, Edge, Node
from interlock.engine.diagrams.layout import Layout, Point, layered

_LETTER: Final = 7.4
"""Width of a letter of 13 px, on the safe side."""
_SMALL: Final = 6.0
_HEIGHT: Final = 34.0
_MARGIN: Final = 20.0

STYLE: Final = """\
svg.interlock { --ink: #1e293b; --line: #64748b; --box: #ffffff; --faint: #cbd5e1; --dim: #94a3b8; --blue: #2563eb; --green: #15803d;
  --greenbox: #dcfce7; --red: #b91c1c; --redbox: #fee2e2; --amber: #b45309; --amberbox: #fef3c7; font: 13px ui-sans-serif, system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg.interlock { --ink: #e2e8f0; --line: #94a3b8; --box: #0f172a; --faint: #334155; --dim: #64748b;
  --blue: #60a5fa; --green: #4ade80; --greenbox: #052e16; --red: #f87171; --redbox: #450a0a; --amber: #fbbf24; --amberbox: #451a03; } }
svg.interlock rect.paper { fill: var(--box); stroke: none; }
svg.interlock text { fill: var(--ink); } svg.interlock .small { font-size: 11px; fill: var(--line); }
svg.interlock rect { fill: var(--box); stroke: var(--line); stroke-width: 1.2; }
svg.interlock path.edge { fill: none; stroke: var(--line); stroke-width: 1.2; }
svg.interlock path.head { fill: var(--line); }
svg.interlock .otherwise path.edge { stroke-dasharray: 5 4; }
svg.interlock .faint path.edge, svg.interlock .faint rect { stroke: var(--faint); } svg.interlock .faint path.head { fill: var(--faint); }
svg.interlock .faint text { fill: var(--dim); }
svg.interlock .taken path.edge { stroke: var(--blue); stroke-width: 2.2; } svg.interlock .taken path.head { fill: var(--blue); }
svg.interlock .refusing path.edge { stroke: var(--red); stroke-width: 2.2; } svg.interlock .refusing path.head { fill: var(--red); }
svg.interlock .visited rect { stroke: var(--blue); stroke-width: 2; }
svg.interlock .good rect { stroke: var(--green); fill: var(--greenbox); stroke-width: 2; }
svg.interlock .refused rect { stroke: var(--red); fill: var(--redbox); stroke-width: 2; }
svg.interlock .open rect { stroke: var(--amber); fill: var(--amberbox); stroke-width: 2; }
svg.interlock rect.final { fill: none; stroke-width: 1; }
svg.interlock .label { paint-order: stroke; stroke: var(--box); stroke-width: 4px; }
"""


def width_of(node: Node) -> float:
    """Of a node's box."""
    return max(len(node.label) * _LETTER, len(node.note) * _SMALL, 40.0) + 24


def laid_out(drawing: Drawing) -> Layout:
    """Where everything stands."""
    longest = max((len(edge.label) for edge in drawing.edges), default=0)
    gap = min(max(60.0, longest * _SMALL * 0.62 + 30), 190.0)
    return layered(
        [node.id for node in drawing.nodes],
        [(edge.source, edge.target) for edge in drawing.edges],
        widths={node.id: width_of(node) for node in drawing.nodes},
        row_height=68.0 if drawing.kind == "machine" else 48.0,
        gap=gap if drawing.kind == "machine" else 56.0,
    )


def svg_of(drawing: Drawing) -> str:
    """A whole SVG document."""
    at = laid_out(drawing)
    said = list(drawing.said)
    words = max((len(line) for line in said), default=0) * _SMALL + 2 * _MARGIN
    width, height = max(at.width + 2 * _MARGIN, min(words, 1400.0)), at.height + 2 * _MARGIN + 18 * len(said)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="interlock" role="img" aria-label="{escape(drawing.title)}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
        ),
        f"<title>{escape(drawing.title)}</title>",
        f"<style>{STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        *body_of(drawing, at),
    ]
    for number, line in enumerate(said):
        parts.append(f'<text class="small" x="{_MARGIN:.0f}" y="{at.height + 2 * _MARGIN + 14 + 18 * number:.0f}">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def body_of(drawing: Drawing, at: Layout, *, links: bool = False) -> list[str]:
    """Arrows and boxes. With `links`, a box can be reached by keyboard and carries its name as data."""
    parts = [_arrow(edge, points) for edge, points in zip(drawing.edges, at.edges, strict=True)]
    parts += [_box(node, at.nodes[node.id], links=links) for node in drawing.nodes]
    return parts


def _box(node: Node, centre: Point, *, links: bool) -> str:
    width = width_of(node)
    x, y = centre[0] + _MARGIN - width / 2, centre[1] + _MARGIN - _HEIGHT / 2
    reach = (
        f' tabindex="0" role="button" data-name="{escape(node.id)}" aria-label="{escape(f"{node.label} {node.note}".strip())}"'
        if links
        else ""
    )
    final = (
        f'<rect class="final" x="{x + 3:.1f}" y="{y + 3:.1f}" width="{width - 6:.1f}" height="{_HEIGHT - 6:.1f}" rx="5"/>'
        if node.ends == "final"
        else ""
    )
    middle = x + width / 2
    if node.note:
        words = (
            f'<text x="{middle:.1f}" y="{y + 15:.1f}" text-anchor="middle">{escape(node.label)}</text>'
            f'<text class="small" x="{middle:.1f}" y="{y + 28:.1f}" text-anchor="middle">{escape(node.note)}</text>'
        )
    else:
        words = f'<text x="{middle:.1f}" y="{y + 21:.1f}" text-anchor="middle">{escape(node.label)}</text>'
    dot = f'<circle cx="{x - 9:.1f}" cy="{y + _HEIGHT / 2:.1f}" r="4" style="fill: var(--ink)"/>' if node.ends == "initial" else ""
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT:.0f}" rx="8"/>'
    return f'<g class="node {node.look}"{reach}>{box}{final}{words}{dot}</g>'


def _arrow(edge: Edge, points: tuple[Point, ...]) -> str:
    moved = [(x + _MARGIN, y + _MARGIN) for x, y in points]
    (x, y), rest = moved[0], moved[1:]
    way = [f"M{x:.1f},{y:.1f}"]
    for nx, ny in rest:
        bend = (nx - x) / 2
        way.append(f"C{x + bend:.1f},{y:.1f} {nx - bend:.1f},{ny:.1f} {nx:.1f},{ny:.1f}")
        x, y = nx, ny
    sign = 1 if moved[-1][0] >= moved[-2][0] else -1
    head = f"M{x:.1f},{y:.1f} l{-8 * sign},-4 l0,8 z"
    label = ""
    if edge.label:
        (ax, ay), (bx, by) = moved[0], moved[1]
        label = f'<text class="small label" x="{(ax + bx) / 2:.1f}" y="{(ay + by) / 2 - 5:.1f}" text-anchor="middle">{escape(edge.label)}</text>'
    return f'<g class="{edge.look}"><path class="edge" d="{" ".join(way)}"/><path class="head" d="{head}"/>{label}</g>'
