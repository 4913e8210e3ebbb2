"""Checks after publication as gates: what comes after them waits for their answer, and is withheld where they fail. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import structs

from interlock.engine.planner.frame import AFTER
from interlock.engine.planner.plan import Item

_STAYS = frozenset({"no_op", "refuse"})


def gated(items: Sequence[Item]) -> list[Item]:
    """The same items; each that goes on from rows which a check after publication gates waits for it.

    Such a check may ask what is made from the very rows that it is about. That, and all that it is made from, cannot wait for
    it; what goes on from there does. An edge is only added where the gate does not wait for that item, so no circle comes of it.
    """
    by_key = {item.model: item for item in items}
    gates = sorted(key for key in by_key if key.endswith(AFTER))
    if not gates:
        return list(items)
    # What goes on from rows is told by what is read, and not by what waits for a gate: that would be withheld for checks of others.
    readers: dict[str, set[str]] = {}
    for key, item in by_key.items():
        for name in {*item.reads, *item.upstreams}:
            readers.setdefault(name, set()).add(key)
    for gate in gates:
        gives = gate.removesuffix(AFTER)
        free = _reached(gate, lambda key: by_key[key].upstreams if key in by_key else ())
        opened = {gives, *(free & _reached(gives, lambda key: readers.get(key, ())))}
        for key in {key for name in opened for key in readers.get(name, ())} - free - {gate}:
            item = by_key[key]
            if not key.endswith(AFTER) and item.action not in _STAYS:
                by_key[key] = structs.replace(item, upstreams=tuple(sorted({*item.upstreams, gate})))
    return _in_layers(by_key)


def _reached(key: str, onward: Callable[[str], Iterable[str]]) -> set[str]:
    """What is reached from a key, itself left out."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        for each in onward(waiting.pop()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found - {key}


def _in_layers(items: Mapping[str, Item]) -> list[Item]:
    """The items, each in a layer behind those of what it waits for."""
    layers = {key: item.layer for key, item in items.items()}
    for _ in items:  # items follow what they read, so that few rounds are needed: one for each gate behind a gate
        before = dict(layers)
        for key, item in items.items():
            layers[key] = max([layers[key], *(layers[each] + 1 for each in item.upstreams if each in layers)])
        if layers == before:
            break
    return [item if layers[key] == item.layer else structs.replace(item, layer=layers[key]) for key, item in items.items()]
