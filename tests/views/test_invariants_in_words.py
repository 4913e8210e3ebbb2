"""An invariant that a finding names has words, and a page."""

from __future__ import annotations

import pytest

from interlock.engine import api
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.views.diagnostics import diagnostic
from interlock.engine.views.look import Look
from interlock.machines.guards import INVARIANTS


@pytest.mark.parametrize("name", INVARIANTS)
def test_an_invariant_is_explained(name: str) -> None:
    found = api.explain(name.lower())
    assert found.code == name
    assert next(words[0] for known, words in INVARIANTS.items() if known == name) in found.page


def test_a_finding_says_what_it_keeps() -> None:
    finding = Diagnostic(code="C303", summary="another type", invariant="I4")
    assert "  keeps:   I4 (unsafe contracts fail early)" in diagnostic(finding, Look())
