"""What a materialization asks of its query: columns that it names, their types, rows that are the same when asked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from interlock.engine.compiler.analysis import Analysis
from interlock.engine.compiler.functions import PLACES, RANDOM
from interlock.engine.compiler.order import PICKS, Unsettled
from interlock.engine.compiler.types import INTEGERS, is_cursor, is_time
from interlock.engine.diagnostics import Diagnostic, Position, did_you_mean
from interlock.engine.project.durations import duration
from interlock.engine.project.project import ModelFile
from interlock.machines.evidence import Column


class Below(Protocol):
    """An ephemeral model or a view that is read."""

    name: str

    @property
    def is_ephemeral(self) -> bool:
        """Whether it is put into its consumers."""

    def moving(self) -> tuple[str, ...]:
        """What makes its rows others when they are asked for again."""


def repeatability(
    model: ModelFile,
    analysis: Analysis,
    inherited: Iterable[str],
    unsettled: Iterable[Unsettled],
    below: Iterable[Below],
    chances: Mapping[str, tuple[str, ...]],
) -> None:
    """What may answer differently when it is asked again: refused where rows must be the same, else told.

    Args:
        model: the model.
        analysis: of its text; findings are added to it.
        inherited: volatile functions that come with ephemeral models.
        unsettled: what the text leaves to chance beside these.
        below: ephemeral models and views that it reads.
        chances: by name of these: what is left to chance there, ties too; known where rows must be the same again.
    """
    strict = model.materialized in {"incremental", "snapshot"} or model.deterministic
    where = dict(analysis.volatile)
    for name in inherited:
        where.setdefault(name, None)
    for name, offset in sorted(where.items()):
        if strict:
            why = "deterministic = true" if model.deterministic else f"{model.materialized} models compare rows with those of earlier runs"
            analysis.finding(
                "L217", f"`{name}` does not give the same answer twice", why, _instead(name, "or take the value from the source"), offset
            )
        elif model.materialized != "ephemeral":
            analysis.finding(
                "L218",
                f"`{name}` does not give the same answer twice",
                "models of one run would see different values, and it is built each run",
                _instead(name, "which is one moment for all models of a run"),
                offset,
                severity="warning",
            )
    for each in unsettled:
        place = _keyword(analysis, each)
        if model.deterministic:
            because = f"{each.because}, and deterministic = true promises the same rows"
            analysis.finding("L217", f"`{each.what}` may answer differently when asked again", because, each.remedy, place)
        elif each.how == "no order" or each.what in PICKS:
            because = each.because
            if not strict:
                because += f", so {'what reads it' if model.materialized == 'ephemeral' else 'it'} is built each run"
            analysis.finding(
                "L218", f"`{each.what}` may answer differently when asked again", because, each.remedy, place, severity="warning"
            )
    if model.deterministic:
        for other in below:
            for what in sorted({*other.moving(), *chances.get(other.name, ())}):
                if other.is_ephemeral and what in where:
                    continue  # it has its own finding above
                read = next((each for each in analysis.places if each.node.name == other.name), None)
                analysis.finding(
                    "L217",
                    f"`{what}` of `{other.name}` may answer differently when asked again",
                    f"`{other.name}` is {'put in here' if other.is_ephemeral else 'a view, whose rows are made when they are read'}",
                    f"correct it in `{other.name}`, or materialize that as a table",
                    None if read is None else read.start,
                    length=0 if read is None else read.end - read.start,
                )


def _instead(name: str, of_clocks: str) -> str:
    """What to write instead of a volatile function."""
    if name in RANDOM:
        return (
            "make it from the row, e.g. `md5(CAST(order_id AS VARCHAR))` or `hash(order_id)` of its key, or take the value from the source"
        )
    if name in PLACES:
        return "write the value itself, or a variable: `$target` is the target's name"
    return f"use `$as_of`, {of_clocks}"


def _keyword(analysis: Analysis, each: Unsettled) -> int | None:
    """Where LIMIT, OFFSET or DISTINCT stands, for what the parser only places the number or column after."""
    index = None if each.offset is None or each.what not in PICKS else analysis.text.word_at(each.offset)
    words = analysis.text.words[:index] if index is not None else []
    return next((word.start for word in reversed(words) if word.text.upper() == each.what.partition(" ")[0]), each.offset)


def columns_named(model: ModelFile, columns: Sequence[Column], collation: str) -> list[Diagnostic]:
    """Findings where keys of the sidecar name columns that are not there, or of a type that will not do.

    Args:
        model: the model.
        columns: of its output.
        collation: the default one of text; empty for binary.
    """
    return _Demands(model, columns, collation).findings if model.materialized in {"incremental", "snapshot"} else []


class _Demands:
    def __init__(self, model: ModelFile, columns: Sequence[Column], collation: str) -> None:
        self.model = model
        self.collation = collation
        self.columns = {column.name.lower(): column for column in columns}
        self.findings: list[Diagnostic] = []
        for name in model.unique_key:
            self.present(name, "unique_key", "L222")
        if model.materialized == "incremental":
            self.incremental()
        else:
            self.snapshot()

    def incremental(self) -> None:
        model = self.model
        # Where both are named they are one column (S116): it is looked at by the name that the author gave.
        key, code = ("partition_column", "L222") if model.partition_column else ("watermark", "L221")
        column = self.present(model.partition_column or model.watermark, key, code)
        if column is not None:
            self.cursor(column, key)
            if model.strategy == "partition":
                self.partition(column)
            for key, text in (("lookback", model.lookback), ("until", model.until)):
                self.length(column, key, text)

    def snapshot(self) -> None:
        column = self.present(self.model.updated_at, "updated_at", "L221")
        if column is not None and self.model.snapshot_by != "columns" and not is_time(column.type):
            self.report(
                "L221",
                f"`{column.name}` is no time",
                f"it is {column.type}",
                "name a DATE or TIMESTAMP column, or compare columns",
                "updated_at",
            )
        elif column is not None:
            self.length(column, "until", self.model.until)
        for name in self.model.compare:
            self.present(name, "compare", "L222")

    def present(self, name: str | None, key: str, code: str) -> Column | None:
        if name is None:
            return None
        found = self.columns.get(name.lower())
        if found is None:
            names = [column.name for column in self.columns.values()]
            because = f"the output has {', '.join(f'`{each}`' for each in names)}"
            self.report(
                code,
                f"`{key}` names `{name}`, which is no output column",
                because,
                did_you_mean(name, names, "select it, or name another"),
                key,
            )
        return found

    def cursor(self, column: Column, key: str) -> None:
        if column.type == "VARCHAR" and self.collation:
            self.report(
                "L221",
                f"`{column.name}` cannot be a {key.removesuffix('_column')}",
                f"text is compared by the collation `{self.collation}`",
                "take default_collation out of the target's settings, or use another column",
                key,
            )
            return
        if is_cursor(column.type):
            return
        because = (
            "NaN would be greatest for ever, and text of a floating point number is not exact"
            if column.type in {"FLOAT", "DOUBLE"}
            else "its values have no order that can be relied on"
        )
        self.report(
            "L221",
            f"`{column.name}` cannot be a {key.removesuffix('_column')}",
            f"it is {column.type}: {because}",
            "use a whole number, DECIMAL, DATE, TIMESTAMP or VARCHAR column",
            key,
        )

    def partition(self, column: Column) -> None:
        unit = self.model.partition
        if unit is None or not is_cursor(column.type):
            return
        integers = unit.isdigit()
        if integers and column.type not in INTEGERS:
            self.report(
                "L222",
                f"ranges of {unit} need a whole number",
                f"`{column.name}` is {column.type}",
                'write partition = "day", say',
                "partition",
            )
        elif not integers and not is_time(column.type):
            self.report(
                "L222",
                f"ranges of one {unit} need a time",
                f"`{column.name}` is {column.type}",
                "write the width of a range as a whole number",
                "partition",
            )
        elif unit == "hour" and column.type == "DATE":
            self.report("L222", "a DATE has no hours", f"`{column.name}` is DATE", 'write partition = "day"', "partition")

    def length(self, column: Column, key: str, text: str | None) -> None:
        if text is None or text == "none" or not is_cursor(column.type):
            return
        try:
            length = duration(text)
        except ValueError:
            return  # the project's reader has said it
        if isinstance(length, timedelta) and not is_time(column.type):
            self.report("L221", f"`{key} = {text}` is a length of time", f"`{column.name}` is {column.type}", "write a whole number", key)
        elif isinstance(length, int) and is_time(column.type):
            self.report(
                "L221", f"`{key} = {text}` has no unit", f"`{column.name}` is {column.type}", f'write {key} = "{text} days", say', key
            )

    def report(self, code: str, summary: str, because: str, remedy: str, key: str) -> None:
        at = Position(path=self.model.sidecar or self.model.path, key=key)
        self.findings.append(Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=at, subject=self.model.name))
