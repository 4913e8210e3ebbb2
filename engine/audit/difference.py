"""Two runs beside each other: which models differ in what was done, how it ended, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from interlock.engine.audit.facts import watermark_words
from interlock.engine.audit.tape import Flaw, Read
from interlock.engine.audit.timeline import reason_of
from interlock.machines.evidence import (
    AuthorizeEvidence,
    BootstrapEvidence,
    CheckpointEvidence,
    CloseEvidence,
    CommitEvidence,
    Entry,
    Found,
    RolledBack,
)
from interlock.machines.records import Record


class Side(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run says of something, on both sides; `None` where it says nothing."""

    what: str
    one: str | None
    other: str | None


class ModelDifference(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that the two runs do not say the same of."""

    model: str
    sides: tuple[Side, ...]


class RunDifference(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two runs, and where they differ. `same`: models of which both say the same."""

    one: str
    other: str
    sides: tuple[Side, ...]
    models: tuple[ModelDifference, ...]
    same: tuple[str, ...]


@dataclass(slots=True)
class _Told:
    run: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, str]] = field(default_factory=dict)


class Pair:
    """Gathers what two runs say while a ledger goes by."""

    def __init__(self, one: str, other: str) -> None:
        self._asked = (one, other)
        self._told: dict[str, _Told] = {}

    def hear(self, entry: Entry) -> None:
        """Take a record."""
        if entry.run is None or not entry.run.startswith(self._asked):
            return
        told = self._told.setdefault(entry.run, _Told())
        if entry.machine == "run":
            told.run |= _of_run(entry)
        elif entry.machine == "model_run":
            told.models.setdefault(entry.subject.rpartition("#")[0], {}).update(_of_model(entry))

    def found(self) -> dict[str, tuple[str, ...]]:
        """For each asked beginning, the runs that it fits."""
        return {asked: tuple(run for run in self._told if run.startswith(asked)) for asked in self._asked}

    def difference(self, one: str, other: str) -> RunDifference:
        """Where the two differ."""
        left, right = self._told[one], self._told[other]
        models, same = [], []
        for model in sorted(left.models.keys() | right.models.keys()):
            sides = _sides(left.models.get(model, {}), right.models.get(model, {}))
            if sides:
                models.append(ModelDifference(model=model, sides=sides))
            else:
                same.append(model)
        return RunDifference(one=one, other=other, sides=_sides(left.run, right.run), models=tuple(models), same=tuple(same))


def gather(pair: Pair, tape: Iterable[Read | Flaw]) -> None:
    """One pass over a ledger."""
    for each in tape:
        if isinstance(each, Read):
            pair.hear(each.numbered.entry)


def _sides(one: dict[str, str], other: dict[str, str]) -> tuple[Side, ...]:
    names = dict.fromkeys((*one, *other))
    return tuple(Side(what=name, one=one.get(name), other=other.get(name)) for name in names if one.get(name) != other.get(name))


def _of_run(entry: Entry) -> dict[str, str]:
    match entry.evidence:
        case AuthorizeEvidence() as evidence:
            found = {"plan": evidence.plan[:12], "authority": evidence.authority.row, "actor": entry.actor, "version": entry.version}
        case CloseEvidence() as evidence:
            found = {"outcome": evidence.outcome}
        case _:
            found = {}
    if entry.target == "refused":
        found |= {"outcome": "refused", "code": reason_of(entry)[0]}
    return found


def _of_model(entry: Entry) -> dict[str, str]:
    found = {"state": entry.target}
    match entry.evidence:
        case BootstrapEvidence() as evidence:
            found |= {
                "action": evidence.action,
                "reads": ", ".join(f"{read.model} {(read.receipt or 'none')[:12]}" for read in evidence.reads),
            }
        case CommitEvidence(receipt=(Found() | RolledBack()) as receipt) if receipt.body is not None:
            body = receipt.body
            digests = body.digests
            found |= {
                "definition": digests.definition[:12],
                "promise": digests.promise[:12],
                "environment": digests.environment[:12],
                "rows written": str(body.rows_written),
                "rows after": "" if body.rows_after is None else str(body.rows_after),
                "watermark": watermark_words(body.watermark),
                "sources": ", ".join(f"{source.source} {source.fingerprint[:12]}" for source in body.sources),
            }
        case CheckpointEvidence() as evidence:
            found |= {"receipt": evidence.receipt[:12]}
        case _:
            pass
    if entry.target == "refused":
        code, because = reason_of(entry)
        found |= {"code": code, "because": because}
    return found
