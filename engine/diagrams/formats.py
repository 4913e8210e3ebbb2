"""Drawings as text: Mermaid, DOT, and plain lines for a terminal. What comes from a project is quoted, so that it stays a name."""

from __future__ import annotations

import json
import re
from typing import Final

from interlock.engine.diagrams.drawing import Drawing, Edge, EdgeLook, Node, NodeLook

_CLASSES: Final[dict[NodeLook, str]] = {
    "visited": "stroke:#2563eb,stroke-width:2px",
    "good": "fill:#dcfce7,stroke:#15803d,color:#14532d,stroke-width:2px",
    "refused": "fill:#fee2e2,stroke:#b91c1c,color:#7f1d1d,stroke-width:2px",
    "open": "fill:#fef3c7,stroke:#b45309,color:#78350f,stroke-width:2px",
    "idle": "fill:#f1f5f9,stroke:#64748b,color:#334155",
    "faint": "fill:#f8fafc,stroke:#cbd5e1,color:#94a3b8",
}
_DOT_NODES: Final[dict[NodeLook, str]] = {
    "plain": "",
    "visited": ' color="#2563eb" penwidth=2',
    "good": ' color="#15803d" fillcolor="#dcfce7" style="rounded,filled" penwidth=2',
    "refused": ' color="#b91c1c" fillcolor="#fee2e2" style="rounded,filled" penwidth=2',
    "open": ' color="#b45309" fillcolor="#fef3c7" style="rounded,filled" penwidth=2',
    "idle": ' color="#64748b"',
    "faint": ' color="#cbd5e1" fontcolor="#94a3b8"',
}
_DOT_EDGES: Final[dict[EdgeLook, str]] = {
    "plain": "",
    "otherwise": " style=dashed",
    "taken": ' color="#2563eb" penwidth=2',
    "refusing": ' color="#b91c1c" penwidth=2',
    "faint": ' color="#cbd5e1"',
}
_MARKS: Final[dict[NodeLook, str]] = {
    "plain": "",
    "visited": "visited",
    "good": "ended here",
    "refused": "refused",
    "open": "stands here",
    "idle": "nothing to do",
    "faint": "",
}


def mermaid_of(drawing: Drawing) -> str:
    """A state diagram of a machine; a flowchart of models."""
    return _machine(drawing) if drawing.kind == "machine" else _flowchart(drawing)


def _machine(drawing: Drawing) -> str:
    lines = ["stateDiagram-v2", "    direction LR"]
    lines += [f"    [*] --> {node.id}" for node in drawing.nodes if node.ends == "initial"]
    for edge in drawing.edges:
        lines.append(f"    {edge.source} --> {edge.target}" + (f": {_words(edge.label)}" if edge.label else ""))
    lines += [f"    {node.id} --> [*]" for node in drawing.nodes if node.ends == "final"]
    used = sorted({node.look for node in drawing.nodes if node.look in _CLASSES})
    lines += [f"    classDef {look} {_CLASSES[look]}" for look in used]
    lines += [f"    class {node.id} {node.look}" for node in drawing.nodes if node.look in _CLASSES]
    return "\n".join(lines) + "\n"


def _flowchart(drawing: Drawing) -> str:
    names = {node.id: f"n{number}" for number, node in enumerate(drawing.nodes)}
    lines = ["flowchart LR"]
    for node in drawing.nodes:
        note = f"<br/><small>{_entities(node.note)}</small>" if node.note else ""
        lines.append(f'    {names[node.id]}["{_entities(node.label)}{note}"]')
    lines += [f"    {names[edge.source]} --> {names[edge.target]}" for edge in drawing.edges]
    used = sorted({node.look for node in drawing.nodes if node.look in _CLASSES})
    lines += [f"    classDef {look} {_CLASSES[look]}" for look in used]
    lines += [f"    class {names[node.id]} {node.look}" for node in drawing.nodes if node.look in _CLASSES]
    return "\n".join(lines) + "\n"


def _words(text: str) -> str:
    """A label behind a colon: what Mermaid would read as its own is taken out."""
    return re.sub(r"[\r\n;#:]+", " ", text)


def _entities(text: str) -> str:
    """A label in quotes: every character that could be markup, as a number."""
    return "".join(character if character.isalnum() or character in " _-.,()/" else f"#{ord(character)};" for character in text)


def dot_of(drawing: Drawing) -> str:
    """For Graphviz."""
    lines = [f"digraph {_quoted(drawing.title)} {{", "    rankdir=LR", '    node [shape=box style=rounded fontname="sans-serif"]']
    lines += [f"    {_quoted(node.id)} [label={_quoted(_label(node))}{_DOT_NODES[node.look]}{_ends(node)}]" for node in drawing.nodes]
    for edge in drawing.edges:
        label = f"label={_quoted(edge.label)}" if edge.label else ""
        inside = f"{label}{_DOT_EDGES[edge.look]}".strip()
        lines.append(f"    {_quoted(edge.source)} -> {_quoted(edge.target)}" + (f" [{inside}]" if inside else ""))
    return "\n".join([*lines, "}"]) + "\n"


def _label(node: Node) -> str:
    return f"{node.label}\n{node.note}" if node.note else node.label


def _ends(node: Node) -> str:
    return " peripheries=2" if node.ends == "final" else ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def text_of_drawing(drawing: Drawing) -> str:
    """For a terminal: each node with the arrows that leave it."""
    lines = [drawing.title, ""]
    leaving: dict[str, list[Edge]] = {}
    for edge in drawing.edges:
        leaving.setdefault(edge.source, []).append(edge)
    widest = max((len(node.label) for node in drawing.nodes), default=0)
    for node in drawing.nodes:
        marks = [
            mark
            for mark in (_MARKS[node.look], "initial" if node.ends == "initial" else "", "final" if node.ends == "final" else "")
            if mark
        ]
        note = f"  {node.note}" if node.note else ""
        lines.append(
            f"{'*' if node.look in ('visited', 'good', 'refused', 'open') else ' '} {node.label}{note}"
            + (f"  ({', '.join(marks)})" if marks else "")
        )
        lines += [
            f"      → {edge.target.ljust(widest)}  {edge.label}".rstrip() for edge in leaving.get(node.id, ()) if edge.look != "faint"
        ]
    return "\n".join([*lines, *([""] if drawing.said else []), *drawing.said]) + "\n"


def json_of(drawing: Drawing) -> str:
    """Nodes and edges, for programs."""
    nodes = [{"name": node.id, "kind": node.note, "state": node.look} for node in drawing.nodes]
    edges = [{"from": edge.source, "to": edge.target} for edge in drawing.edges]
    return json.dumps({"title": drawing.title, "nodes": nodes, "edges": edges}, indent=2, ensure_ascii=False) + "\n"
