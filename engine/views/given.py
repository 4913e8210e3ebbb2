"""Where a person said the project and the target are: what is proposed to them says it too, so that it can be typed as it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final, Literal, TypeVar

import msgspec

from interlock.machines.records import Record

V = TypeVar("V", bound=msgspec.Struct)

ELSEWHERE: Final = frozenset({"explain", "import dbt", "init"})
"""Commands that take neither a project nor a target."""
_PROPOSED: Final = re.compile(r"`interlock ((?:audit|import|ledger|receipts|sources) [a-z-]+|[a-z]+)((?: [^`]*)?)`")
_PLAIN: Final = re.compile(r"[^`\x00-\x1f\x7f]+")


class Given(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`--project` and `--target` as they were typed; empty where they were not."""

    project: str = ""
    target: str = ""
    protected: Literal["yes", "no"] = "no"
    """Whether that target wants a plan that was seen."""

    def options(self, said: Iterable[str] = ()) -> list[str]:
        """The words that a command needs besides those that it has, so that it means the same project and target."""
        has = [*said]
        missing = (("--project", self.project), ("--target", self.target))
        return [word for name, value in missing if _PLAIN.fullmatch(value) and name not in has for word in (name, value)]

    def act(self, text: str) -> str:
        """A text in which commands that it proposes name the project and target that are meant."""
        if not (self.project or self.target) or "`interlock " not in text:
            return text
        return _PROPOSED.sub(self._with, text)

    def _with(self, found: re.Match[str]) -> str:
        command, rest = found.groups()
        words = rest.split()
        if command in ELSEWHERE or "--help" in words:
            return found[0]
        if command == "run" and words and self.protected == "yes":
            command = "plan"  # which prints the `apply` that may write there
        return f"`{' '.join(['interlock', command, *words, *map(shlex.quote, self.options(words))])}`"

    def acts(self, findings: Iterable[V]) -> tuple[V, ...]:
        """The same records, each with a remedy that can be followed."""
        return tuple(self._remedied(each) for each in findings)

    def _remedied(self, record: V) -> V:
        remedy = getattr(record, "remedy", "")
        said = self.act(remedy)
        return record if said == remedy else msgspec.structs.replace(record, remedy=said)


HERE: Final = Given()
