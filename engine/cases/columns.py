"""`lineage MODEL.COLUMN`: where a column comes from, what it reaches, and what breaks without it; as text or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import msgspec

from interlock.engine.cache.store import Cache
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.compiler.lineage import ColumnOf, Impact, Reached
from interlock.engine.compiler.lineage_kept import KeptLineages
from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean
from interlock.engine.project.project import Project
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.records import Record


class ColumnStory(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is known of one column."""

    column: ColumnOf
    values: tuple[ColumnOf, ...]
    """What its values are made of, one step back."""
    rows: tuple[ColumnOf, ...]
    """What only filters, joins, groups or orders its model's rows."""
    upstream: tuple[ColumnOf, ...]
    """All that its values come from."""
    complete: bool
    """False where something of its model's text could not be followed."""
    impact: Impact


def column_story(project: Project, target: TargetConfig, compiled: Compiled, text: str, cache: Cache | None = None) -> ColumnStory:
    """The story of the column that `relation.column` names.

    Raises:
        Refused: S114, there is no such relation or column.
    """
    lineages = KeptLineages(project, target, compiled, cache)
    column = lineages.named(text)
    if column is None:
        raise _unknown(compiled, text)
    looked = lineages.of(column.relation) if column.relation in compiled.models else None
    values = () if looked is None else next((each.values for each in looked.columns if each.column == column), ())
    story = ColumnStory(
        column=column,
        values=values,
        rows=() if looked is None else looked.rows,
        upstream=lineages.upstream(column),
        complete=looked is None or looked.complete,
        impact=lineages.impact(column),
    )
    lineages.keep()
    return story


def written(story: ColumnStory, form: str) -> str:
    """As text for people, or as JSON."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(story), indent=2).decode()
    further = [*story.impact.direct, *story.impact.further]
    lines = [_name(story.column)]
    lines += _part("values come from", (_name(each) for each in story.values))
    rest = [each for each in story.upstream if each not in story.values]
    lines += _part("and they from", (_name(each) for each in rest))
    lines += _part("its rows depend on", (_name(each) for each in story.rows))
    if not story.complete:
        lines.append("  something of the text could not be followed: more columns may have a part in it")
    lines += _part("reaches", (_reached(each) for each in further))
    lines += _part("may reach, for the text cannot be followed as a whole", story.impact.unsure)
    lines += _part("without it", (f"{name} is not made" for name in story.impact.models))
    if not further and not story.impact.models and not story.impact.unsure:
        lines.append("  nothing of this project reads it")
    return "\n".join(lines)


def _part(title: str, items: Iterable[str]) -> list[str]:
    listed = list(items)
    return [f"  {title}:", *(f"    {item}" for item in listed)] if listed else []


def _name(column: ColumnOf) -> str:
    return f"{column.relation}.{column.column}"


def _reached(each: Reached) -> str:
    match each.how:
        case "values":
            return f"{each.relation}.{each.column}"
        case "rows":
            return f"{each.relation}: which rows there are"
        case "named":
            return f"{each.relation}: its text names it, and takes nothing from it"
        case "contract":
            return f"the contract of {each.relation}"
        case "checks":
            return f"the checks of {each.relation}"
        case "settings":
            return f"the settings of {each.relation}"
        case _ as unreachable:
            assert_never(unreachable)


def _unknown(compiled: Compiled, text: str) -> Refused:
    relation, _, column = text.rpartition(".")
    known = {**{name: model.columns for name, model in compiled.models.items()}}
    known |= {name: source.columns for name, source in compiled.sources.items()}
    if relation in known:
        names = [each.name for each in known[relation]]
        because = f"`{relation}` has {', '.join(f'`{name}`' for name in names)}"
        return Refused(
            Diagnostic(
                code="S114",
                summary=f"`{relation}` has no column `{column}`",
                because=because,
                remedy=did_you_mean(column, names, "name one of these"),
            )
        )
    return Refused(
        Diagnostic(
            code="S114",
            summary=f"there is no model or source `{relation or text}`",
            because="a column is named as MODEL.COLUMN or as SOURCE.COLUMN",
            remedy=did_you_mean(relation or text, [*compiled.models, *compiled.sources], "see `interlock ls`"),
        )
    )
