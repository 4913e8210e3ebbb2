"""Findings beside the code: annotations of GitHub Actions and SARIF."""

from __future__ import annotations

import json
from urllib.parse import unquote, urlsplit

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.views.annotations import annotated

FINDINGS = [
    Diagnostic(
        code="L201",
        summary="column `a` does not exist, 100%",
        because="it has:\nb",
        remedy="did you mean `b`?",
        at=Position(path="models/m one.sql", line=2, column=8, length=3),
        subject="m",
    ),
    Diagnostic(code="C307", severity="note", summary="proved on the rows", at=Position(path="models/m.toml", key="contract.columns")),
    Diagnostic(code="S100", severity="warning", summary="nowhere"),
]


def test_annotations_of_github_actions() -> None:
    assert annotated(FINDINGS, "github", "shop").splitlines() == [
        (
            "::error file=shop/models/m one.sql,line=2,col=8,endColumn=11,title=L201%3A column `a` does not exist%2C 100%25"
            "::column `a` does not exist, 100%25%0Abecause: it has:%0Ab%0Aremedy: did you mean `b`?"
        ),
        "::notice file=shop/models/m.toml,title=C307%3A proved on the rows::contract.columns: proved on the rows",
        "::warning title=S100%3A nowhere::nowhere",
    ]


def test_sarif() -> None:
    log = json.loads(annotated(FINDINGS, "sarif", "."))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["C307", "L201", "S100"]
    first, second, third = run["results"]
    assert (first["ruleId"], first["level"], run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"]) == ("L201", "error", "L201")
    (place,) = first["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "models/m%20one.sql"
    assert place["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 8, "endColumn": 11}
    assert "region" not in second["locations"][0]["physicalLocation"]
    assert "locations" not in third


def test_a_path_is_a_reference_that_leads_back_to_it() -> None:
    log = json.loads(annotated(FINDINGS[:1], "sarif", "a#b/50%/was?/ä:x"))
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    parts = urlsplit(uri)
    assert (parts.scheme, parts.query, parts.fragment) == ("", "", "")
    assert unquote(parts.path) == "a#b/50%/was?/ä:x/models/m one.sql"
    assert uri.isascii()


def test_without_findings_there_is_an_empty_answer() -> None:
    assert annotated([], "github") == ""
    assert json.loads(annotated([], "sarif"))["runs"][0]["results"] == []
