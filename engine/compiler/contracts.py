"""Contracts against columns as they compile: names and types. Null values are proved on the rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from msgspec import structs

from interlock.engine.compiler.nested import difference, fits, same
from interlock.engine.compiler.types import Incomplete, Length, OutOfRange, canonical_type
from interlock.engine.diagnostics import Diagnostic, Position, did_you_mean
from interlock.engine.project.project import Contract, ContractColumn
from interlock.engine.warehouse.duckdb.binder import Binder, NotBound
from interlock.machines.evidence import Column, ContractFinding, PromisedColumn

AT_RUN_TIME: Final = "at run time"
_BORROWED: Final = "its expression is never null as long as a source keeps what it promises, which is asked of it before it is read"
_SHOWN_LATER: Final = (
    "a source promises it, and what a view shows later is asked of nobody: rows are looked at whenever it is made or rechecked"
)


class Promises(NamedTuple):
    """A contract in the warehouse's own words."""

    columns: tuple[PromisedColumn, ...]
    findings: tuple[Diagnostic, ...]


def pinned(contract: Contract | None, promises: Promises, columns: tuple[Column, ...]) -> tuple[PromisedColumn, ...]:
    """The promises as the rows are held to them: the type that the column really has, where a narrower one fits or its fields differ in case."""
    there = {column.name.lower(): column.type for column in columns}

    def held(promise: PromisedColumn) -> PromisedColumn:
        if contract is None or promise.type is None:
            return promise
        found = there.get(promise.column.lower(), promise.type)
        is_met = contract.columns[promise.column].assignable or same(found, promise.type)
        return structs.replace(promise, type=found) if is_met else promise

    return tuple(map(held, promises.columns))


def _meets(column: ContractColumn, found: str, wanted: str) -> bool:
    return same(found, wanted) or (column.assignable and fits(found, wanted))


class _Reporter:
    def __init__(self, subject: str, path: str) -> None:
        self.subject = subject
        self.path = path
        self.found: list[Diagnostic] = []

    def add(self, code: str, summary: str, because: str, remedy: str, *keys: str, severity: str = "error") -> None:
        self.found.append(
            Diagnostic(
                code=code,
                severity=severity,  # type: ignore[arg-type]
                summary=summary,
                because=because,
                remedy=remedy,
                at=Position(path=self.path, key=".".join(["contract", *keys])),
                subject=self.subject,
                invariant="I4",
            )
        )


def promises_of(contract: Contract | None, subject: str, path: str, binder: Binder) -> Promises:
    """The contract with canonical types; findings where a type is none, or a column stands twice."""
    report = _Reporter(subject, path)
    promised: list[PromisedColumn] = []
    seen: dict[str, str] = {}
    for name, column in (contract.columns if contract else {}).items():
        before = seen.setdefault(name.lower(), name)
        if before != name:
            report.add(
                "C306",
                f"column `{name}` stands twice in the contract",
                f"`{before}` is the same name: case is not looked at",
                "take one out",
                "columns",
                name,
            )
            continue
        kind: str | None = None
        if column.type is not None:
            found = canonical_type(column.type, binder)
            if isinstance(found, Incomplete):
                report.add(
                    "C304",
                    f"type `{column.type}` is not complete",
                    found.message,
                    "write precision and scale, such as `DECIMAL(18,2)`",
                    "columns",
                    name,
                    "type",
                )
            elif isinstance(found, Length):
                report.add("C304", f"`{column.type}` promises a length", found.message, found.remedy(name), "columns", name, "type")
            elif isinstance(found, NotBound):
                remedy = f"did you mean `{found.candidates[0]}`?" if found.candidates else "write a type of the warehouse, such as `BIGINT`"
                if isinstance(found, OutOfRange):
                    remedy = "a decimal has a precision of 1 to 38, and a scale of 0 up to that precision, such as `DECIMAL(18,2)`"
                report.add("C304", f"`{column.type}` is no type", found.message, remedy, "columns", name, "type")
            else:
                kind = found
        promised.append(PromisedColumn(column=name, type=kind, nulls="allowed" if column.nullable else "forbidden"))
    return Promises(tuple(promised), tuple(report.found))


def compared(
    contract: Contract | None,
    promises: Promises,
    columns: tuple[Column, ...],
    subject: str,
    path: str,
    *,
    own: Collection[str] = (),
    never_null: Collection[str] = (),
    kept: Collection[str] = (),
    borrowed: Collection[str] = (),
) -> tuple[list[Diagnostic], tuple[ContractFinding, ...]]:
    """What the compiled columns say of each promise.

    Args:
        contract: as its file says.
        promises: the same in the warehouse's words.
        columns: of the relation.
        subject: the model.
        path: the file in which the contract stands.
        own: columns that we add: they are no extra columns.
        never_null: columns that are proved never null, in small letters.
        kept: columns into which the SQL itself brings no null: only what a source holds, and does not speak of, can. The rows
            are the proof of these, as of all.
        borrowed: columns of which it is a promise of a source that the proof rests on; it is asked of the source in the run.
    """
    if contract is None:
        return [], ()
    report = _Reporter(subject, path)
    there = {column.name.lower(): column for column in columns}
    findings: list[ContractFinding] = []
    at_run_time: list[str] = []
    for promise in promises.columns:
        column = there.get(promise.column.lower())
        if column is None:
            because = f"the model gives {', '.join(f'`{each.name}`' for each in columns)}"
            findings.append(ContractFinding(column=promise.column, proof="false", because=because))
            if contract.columns[promise.column].protected:
                report.add(
                    "C305",
                    f"protected column `{promise.column}` would disappear",
                    because,
                    "keep it, or take its protection out of the contract first",
                    "columns",
                    promise.column,
                )
            else:
                remedy = did_you_mean(promise.column, (each.name for each in columns), "select it, or take it out of the contract")
                report.add("C301", f"the model has no column `{promise.column}`", because, remedy, "columns", promise.column)
        elif promise.type is not None and not _meets(contract.columns[promise.column], column.type, promise.type):
            because = f"it is {column.type}, and the contract says {promise.type}"
            place = difference(column.type, promise.type)
            if place:
                because = f"`{promise.column}.{place}".replace(" ", "` ", 1)
            findings.append(ContractFinding(column=promise.column, proof="false", because=because))
            report.add(
                "C303",
                f"column `{column.name}` has another type than promised",
                because,
                f"write `CAST(… AS {promise.type}) AS {column.name}`, or correct the contract",
                "columns",
                promise.column,
                "type",
            )
        elif promise.nulls == "forbidden" and column.name.lower() in never_null:
            because = _BORROWED if column.name.lower() in borrowed else "its expression is never null"
            findings.append(ContractFinding(column=promise.column, proof="compiled", because=because))
        elif (
            promise.nulls == "forbidden"
            and column.name.lower() not in kept
            and AT_RUN_TIME not in {contract.prove, contract.columns[promise.column].prove}
        ):
            because = "the SQL itself may give nulls, whatever its sources hold: a padded join, a missing branch, a function that can fail"
            findings.append(ContractFinding(column=promise.column, proof="unproved", because=because))
            report.add(
                "C308",
                f"`nullable = false` of column `{column.name}` is not proved",
                because,
                f'exclude nulls, as by `WHERE {column.name} IS NOT NULL`, or write `prove = "at run time"`: a null then stops the write',
                "columns",
                promise.column,
                "nullable",
            )
        elif promise.nulls == "forbidden":
            if AT_RUN_TIME not in {contract.prove, contract.columns[promise.column].prove}:
                at_run_time.append(column.name)  # where it was asked for, nothing needs to be said
            because = _SHOWN_LATER if column.name.lower() in borrowed else "rows are looked at before they are committed"
            findings.append(ContractFinding(column=promise.column, proof="at_run_time", because=because))
        else:
            findings.append(ContractFinding(column=promise.column, proof="compiled", because=f"the binder gives {column.type}"))
    if contract.extra_columns == "refuse":
        promised = {*own, *(promise.column.lower() for promise in promises.columns)}
        for column in columns:
            if column.name.lower() not in promised:
                report.add(
                    "C302",
                    f"column `{column.name}` is not in the contract",
                    "the contract refuses extra columns",
                    "add it to the contract, or leave it out of the model",
                    "extra_columns",
                )
    if at_run_time:
        report.add(
            "C307",
            "nullable = false is proved on the rows",
            f"before they are there it is not known of {', '.join(f'`{name}`' for name in at_run_time)}",
            "nothing to do: a null stops the write",
            "columns",
            severity="note",
        )
    return report.found, tuple(findings)
