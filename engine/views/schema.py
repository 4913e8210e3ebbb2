"""The JSON Schema of what `--json` prints, made from the Structs: `python -m interlock.engine.views.schema FILE` writes it.

`specs/schemas/output.json` is this text; a test holds them equal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.engine.results import (
    ActResult,
    CheckResult,
    CompareResult,
    CompileResult,
    DiffResult,
    DoctorResult,
    ExplainResult,
    InitResult,
    ListResult,
    PlanResult,
    Result,
    RunResult,
    ShowResult,
    StatusResult,
)
from interlock.engine.results_audit import BundleResult, DrawnResult, LogResult, ReplayResult, ReportResult, StoryResult, VerifyResult
from interlock.engine.results_import import ImportResult
from interlock.engine.views.envelope import SAID_ONCE, Envelope

RESULTS: Final[dict[str, type[Result]]] = {
    "adopt": ActResult,
    "apply": RunResult,
    "audit bundle": BundleResult,
    "audit compare": CompareResult,
    "audit explain": StoryResult,
    "audit log": LogResult,
    "audit replay": ReplayResult,
    "audit verify": VerifyResult,
    "check": CheckResult,
    "compile": CompileResult,
    "diagram": DrawnResult,
    "diff": DiffResult,
    "doctor": DoctorResult,
    "explain": ExplainResult,
    "import dbt": ImportResult,
    "init": InitResult,
    "ledger accept-warehouse": ActResult,
    "ledger archive": ActResult,
    "ledger attach": ActResult,
    "lineage": DrawnResult,
    "ls": ListResult,
    "plan": PlanResult,
    "receipts compact": ActResult,
    "report": ReportResult,
    "reset": ActResult,
    "resume": RunResult,
    "run": RunResult,
    "show": ShowResult,
    "sources diff": DrawnResult,
    "sources pin": DrawnResult,
    "status": StatusResult,
}
"""Which result each command answers with."""


def output_schema() -> dict[str, Any]:
    """The schema: the envelope, and for each command the form of its `result`."""
    structs: list[Any] = [Envelope, *dict.fromkeys(RESULTS.values())]
    _, components = msgspec.json.schema_components(structs, ref_template="#/$defs/{name}")
    envelope = components.pop("Envelope")
    for struct in RESULTS.values():
        _leave_out_what_the_envelope_says(components[struct.__name__])
    envelope["properties"]["command"]["enum"] = ["", *sorted(RESULTS)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What interlock prints under --json",
        **{key: value for key, value in envelope.items() if key != "title"},
        "allOf": [
            {
                "if": {"properties": {"command": {"const": command}}},
                "then": {"properties": {"result": {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/{struct.__name__}"}]}}},
            }
            for command, struct in sorted(RESULTS.items())
        ],
        "$defs": dict(sorted(components.items())),
    }


def _leave_out_what_the_envelope_says(schema: dict[str, Any]) -> None:
    for name in SAID_ONCE:
        schema["properties"].pop(name, None)
    schema["required"] = [name for name in schema.get("required", []) if name not in SAID_ONCE]


def schema_text() -> str:
    """The schema as it stands in `specs/schemas/output.json`."""
    return msgspec.json.format(msgspec.json.encode(output_schema()), indent=2).decode() + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
