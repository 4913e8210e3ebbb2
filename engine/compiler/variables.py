"""Variables: `$name` at a token becomes a typed literal. Values stand only where a literal may."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from interlock.engine.clock import moment
from interlock.engine.compiler.text import Edit, Text
from interlock.engine.diagnostics import Diagnostic, did_you_mean
from interlock.engine.project.project import Variable
from interlock.engine.warehouse.duckdb.quoting import literal

BUILT_IN: Final = ("as_of", "until", "target")


class Use(NamedTuple):
    """A variable in a text."""

    name: str
    start: int
    end: int


class Values(NamedTuple):
    """What variables stand for in one compilation."""

    given: Mapping[str, Variable]
    as_of: datetime
    target: str

    @staticmethod
    def of(variables: Mapping[str, Variable], as_of: str, target: str) -> Values:
        """Values of a project, with the plan's time as text."""
        return Values(variables, moment(as_of), target)

    def literal(self, name: str) -> str | None:
        """The literal of a variable; nothing where there is none of that name."""
        if name == "as_of":
            return literal(self.as_of)
        if name == "target":
            return literal(self.target)
        value = self.given.get(name)
        return None if value is None else literal(value)


def uses(text: Text) -> list[Use]:
    """Every `$name`, in order."""
    found: list[Use] = []
    if "$" not in text.text:
        return found
    for first, second in zip(text.tokens, text.tokens[1:], strict=False):
        if first.text == "$" and first.end == second.start and second.kind in {"identifier", "keyword"}:
            found.append(Use(second.text, first.start, second.end))
    return found


def substitution(text: Text, values: Values, *, found: list[Use], subject: str) -> tuple[list[Edit], list[Diagnostic]]:
    """The edits that put values in, and a finding for each variable that has none."""
    edits: list[Edit] = []
    findings: list[Diagnostic] = []
    for use in found:
        value = values.literal(use.name)
        if value is not None:
            # a word right before it would run into a literal that begins with a letter
            glued = use.start > 0 and (text.data[use.start - 1 : use.start].isalnum() or text.data[use.start - 1] >= 0x80)
            edits.append(Edit(use.start, use.end, f" {value}" if glued else value))
            continue
        at = text.at(use.start, use.end - use.start)
        if use.name == "until":
            findings.append(
                Diagnostic(
                    code="L209",
                    summary="`$until` is not a value that a text can read",
                    because="the engine holds back rows beyond `$until` by itself, from the output of an incremental model",
                    remedy="leave the predicate out, or use `$as_of`",
                    at=at,
                    subject=subject,
                )
            )
            continue
        names = [*values.given, "as_of", "target"]
        findings.append(
            Diagnostic(
                code="L209",
                summary=f"there is no variable `{use.name}`",
                because=f"the project has {', '.join(f'`{name}`' for name in sorted(names))}",
                remedy=did_you_mean(use.name, names, "declare it under `[vars]` in interlock.toml, or give it with --vars"),
                at=at,
                subject=subject,
            )
        )
    return edits, [*findings, *quoted(text, values, subject)]


def quoted(text: Text, values: Values, subject: str) -> list[Diagnostic]:
    """A warning for each text that is nothing but the name of a variable: inside quotes it stands for itself."""
    if "'$" not in text.text:
        return []
    names = {*values.given, "as_of", "target"}
    return [
        Diagnostic(
            code="L229",
            severity="warning",
            summary=f"`{token.text}` is a text, and not the value of the variable",
            because="nothing is put in between quotes; a value comes with the quotes that it needs",
            remedy=f"write `{token.text[1:-1]}` without them",
            at=text.at(token.start, token.end - token.start),
            subject=subject,
        )
        for token in text.tokens
        if token.kind != "comment" and token.text.startswith("'$") and token.text[2:-1] in names
    ]
