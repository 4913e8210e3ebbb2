"""Findings for machines that show them beside the code: annotations of GitHub Actions, and SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, assert_never

import msgspec

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.version import VERSION
from interlock.machines.refusals import CATALOGUE

Form: TypeAlias = Literal["text", "github", "sarif"]

_LEVELS: Final = {"error": "error", "warning": "warning", "note": "notice"}
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def annotated(findings: Iterable[Diagnostic], form: Literal["github", "sarif"], base: str = "") -> str:
    """The findings as text for standard output.

    Args:
        findings: in the order in which they are shown.
        form: for whom.
        base: the project's directory, as seen from the repository's; it stands before each path.
    """
    prefix = "" if base in {"", "."} else base.rstrip("/") + "/"
    match form:
        case "github":
            return "".join(_annotation(finding, prefix) + "\n" for finding in findings)
        case "sarif":
            return msgspec.json.format(msgspec.json.encode(_log(list(findings), prefix)), indent=2).decode() + "\n"
        case _ as unreachable:
            assert_never(unreachable)


def _annotation(finding: Diagnostic, prefix: str) -> str:
    properties: list[tuple[str, str]] = []
    at = finding.at
    if at is not None:
        properties.append(("file", prefix + at.path))
        if at.line is not None:
            properties.append(("line", str(at.line)))
        if at.column is not None:
            properties.append(("col", str(at.column)))
            if at.length:
                properties.append(("endColumn", str(at.column + at.length)))
    properties.append(("title", f"{finding.code}: {finding.summary}"))
    listed = ",".join(f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}" for name, value in properties)
    return f"::{_LEVELS[finding.severity]} {listed}::{_escaped(_message(finding))}"


def _message(finding: Diagnostic) -> str:
    where = f"{finding.at.key}: " if finding.at is not None and finding.at.key else ""
    rest = [f"because: {finding.because}" if finding.because else "", f"remedy: {finding.remedy}" if finding.remedy else ""]
    return "\n".join([f"{where}{finding.summary}", *(each for each in rest if each)])


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _log(findings: list[Diagnostic], prefix: str) -> dict[str, Any]:
    codes = sorted({finding.code for finding in findings})
    rules = [{"id": code, "shortDescription": {"text": CATALOGUE.get(code, code)}} for code in codes]
    results = [_result(finding, codes.index(finding.code), prefix) for finding in findings]
    driver = {"name": "interlock", "version": VERSION, "rules": rules}
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(finding: Diagnostic, rule: int, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": _message(finding)},
    }
    if finding.at is not None:
        found["locations"] = [_location(finding.at, prefix)]
    if finding.also:
        found["relatedLocations"] = [_location(place, prefix) for place in finding.also]
    return found


def _location(at: Position, prefix: str) -> dict[str, Any]:
    from urllib.parse import quote  # noqa: PLC0415

    # A relative reference of RFC 3986: of `#`, `?` and `%` in a directory's name, each means something else there.
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(prefix + at.path)}}
    if at.line is not None:
        region: dict[str, Any] = {"startLine": at.line}
        if at.column is not None:
            region |= {"startColumn": at.column, "endColumn": at.column + max(at.length, 1)}
        place["region"] = region
    return {"physicalLocation": place}
