"""[vars] and `--vars` → the values of variables, each of the type that interlock.toml declares."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from interlock.engine.diagnostics import Diagnostic, did_you_mean
from interlock.engine.project.checks import scalar, scalars
from interlock.engine.project.document import Document
from interlock.engine.project.files import InterlockToml
from interlock.engine.project.names import BUILT_IN_VARIABLES, NAME_RULE, is_name, suggestion
from interlock.engine.project.project import Scalar, Variable


def variables_of(document: Document, file: InterlockToml, given: Mapping[str, str], findings: list[Diagnostic]) -> dict[str, Variable]:
    """The variables, with those of the command line in the place of the declared ones."""
    found: dict[str, Variable] = {}
    for name, value in file.vars.items():
        here = ("vars", name)
        if not is_name(name):
            document.report("S108", here, f"`{name}` is no name for a variable", because=NAME_RULE, remedy=f"call it `{suggestion(name)}`")
        elif name in BUILT_IN_VARIABLES:
            document.report("S106", here, f"`${name}` is built in", because="as_of, until and target are", remedy="call it otherwise")
        elif isinstance(value, list | tuple):
            items = scalars(document, here, value)
            if items is not None:
                found[name] = items
        else:
            one = scalar(document, here, value)
            if one is not None:
                found[name] = one
    for name, text in given.items():
        if name not in file.vars:
            because = "it is built in" if name in BUILT_IN_VARIABLES else "[vars] in interlock.toml does not declare it"
            remedy = (
                "use --as-of"
                if name == "as_of"
                else did_you_mean(name, file.vars, "declare it under [vars], with a value for when it is not given")
            )
            findings.append(
                Diagnostic(code="S121", summary=f"nothing reads the variable `{name}`", because=because, remedy=remedy, subject=name)
            )
        elif name in found:
            try:
                found[name] = _given(text, found[name])
            except ValueError as error:
                because = f"[vars] declares it as {_kind(found[name])}"
                findings.append(
                    Diagnostic(
                        code="S104",
                        summary=f"--vars {name}={text}: {error}",
                        because=because,
                        remedy="write a value of that type",
                        subject=name,
                    )
                )
    return found


def _given(text: str, declared: Variable) -> Variable:
    """The text of the command line as a value of the declared one's type."""
    if not isinstance(declared, tuple):
        return _one(text, declared)
    if text.lstrip().startswith("["):
        try:
            parsed: Any = tomllib.loads(f"value = {text}", parse_float=Decimal)["value"]
        except ValueError as error:
            raise ValueError('it is no list; write a, b or ["a", "b"]') from error
        texts = [str(item) if not isinstance(item, bool) else str(item).lower() for item in parsed]
    else:
        texts = [part.strip() for part in text.split(",")]
    if not texts or texts == [""]:
        raise ValueError("the list is empty")
    return tuple(_one(part, declared[0]) for part in texts)


def _one(text: str, declared: Scalar) -> Scalar:
    match declared:
        case bool():
            if text.lower() not in {"true", "false"}:
                raise ValueError("write true or false")
            return text.lower() == "true"
        case int():
            if re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is None or not -(2**63) <= int(text) < 2**63:
                raise ValueError("it is no whole number of 64 bits")
            return int(text)
        case Decimal():
            if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII) is None:
                raise ValueError("it is no decimal")
            return Decimal(text)
        case datetime():
            try:
                moment = datetime.fromisoformat(text)
            except ValueError as error:
                raise ValueError("it is no ISO timestamp") from error
            if (moment.tzinfo is None) != (declared.tzinfo is None):
                raise ValueError("it must have no zone" if declared.tzinfo is None else "it must have a zone, such as Z")
            return moment
        case date():
            try:
                return date.fromisoformat(text)
            except ValueError as error:
                raise ValueError("it is no ISO date") from error
        case _:
            return text


def _kind(value: Variable) -> str:
    match value:
        case tuple():
            return f"a list of which each is {_kind(value[0])}"
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case Decimal():
            return "a decimal"
        case datetime():
            return "a timestamp"
        case date():
            return "a date"
        case _:
            return "a text"
