"""The recovery tables: exactly one row matches each case of the whole product."""

from __future__ import annotations

from itertools import product
from typing import get_args

from interlock.engine.planner import recovery
from interlock.engine.planner.recovery import authority_row, model_row, tables
from interlock.machines.refusals import CATALOGUE


def test_exactly_one_row_of_the_authority_table_matches_each_case() -> None:
    taken = set()
    for case in product(get_args(recovery.LedgerState), get_args(recovery.IdentityState), get_args(recovery.HeadsState)):
        taken.add(authority_row(*case).row)
    assert taken == {row.row for row in tables().authority}


def test_exactly_one_row_of_the_model_table_matches_each_case() -> None:
    taken = set()
    for case in product(get_args(recovery.ModelLedger), get_args(recovery.ModelHead), get_args(recovery.ModelTarget)):
        taken.add(model_row(*case).row)
    assert taken == {row.row for row in tables().model}


def test_a_refusing_row_has_a_code_of_the_catalogue_and_an_act_that_helps() -> None:
    for row in (*tables().authority, *tables().model):
        assert row.how
        if row.decision == "refuse":
            assert row.code in CATALOGUE, row.row
            assert row.remedy, row.row


def test_no_unreadable_or_broken_case_ever_goes_on() -> None:
    for identity, heads in product(get_args(recovery.IdentityState), get_args(recovery.HeadsState)):
        assert authority_row("broken", identity, heads).decision == "refuse"
        assert authority_row("unreadable", identity, heads).decision == "refuse"
    for ledger, heads in product(get_args(recovery.LedgerState), get_args(recovery.HeadsState)):
        assert authority_row(ledger, "unreadable", heads).decision == "refuse"
    for state, head in product(get_args(recovery.ModelLedger), get_args(recovery.ModelHead)):
        assert model_row(state, head, "unreadable").decision == "refuse"
