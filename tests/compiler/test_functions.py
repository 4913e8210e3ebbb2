"""The lists of functions are held to the engine: one that is new or has moved turns a test red."""

from __future__ import annotations

from interlock.engine.compiler.functions import OUTSIDE, TABLE_FUNCTIONS, UNSTABLE_BY_ZONE, VOLATILE, is_outside, is_volatile
from interlock.engine.warehouse.duckdb import parser


def test_every_function_that_the_engine_does_not_call_consistent_is_known() -> None:
    unknown = {
        name for name in parser.functions().unstable if not is_volatile(name, 1) and not is_outside(name) and name not in UNSTABLE_BY_ZONE
    }
    assert unknown == set()


def test_a_function_has_one_reason() -> None:
    assert not VOLATILE & OUTSIDE
    assert not VOLATILE & UNSTABLE_BY_ZONE
    assert not OUTSIDE & UNSTABLE_BY_ZONE
    assert not any(is_outside(name) for name in TABLE_FUNCTIONS)


def test_age_of_one_argument_counts_from_today() -> None:
    assert is_volatile("age", 1)
    assert not is_volatile("age", 2)
