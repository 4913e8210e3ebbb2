"""What an import answers: one item for each thing that was found in the dbt project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

from interlock.machines.records import Record

Kind: TypeAlias = Literal[
    "config",
    "documentation",
    "env_var",
    "file",
    "hook",
    "macro",
    "model",
    "package",
    "project",
    "seed",
    "snapshot",
    "source",
    "test",
    "var",
]
Status: TypeAlias = Literal["converted", "proposed", "refused", "disabled", "documented"]


class Item(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing of the dbt project, and what became of it."""

    kind: Kind
    name: str
    status: Status
    path: str = ""
    """In the dbt project, with forward slashes."""
    line: int | None = None
    code: str = ""
    why: str = ""
    remedy: str = ""
    into: str = ""
    """File of the new project, where one was written."""
    proposal: str = ""
    """For a proposed model: the sidecar and the query that would be written."""
    written: Literal["yes", "no"] = "no"
    """Whether it stands in the new project; of a proposal: whether it was accepted."""

    @property
    def place(self) -> str:
        """`path:line`, as far as it is known."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Counted(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many items of a kind came to what."""

    kind: Kind
    converted: int = 0
    proposed: int = 0
    refused: int = 0
    disabled: int = 0
    documented: int = 0


class Compared(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An imported relation beside the one that dbt built: columns, types, rows as multisets."""

    model: str
    outcome: Literal["equal", "different", "not_compared"]
    because: str = ""
    rows_here: int | None = None
    rows_dbt: int | None = None
    only_here: int = 0
    only_dbt: int = 0
    columns: tuple[str, ...] = ()
    first_only_here: tuple[tuple[str | None, ...], ...] = ()
    first_only_dbt: tuple[tuple[str | None, ...], ...] = ()


def counted(items: Iterable[Item]) -> tuple[Counted, ...]:
    """Counts for each kind, in the kinds' order of name."""
    counts: dict[Kind, Counter[Status]] = {}
    for item in items:
        counts.setdefault(item.kind, Counter())[item.status] += 1
    return tuple(Counted(kind=kind, **dict(counts[kind])) for kind in sorted(counts))
