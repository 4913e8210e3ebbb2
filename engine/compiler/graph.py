"""Who reads whom: an order in which each follows what it reads, layers, and cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def in_order(edges: Mapping[str, Iterable[str]]) -> tuple[list[str], list[list[str]]]:
    """An order in which each name follows those that it reads, and the cycles, each named in full.

    Names of a cycle are not in the order; what reads them is. Both are the same for the same edges.

    >>> in_order({"b": ["a"], "a": [], "c": ["d"], "d": ["c"], "e": ["c"]})
    (['a', 'b', 'e'], [['c', 'd']])
    """
    components = _components({name: sorted(set(reads)) for name, reads in edges.items()})
    order: list[str] = []
    cycles: list[list[str]] = []
    for component in components:
        if len(component) > 1 or component[0] in edges.get(component[0], ()):
            cycles.append(_round(component, edges))
        else:
            order.append(component[0])
    return order, sorted(cycles)


def _round(component: list[str], edges: Mapping[str, Iterable[str]]) -> list[str]:
    """One shortest way round, from the least name."""
    start = min(component)
    members = set(component)
    came: dict[str, str] = {}
    waiting = [start]
    for name in waiting:
        for read in sorted(edges.get(name, ())):
            if read == start:
                path = [name]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if read in members and read not in came:
                came[read] = name
                waiting.append(read)
    return sorted(component)


def _components(edges: Mapping[str, list[str]]) -> list[list[str]]:
    """Strongly connected components, each after those that it reads (Tarjan's way, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in sorted(edges):
        if root in index:
            continue
        work: list[tuple[str, int]] = [(root, 0)]
        while work:
            name, position = work.pop()
            if position == 0:
                index[name] = low[name] = len(index)
                stack.append(name)
                on_stack.add(name)
            reads = [read for read in edges[name] if read in edges]
            for place in range(position, len(reads)):
                read = reads[place]
                if read not in index:
                    work.append((name, place + 1))
                    work.append((read, 0))
                    break
                if read in on_stack:
                    low[name] = min(low[name], index[read])
            else:
                if low[name] == index[name]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == name:
                            break
                    found.append(sorted(component))
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[name])
    return found


def layers_of(order: Iterable[str], reads: Mapping[str, Iterable[str]], transparent: frozenset[str]) -> dict[str, int]:
    """The layer of each name: 1 for what reads none of them. Transparent ones (ephemerals) add none to their readers."""
    found: dict[str, int] = {}
    for name in order:
        found[name] = max((found[read] + (read not in transparent) for read in reads.get(name, ()) if read in found), default=1)
    return found


def in_steps(order: list[str], edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The order in steps whose members do not read each other, so that their shadows can be made together."""
    depth: dict[str, int] = {}
    for name in order:
        depth[name] = max((depth[read] + 1 for read in edges[name] if read in depth), default=0)
    steps: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in order:
        steps[depth[name]].append(name)
    return steps


def stored_layers(order: list[str], layers: Mapping[str, int], ephemeral: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    """By layer, those of which a relation is made."""
    stored = [name for name in order if name not in ephemeral]
    return tuple(tuple(sorted(name for name in stored if layers[name] == layer)) for layer in sorted({layers[name] for name in stored}))


def children_of(units: Iterable[str], edges: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """Who reads each."""
    found: dict[str, set[str]] = {name: set() for name in units}
    for name, reads in edges.items():
        for read in reads:
            found[read].add(name)
    return {name: tuple(sorted(children)) for name, children in sorted(found.items())}
