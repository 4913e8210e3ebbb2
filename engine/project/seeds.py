"""Seeds: a CSV and its sidecar → columns with types, and rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime

from msgspec import UNSET

from interlock.engine.diagnostics import Diagnostic, Position, did_you_mean
from interlock.engine.project.checks import checks_of, contract_of
from interlock.engine.project.document import Document
from interlock.engine.project.exact import loss_of
from interlock.engine.project.files import SeedToml
from interlock.engine.project.models import check_relation, check_tags
from interlock.engine.project.names import NAME_RULE, OWN_COLUMNS, RESERVED_SCHEMAS, is_name, is_own_column
from interlock.engine.project.project import Contract, SeedColumn, SeedFile
from interlock.engine.project.rows import Malformed, Row, rows
from interlock.machines.records import digest

_INTEGER = re.compile(r"-?[1-9][0-9]*|0")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")


def infer(values: Iterable[str | None]) -> str:
    """The type of a column without a declared one.

    Whole number only if each comes back as it was written, ISO date, ISO timestamp, else text. A quoted empty cell is a text.

    >>> infer(["1", None, "-20"]), infer(["007"]), infer(["2024-02-29"]), infer(["2024-01-01T10:00:00"]), infer(["1.5"])
    ('BIGINT', 'VARCHAR', 'DATE', 'TIMESTAMP', 'VARCHAR')
    """
    present = {value for value in values if value is not None}
    if not present:
        return "VARCHAR"
    if all(_INTEGER.fullmatch(value) and len(value) <= 40 for value in present):
        numbers = [int(value) for value in present]
        for type_, bits in (("BIGINT", 63), ("HUGEINT", 127)):
            # The least value is left out: its negation has no such type, and drivers differ on it.
            if all(-(2**bits) < number < 2**bits for number in numbers):
                return type_
        return "VARCHAR"
    if all(_DATE.fullmatch(value) and _reads(value) for value in present):
        return "DATE"
    if all(_TIMESTAMP.fullmatch(value) and _reads(value) for value in present):
        return "TIMESTAMP"
    return "VARCHAR"


def _reads(value: str) -> bool:
    try:
        _ = date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(_six_digits(value))
    except ValueError:
        return False
    return True


def _six_digits(value: str) -> str:
    # Python 3.11 reads three or six digits after the point; any number up to six is ISO.
    whole, point, part = value.partition(".")
    return f"{whole}{point}{part:0<6}" if point else value


def seed_of(
    name: str, path: str, data: bytes, text: str, *, sidecar: tuple[Document, SeedToml] | None, findings: list[Diagnostic]
) -> SeedFile | None:
    """One seed, or nothing after a finding (S117)."""
    document, file = sidecar or (None, SeedToml())
    delimiter = file.delimiter
    if delimiter in '"\r\n':
        if document is not None:
            document.report("S104", ("delimiter",), "a quote or a line's end cannot be the delimiter", remedy='write delimiter = ";"')
        return None
    try:
        header, table = _table(rows(text, delimiter))
        body = [row for _, row in table]
        declared = _declared(document, file, header)
        _demand_exact(header, table, declared)
    except Malformed as error:
        lines = text.split("\n")
        excerpt = lines[error.line - 1].rstrip("\r")[:200] if error.line <= len(lines) else ""
        at = Position(path=path, line=error.line, excerpt=excerpt)
        remedy = error.remedy or "correct the file; it is read as RFC 4180 says"
        findings.append(
            Diagnostic(code="S117", summary=f"seed `{name}` cannot be read", because=error.because, remedy=remedy, at=at, subject=name)
        )
        return None
    columns = tuple(
        SeedColumn(name=column, type=declared.get(column.lower()) or infer(row[index] for row in body))
        for index, column in enumerate(header)
    )
    contract: Contract | None = None
    if document is not None:
        for key in ("schema", "alias"):
            value = getattr(file, key)
            if value is not UNSET:
                check_relation(document, key, value)
        check_tags(document, file.tags)
        if file.renamed_from is not UNSET and (not is_name(file.renamed_from) or file.renamed_from == name):
            because = "it is the seed's name now" if file.renamed_from == name else NAME_RULE
            document.report(
                "S104",
                ("renamed_from",),
                f"`renamed_from` cannot be `{file.renamed_from}`",
                because=because,
                remedy="write the former name",
            )
        contract = None if file.contract is UNSET else contract_of(document, ("contract",), file.contract)
    return SeedFile(
        name=name,
        path=path,
        sidecar=None if document is None else document.path,
        content_digest=digest("seed", delimiter.encode() + b"\n" + data),
        description=file.description,
        columns=columns,
        rows=tuple(body),
        delimiter=delimiter,
        schema=None if file.schema is UNSET or file.schema.lower() in RESERVED_SCHEMAS else file.schema,
        alias=None if file.alias is UNSET else file.alias,
        tags=file.tags,
        renamed_from=None if file.renamed_from is UNSET else file.renamed_from,
        contract=contract,
        checks=() if document is None else checks_of(document, ("checks",), file.checks),
    )


def _demand_exact(header: tuple[str, ...], table: list[tuple[int, Row]], declared: Mapping[str, str]) -> None:
    """A declared type holds each value as it stands in the file, or the file is not read as it."""
    for index, column in enumerate(header):
        type_ = declared.get(column.lower(), "")
        loss = loss_of(type_)
        if loss is None:
            continue
        for line, row in table:
            cell = row[index]
            lost = loss(cell) if cell is not None else ""
            if lost:
                because = f"`{cell}` of column `{column}` is no {type_}: {lost}"
                raise Malformed(line, because, "declare a type that holds it, or correct the cell")


def _table(found: list[tuple[int, Row]]) -> tuple[tuple[str, ...], list[tuple[int, Row]]]:
    if not found:
        raise Malformed(1, "it has no header")
    header: list[str] = []
    for index, cell in enumerate(found[0][1], start=1):
        if cell is None or not cell.strip():
            raise Malformed(found[0][0], f"column {index} has no name in the header")
        if cell.lower() in (name.lower() for name in header):
            raise Malformed(found[0][0], f"the header has `{cell}` twice (case is not looked at)")
        if is_own_column(cell):
            raise Malformed(
                found[0][0], f"the header has `{cell}`, and names with `{OWN_COLUMNS}` in front are Interlock's own", "give it another name"
            )
        header.append(cell)
    width = len(header)
    for line, row in found[1:]:
        if len(row) != width:
            raise Malformed(line, f"the row has {len(row)} cells and the header has {width}")
    return tuple(header), found[1:]


def _declared(document: Document | None, file: SeedToml, header: tuple[str, ...]) -> dict[str, str]:
    declared: dict[str, str] = {}
    if document is None:
        return declared
    folded = {column.lower() for column in header}
    for column, type_ in file.columns.items():
        here = ("columns", column)
        if column.lower() not in folded:
            because = f"the file has {', '.join(header)}"
            remedy = did_you_mean(column, header, "take it out")
            document.report("S104", here, f"the seed has no column `{column}`", because=because, remedy=remedy)
        elif column.lower() in declared:
            document.report("S106", here, f"column `{column}` is declared twice", because="case is not looked at", remedy="take one out")
        elif not type_.strip():
            document.report("C304", here, f"column `{column}` has an empty type", remedy="write a type such as VARCHAR, or take it out")
        else:
            declared[column.lower()] = type_
    return declared
