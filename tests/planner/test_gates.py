"""Checks after publication as gates, over plans drawn at random."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.planner.gates import gated
from interlock.engine.planner.plan import Item
from interlock.machines.evidence import Digests

DIGESTS = Digests(definition="d", promise="p", note="n", environment="e")
MODELS_MAX = 7


def item(key: str, reads: set[str], waits: set[str], layer: int) -> Item:
    return Item(
        model=key,
        kind="table",
        action="recheck" if key.endswith(":after") else "replace",
        reasons=(),
        schema="main",
        relation=key.partition(":")[0],
        layer=layer,
        digests=DIGESTS,
        relation_kind="table",
        reads=tuple(sorted(reads)),
        upstreams=tuple(sorted(waits)),
    )


@st.composite
def plans(draw: st.DrawFn) -> list[Item]:
    """Models of which each reads some that are before it, some with a check after publication that asks any others."""
    names = [f"m{number}" for number in range(draw(st.integers(1, MODELS_MAX)))]
    items: list[Item] = []
    for number, name in enumerate(names):
        reads = draw(st.sets(st.sampled_from(names[:number]), max_size=3)) if number else set()
        items.append(item(name, reads, reads, 1 + max([each.layer for each in items if each.model in reads], default=0)))
    for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=3)):
        asked = draw(st.sets(st.sampled_from(names), max_size=2)) - {name}
        layer = 1 + max(each.layer for each in items if each.model in {name, *asked})
        items.append(item(f"{name}:after", asked, {name, *asked}, layer))
    return items


def above(items: Mapping[str, Item], key: str) -> set[str]:
    found: set[str] = set()
    waiting = [key]
    while waiting:
        for each in items[waiting.pop()].upstreams:
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


@given(plan=plans())
def test_what_goes_on_from_gated_rows_waits_and_nothing_waits_for_itself(plan: list[Item]) -> None:
    before = {each.model: each for each in plan}
    after = {each.model: each for each in gated(plan)}
    assert list(after) == list(before)
    for key, each in after.items():
        assert set(before[key].upstreams) <= set(each.upstreams)
        assert all(after[upstream].layer < each.layer for upstream in each.upstreams), "so there is no circle"
        for gate in set(each.upstreams) - set(before[key].upstreams):
            assert gate.endswith(":after"), "nothing else is waited for"
            assert gate.removesuffix(":after") in above(before, key), "and only by what goes on from its model"
    for gate in [key for key in after if key.endswith(":after")]:
        model = gate.removesuffix(":after")
        for key, each in before.items():
            if model in above(before, key) and not key.endswith(":after"):
                assert gate in above(after, key) or key in above(after, gate), f"{key} goes on from {model}"
                assert gate not in above(after, key) or key not in above(after, gate)
            elif each.model != gate and not key.endswith(":after") and key != model:
                assert gate not in each.upstreams


def test_who_waits_for_a_gate_does_not_wait_for_the_gates_of_what_its_check_asks() -> None:
    plan = [
        item("m0", set(), set(), 1),
        item("m1", set(), set(), 1),
        item("m2", {"m0"}, {"m0"}, 2),
        item("m3", {"m0"}, {"m0"}, 2),
        item("m0:after", {"m1"}, {"m0", "m1"}, 2),
        item("m1:after", {"m2"}, {"m1", "m2"}, 3),
    ]
    assert next(each for each in gated(plan) if each.model == "m3").upstreams == ("m0", "m0:after")
