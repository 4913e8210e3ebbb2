"""What `audit`, `diagram`, `lineage` and `report` answer: the values that `--json` prints and that the text views show."""

from __future__ import annotations

from typing import Literal

from interlock.engine.audit.difference import RunDifference
from interlock.engine.audit.replay import Replayed
from interlock.engine.audit.timeline import Line
from interlock.engine.audit.told import Story
from interlock.engine.audit.verify import Verified
from interlock.engine.results import Result


class LogResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of the timeline. `next_after`: where the next page begins; `None` where this is the last."""

    lines: tuple[Line, ...]
    next_after: int | None = None


class StoryResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a model, a run or a refusal ended where it did."""

    question: str
    story: Story


class ReplayResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ledger judged again. `difference` where two runs were asked to be compared."""

    ledger: str
    """Where it was read, as it was given."""
    replayed: Replayed
    withheld: int = 0
    """Records of a bundle of which words are withheld: their digests cannot be made again."""
    at: Literal["yes", "no"] = "no"
    """Whether the state at a moment was asked for."""
    difference: RunDifference | None = None


class VerifyResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ledger against warehouse."""

    replayed: Replayed
    verified: Verified


class DrawnResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something drawn, as text of its format."""

    format: str
    text: str


class ReportResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page that was written."""

    run: str
    file: str
    models: int
    bytes: int


class BundleResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle that was written."""

    run: str
    file: str
    records: int
    withheld: int
    bytes: int
