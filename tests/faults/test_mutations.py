"""The mutations are those of the code as it is, and a few of them are played here. All: `python -m tests.faults.mutations`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.mutations import MUTATIONS, ROOT, Mutation, play

from interlock.machines import guards_model, guards_rows, guards_run, guards_source, guards_write
from interlock.machines.guards import Guard

SHARE = 37
"""Every so many are played in a usual run."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_a_mutation_replaces_stands_there_once(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.old) == 1
    for test in mutation.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file()
        assert name.partition("[")[0] in (ROOT / path).read_text(encoding="utf-8")
        if "test_scenario[" in name:
            assert (ROOT / "specs" / "scenarios" / f"{name.partition('[')[2].removesuffix(']')}.toml").is_file()


def test_every_guard_has_its_mutation() -> None:
    modules = (guards_model, guards_rows, guards_run, guards_source, guards_write)
    guards = {each.name for module in modules for each in vars(module).values() if isinstance(each, Guard)}
    assert len(guards) > 20
    assert guards <= {mutation.name for mutation in MUTATIONS}


@pytest.mark.parametrize("mutation", MUTATIONS[5::SHARE], ids=lambda mutation: mutation.name)
def test_a_mutation_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    assert play(mutation, tmp_path) == ""
