"""Where things stand in a layered drawing: columns by longest path, few crossings, long edges led around. Pure; no library, no browser."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SWEEPS = 6
BENDS_MAX = 20_000
"""Of a drawing; beyond it long edges go straight: such a drawing is looked at by searching, not by following lines."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the nodes, points of the edges in the order given, and the size of it all."""

    nodes: Mapping[str, Point]
    edges: tuple[tuple[Point, ...], ...]
    width: float
    height: float


@dataclass(slots=True)
class _Grid:
    columns: list[list[str]]
    before: dict[str, list[str]] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=dict)


def layers_of(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The column of each node: the length of the longest way to it. An edge of a cycle that leads back is not counted."""
    after: dict[str, list[str]] = {name: [] for name in ids}
    before: dict[str, int] = dict.fromkeys(ids, 0)
    for source, target in _forward(ids, edges):
        after[source].append(target)
        before[target] += 1
    layers = dict.fromkeys(ids, 0)
    ready = [name for name in ids if not before[name]]
    for name in ready:
        for target in after[name]:
            layers[target] = max(layers[target], layers[name] + 1)
            before[target] -= 1
            if not before[target]:
                ready.append(target)
    return layers


def _forward(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges without those that close a cycle."""
    after: dict[str, list[str]] = {name: [] for name in ids}
    for source, target in dict.fromkeys(edges):
        if source != target:
            after[source].append(target)
    state: dict[str, int] = {}
    looked: dict[str, int] = {}
    found: list[tuple[str, str]] = []
    for root in ids:
        if root in state:
            continue
        state[root] = 1
        stack = [root]
        while stack:
            name = stack[-1]
            number = looked.get(name, 0)
            if number == len(after[name]):
                state[name] = 2
                stack.pop()
                continue
            looked[name] = number + 1
            target = after[name][number]
            if state.get(target) == 1:
                continue
            found.append((name, target))
            if target not in state:
                state[target] = 1
                stack.append(target)
    return found


def layered(
    ids: Sequence[str],
    edges: Sequence[tuple[str, str]],
    *,
    widths: Mapping[str, float],
    row_height: float,
    gap: float,
) -> Layout:
    """Lay a graph out from left to right.

    Args:
        ids: nodes, in the order in which they are preferred from top to bottom.
        edges: source and target.
        widths: of each node.
        row_height: distance of two centres in a column, at least.
        gap: room between two columns.
    """
    layers = layers_of(ids, edges)
    grid, chains = _grid(ids, edges, layers)
    for sweep in range(SWEEPS):
        _sweep(grid, downwards=sweep % 2 == 0)
    rows = _rows(grid)
    xs, x = [], 0.0
    for column in grid.columns:
        widest = max((widths.get(name, 0.0) for name in column), default=0.0)
        xs.append(x + widest / 2)
        x += widest + gap
    at = {name: (xs[number], rows[name] * row_height) for number, column in enumerate(grid.columns) for name in column}
    lowest = min((y for _, y in at.values()), default=0.0)
    at = {name: (px, py - lowest + row_height / 2) for name, (px, py) in at.items()}
    lines = []
    for chain in chains:
        points = [at[name] for name in chain]
        (sx, sy), (tx, ty) = points[0], points[-1]
        half, other = widths.get(chain[0], 0.0) / 2, widths.get(chain[-1], 0.0) / 2
        sign = 1 if tx >= sx else -1
        lines.append(((sx + sign * half, sy), *points[1:-1], (tx - sign * other, ty)))
    height = max((y for _, y in at.values()), default=0.0) + row_height / 2
    known = set(ids)
    return Layout(nodes={name: at[name] for name in at if name in known}, edges=tuple(lines), width=max(x - gap, 0.0), height=height)


def _grid(ids: Sequence[str], edges: Sequence[tuple[str, str]], layers: Mapping[str, int]) -> tuple[_Grid, list[list[str]]]:
    """Columns with a bend in each that a long edge crosses; and for each edge the names on its way."""
    grid = _Grid(columns=[[] for _ in range(max(layers.values(), default=-1) + 1)])
    for name in ids:
        grid.columns[layers[name]].append(name)
    bends = sum(max(0, abs(layers[target] - layers[source]) - 1) for source, target in edges)
    chains: list[list[str]] = []
    for number, (source, target) in enumerate(edges):
        chain = [source]
        low, high = layers[source], layers[target]
        if bends <= BENDS_MAX and abs(high - low) > 1:
            step = 1 if high > low else -1
            for column in range(low + step, high, step):
                bend = f"\0{number}:{column}"
                grid.columns[column].append(bend)
                chain.append(bend)
        chain.append(target)
        chains.append(chain)
        for one, other in itertools.pairwise(chain):
            grid.after.setdefault(one, []).append(other)
            grid.before.setdefault(other, []).append(one)
    return grid, chains


def _sweep(grid: _Grid, *, downwards: bool) -> None:
    """Order each column by the middle of its neighbours in the column before."""
    columns = grid.columns if downwards else grid.columns[::-1]
    neighbours = grid.before if downwards else grid.after
    place = {name: number for column in grid.columns for number, name in enumerate(column)}
    for column in columns[1:]:
        middle = {}
        for name in column:
            near = sorted(place[each] for each in neighbours.get(name, ()))
            middle[name] = sum(near) / len(near) if near else place[name]
        column.sort(key=lambda name, middle=middle: middle[name])  # type: ignore[misc] # bound at once
        place |= {name: number for number, name in enumerate(column)}


def _rows(grid: _Grid) -> dict[str, float]:
    """Heights: each node near its neighbours, none nearer than one row to the next."""
    rows = {name: float(number) for column in grid.columns for number, name in enumerate(column)}
    for sweep in range(SWEEPS):
        columns = grid.columns if sweep % 2 == 0 else grid.columns[::-1]
        for column in columns:
            wished = []
            for name in column:
                near = [rows[each] for each in (*grid.before.get(name, ()), *grid.after.get(name, ()))]
                wished.append(sum(near) / len(near) if near else rows[name])
            _spread(column, wished, rows)
    return rows


def _spread(column: Sequence[str], wished: Sequence[float], rows: dict[str, float]) -> None:
    """Put a column at the heights that are wished for, kept in order and apart: blocks that would touch share their middle."""
    blocks: list[tuple[float, int]] = []
    for wish in wished:
        start, count = wish, 1
        while blocks and blocks[-1][0] + blocks[-1][1] > start:
            before, many = blocks.pop()
            start = (before * many + (start - many) * count) / (many + count)
            count += many
        blocks.append((start, count))
    at = 0
    for start, count in blocks:
        for offset in range(count):
            rows[column[at]] = start + offset
            at += 1
