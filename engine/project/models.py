"""A model's SQL, its sidecar and the defaults of its folders → one `ModelFile`, held to the rules between keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.project.checks import checks_of, columns_of, contract_of
from interlock.engine.project.document import Document
from interlock.engine.project.durations import duration
from interlock.engine.project.files import DefaultsToml, ModelToml
from interlock.engine.project.names import NAME_RULE, RELATION_RULE, RESERVED_SCHEMAS, is_name, is_relation, is_tag, suggestion
from interlock.engine.project.project import Check, Contract, Materialization, ModelFile, Strategy

Sidecar: TypeAlias = tuple[Document, ModelToml]
Defaults: TypeAlias = tuple[Document, DefaultsToml]

PARTITIONS = ("hour", "day", "week", "month", "year")

_STORED: frozenset[Materialization] = frozenset({"view", "table", "incremental", "snapshot"})
_ROWS: frozenset[Materialization] = frozenset({"table", "incremental", "snapshot"})
_HISTORY: frozenset[Materialization] = frozenset({"incremental", "snapshot"})
_INCREMENTAL: frozenset[Materialization] = frozenset({"incremental"})
_SNAPSHOT: frozenset[Materialization] = frozenset({"snapshot"})

EFFECT: dict[str, frozenset[Materialization]] = {
    "strategy": _INCREMENTAL,
    "watermark": _INCREMENTAL,
    "unique_key": _HISTORY,
    "lookback": _INCREMENTAL,
    "partition": _INCREMENTAL,
    "partition_column": _INCREMENTAL,
    "until": _HISTORY,
    "future": _HISTORY,
    "late": _INCREMENTAL,
    "on_conflict": _INCREMENTAL,
    "on_change": _HISTORY,
    "on_schema_change": _HISTORY,
    "full_refresh": _HISTORY,
    "restrict": _INCREMENTAL,
    "guard": _ROWS,
    "snapshot_by": _SNAPSHOT,
    "updated_at": _SNAPSHOT,
    "compare": _SNAPSHOT,
    "hard_deletes": _SNAPSHOT,
    "schema": _STORED,
    "alias": _STORED,
    "renamed_from": _STORED,
    "checks": _STORED,
}
"""Keys that mean something only with some materializations. In a sidecar, a key without effect is refused; a folder's
default is for whatever models of the folder it fits."""


class _Keys:
    """The keys of one model, each from the nearest file that says it."""

    def __init__(self, sidecar: Sidecar | None, defaults: Sequence[Defaults]) -> None:
        self.sidecar = sidecar
        self.defaults = defaults

    def given(self, key: str) -> bool:
        """Whether the sidecar itself says it."""
        return self.sidecar is not None and getattr(self.sidecar[1], key) is not UNSET

    def find(self, key: str) -> tuple[Any, Document | None]:
        """Its value and the file that says it; `None` where none does."""
        layers: list[tuple[Document, Struct]] = [*([self.sidecar] if self.sidecar else []), *self.defaults]
        for document, file in layers:
            value = getattr(file, key, UNSET)
            if value is not UNSET:
                return value, document
        return None, None

    def value(self, key: str) -> Any:
        """Its value, or `None`."""
        return self.find(key)[0]


def model_of(
    name: str, path: str, text: str, *, sidecar: Sidecar | None, defaults: Sequence[Defaults], findings: list[Diagnostic]
) -> ModelFile:
    """One model with the defaults of its folders, nearest first. Findings go to the files' documents, or to `findings`."""
    if sidecar is None and not defaults:
        return ModelFile(name=name, path=path, sidecar=None, text=text)
    keys = _Keys(sidecar, defaults)
    materialized: Materialization = keys.value("materialized") or "view"
    if sidecar is not None:
        _refuse_without_effect(sidecar, materialized, stated=keys.value("materialized") is not None)
    values: dict[str, Any] = {}
    for key, kinds in EFFECT.items():
        value = keys.value(key)
        if value is not None and materialized in kinds and key not in {"checks", "unique_key"}:
            values[key] = value
    for key in ("deterministic", "tags"):
        value = keys.value(key)
        if value is not None:
            values[key] = value
    reader = _Reader(name, path, keys, findings)
    values["unique_key"] = reader.unique_key() if materialized in _HISTORY else ()
    if materialized == "incremental":
        values.update(reader.incremental())
    elif materialized == "snapshot":
        values.update(reader.snapshot())
    for key in ("lookback", "partition"):
        if key in values:
            values[key] = str(values[key])
    reader.names()
    if values.get("schema", "").lower() in RESERVED_SCHEMAS:
        del values["schema"]  # it has its finding; what follows looks at the rest of the model
    return ModelFile(
        name=name,
        path=path,
        sidecar=sidecar[0].path if sidecar else None,
        text=text,
        description=sidecar[1].description if sidecar else "",
        materialized=materialized,
        contract=reader.contract(materialized),
        checks=reader.checks() if materialized in _STORED else (),
        **values,
    )


def _refuse_without_effect(sidecar: Sidecar, materialized: Materialization, *, stated: bool) -> None:
    document, file = sidecar
    meant = "did you mean `materialized`?"
    if any(finding.remedy == meant or (finding.at is not None and finding.at.key == "materialized") for finding in document.findings):
        return  # what the model is meant to be is not known
    for key, kinds in EFFECT.items():
        if getattr(file, key) is UNSET or materialized in kinds:
            continue
        because = f"the model is {_an(materialized)}" + ("" if stated else " since `materialized` is not given")
        fitting = " or ".join(f'"{kind}"' for kind in ("view", "table", "incremental", "snapshot") if kind in kinds)
        document.report(
            "S116",
            (key,),
            f"`{key}` has no effect",
            because=f"{because}; it is for {fitting.replace(chr(34), '')}",
            remedy=f"take it out, or set materialized = {fitting}",
        )


def _an(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


class _Reader:
    """The rules between keys of one model."""

    def __init__(self, name: str, path: str, keys: _Keys, findings: list[Diagnostic]) -> None:
        self.name = name
        self.path = path
        self.keys = keys
        self.findings = findings

    def report(self, code: str, key: str, summary: str, *, because: str = "", remedy: str = "") -> None:
        """A finding at the key where it is said, else at the sidecar, else at the model."""
        document = self.keys.find(key)[1]
        if document is None and self.keys.sidecar is not None:
            document = self.keys.sidecar[0]
        if document is not None:
            # What a folder's default says wrong is one finding, however many models it is said for.
            own = self.keys.sidecar is not None and document is self.keys.sidecar[0]
            document.report(code, (key,), summary, because=because, remedy=remedy, subject=self.name if own else "")
            return
        at = Position(path=self.path)
        self.findings.append(Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=at, subject=self.name))

    def missing(self, key: str, because: str, example: str) -> None:
        """A finding at `materialized`, since that is what asks for the key. None where it is there with a slip of the pen."""
        document = self.keys.sidecar[0] if self.keys.sidecar is not None else None
        meant = f"did you mean `{key}`?"
        if document is not None and any(
            finding.remedy == meant or (finding.at is not None and finding.at.key == key) for finding in document.findings
        ):
            return
        at = Position(path=self.path) if document is None else msgspec.structs.replace(document.at(("materialized",)), key=key)
        summary = f"`{key}` is missing for model `{self.name}`"
        finding = Diagnostic(code="S105", summary=summary, because=because, remedy=f"add {example}", at=at, subject=self.name)
        (self.findings if document is None else document.findings).append(finding)

    # --- incremental ---

    def unique_key(self) -> tuple[str, ...]:
        value, document = self.keys.find("unique_key")
        if document is None:
            return ()
        return columns_of(document, ("unique_key",), value) or ()

    def incremental(self) -> dict[str, Any]:
        values = self.keys.value
        strategy: Strategy | None = values("strategy")
        changed: dict[str, Any] = {}
        if strategy is None:
            self.missing("strategy", "an incremental model says how it is extended", 'strategy = "append", "merge" or "partition"')
        self.columns("watermark", "partition_column")
        if strategy == "partition":
            self.partition()
            self.one_cursor(values("watermark"), values("partition_column"))
        else:
            for key in ("partition", "partition_column"):
                if self.keys.given(key):
                    self.conflict(key, f"the strategy is {strategy or 'not given'}", 'set strategy = "partition", or take it out')
        if values("watermark") is None:
            if strategy == "partition" and values("partition_column") is not None:
                changed["watermark"] = values("partition_column")
            else:
                self.missing("watermark", "rows above its greatest value are new", 'watermark = "updated_at", an output column that grows')
        if strategy == "merge" and values("unique_key") is None:
            self.missing("unique_key", "merge finds the row to update by it", 'unique_key = ["order_id"]')
        if self.keys.given("on_conflict") and (strategy != "append" or values("unique_key") is None):
            self.conflict("on_conflict", "it is for append with a unique_key", "take it out, or add unique_key")
        self.lookback(strategy)
        self.until()
        self.restrict()
        return changed

    def lookback(self, strategy: Strategy | None) -> None:
        value = self.keys.value("lookback")
        if value is None:
            return
        if strategy != "partition" and self.keys.value("unique_key") is None:
            self.conflict("lookback", "rows that are read again can only be told apart by a key", "add unique_key, or use partition")
        if isinstance(value, int) and value >= 0:
            return
        try:
            duration(str(value))
        except ValueError as error:
            self.report("S104", "lookback", str(error), remedy='write it as lookback = "2 days"')

    def one_cursor(self, watermark: str | None, column: str | None) -> None:
        """Ranges are found by one column. A load time as watermark would read as a promise that late rows are seen."""
        if watermark is not None and column is not None and watermark.lower() != column.lower():
            self.conflict(
                "watermark",
                f"ranges are replaced by `{column}`, from its own greatest value on: what `{watermark}` says is new is not looked for",
                'take it out (`lookback` says how far below late rows are seen), or use strategy = "merge" with a unique_key',
            )

    def partition(self) -> None:
        value = self.keys.value("partition")
        if value is None:
            self.missing("partition", "the strategy replaces whole ranges", 'partition = "day", or a width such as 1000')
            return
        text = str(value)
        if text in PARTITIONS or (text.isdecimal() and text.isascii() and 0 < int(text) < 2**63):
            return
        self.report(
            "S104",
            "partition",
            f"`partition` cannot be `{text}`",
            because=f"it is one of {', '.join(PARTITIONS)}, or a whole number above 0",
            remedy='write partition = "day", or partition = 1000',
        )

    def until(self) -> None:
        value = self.keys.value("until")
        if value is None or value == "none":
            return
        try:
            skew = duration(value)
        except ValueError as error:
            self.report("S104", "until", str(error), remedy='write until = "5 minutes", or until = "none"')
            return
        if isinstance(skew, int):
            self.report("S104", "until", f"`until` cannot be `{value}`", because="it has no unit", remedy='write until = "5 minutes"')

    def restrict(self) -> None:
        for pair in self.keys.value("restrict") or ():
            relation, dot, column = pair.rpartition(".")
            if not dot or not relation or not column:
                self.report("S104", "restrict", f"`{pair}` is no source.column", remedy='write restrict = ["orders.updated_at"]')

    # --- snapshot ---

    def snapshot(self) -> dict[str, Any]:
        values = self.keys.value
        if values("unique_key") is None:
            self.missing("unique_key", "a snapshot follows each row by it", 'unique_key = ["customer_id"]')
        by = values("snapshot_by")
        if by is None:
            if values("updated_at") is not None:
                by = "updated_at"
            elif values("compare") is not None:
                by = "columns"
            else:
                self.missing("snapshot_by", "a snapshot says how it sees a change", 'updated_at = "updated_at", or snapshot_by = "columns"')
        self.columns("updated_at")
        if by == "updated_at":
            if values("updated_at") is None:
                self.missing("updated_at", 'snapshot_by is "updated_at"', 'updated_at = "updated_at", the row\'s own time of change')
            if values("compare") is not None:
                self.conflict("compare", "changes are seen by updated_at", 'take it out, or set snapshot_by = "columns"')
        elif by == "columns":
            if values("updated_at") is not None:
                self.conflict("updated_at", "changes are seen by columns", 'take it out, or set snapshot_by = "updated_at"')
            for key in ("until", "future"):
                if self.keys.given(key):
                    self.conflict(key, "versions are dated by the plan, not by the rows", 'take it out, or set snapshot_by = "updated_at"')
        self.until()
        compare, document = self.keys.find("compare")
        if document is not None:
            columns_of(document, ("compare",), compare)
        return {"snapshot_by": by}

    # --- all ---

    def conflict(self, key: str, because: str, remedy: str) -> None:
        self.report("S116", key, f"`{key}` has no effect for model `{self.name}`", because=because, remedy=remedy)

    def columns(self, *keys: str) -> None:
        for key in keys:
            value = self.keys.value(key)
            if value is not None and not value.strip():
                self.report("S104", key, f"`{key}` names no column", remedy="write a column's name")

    def names(self) -> None:
        for key in ("schema", "alias"):
            value, document = self.keys.find(key)
            if document is not None:
                check_relation(document, key, value)
        tags, document = self.keys.find("tags")
        if document is not None:
            check_tags(document, tags)
        old = self.keys.value("renamed_from")
        if old is not None and (not is_name(old) or old == self.name):
            because = "it is the model's name now" if old == self.name else NAME_RULE
            self.report(
                "S104", "renamed_from", f"`renamed_from` cannot be `{old}`", because=because, remedy="write the model's former name"
            )

    def checks(self) -> tuple[Check, ...]:
        tables, document = self.keys.find("checks")
        return () if document is None else checks_of(document, ("checks",), tables)

    def contract(self, materialized: Materialization) -> Contract | None:
        table, document = self.keys.find("contract")
        if document is None or table is UNSET:
            return None
        contract = contract_of(document, ("contract",), table)
        if contract is not None and materialized == "ephemeral":
            for name, column in contract.columns.items():
                if not column.nullable:
                    document.report(
                        "S116",
                        ("contract", "columns", name, "nullable"),
                        f"`nullable = false` cannot be kept for column `{name}`",
                        because="an ephemeral model has no rows of its own to look at",
                        remedy="make it a view, or promise it in the model that reads it",
                        subject=self.name,
                    )
        return contract


def check_relation(document: Document, key: str, value: str) -> None:
    """S108 where a schema or relation that we make cannot be called so."""
    if key == "schema" and value.lower() in RESERVED_SCHEMAS:
        document.report(
            "S108", (key,), f"no schema of a model is called `{value}`", because="that name is taken", remedy="use another name"
        )
    elif not is_relation(value):
        document.report("S108", (key,), f"`{value}` is no name for `{key}`", because=RELATION_RULE, remedy=f"call it `{suggestion(value)}`")


def check_tags(document: Document, tags: Sequence[str]) -> None:
    """S108 where no selector could name a tag."""
    for index, tag in enumerate(tags):
        if not is_tag(tag):
            because = "a tag has letters, digits and any of _ - . /"
            document.report("S108", ("tags", index), f"`{tag}` is no tag", because=because, remedy=f"call it `{suggestion(tag)}`")
