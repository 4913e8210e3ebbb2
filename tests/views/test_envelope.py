from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.views import samples

from interlock.engine.diagnostics import Diagnostic
from interlock.engine.views.envelope import FORMAT, Envelope, envelope_of, json_line
from interlock.engine.views.redaction import nothing_secret, redacted
from interlock.engine.views.schema import RESULTS, output_schema, schema_text

SCHEMA_FILE = Path(__file__).parents[2] / "specs" / "schemas" / "output.json"
EVERY = samples.every_result()


def test_the_published_schema_is_the_structs() -> None:
    """`PYTHONPATH=.src python -m interlock.engine.views.schema specs/schemas/output.json` writes it anew."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("name", EVERY)
def test_every_answer_is_as_the_schema_says(name: str) -> None:
    result = EVERY[name]
    answer = json.loads(json_line(envelope_of(result, version="1", command=result.command)))
    conforms(answer, output_schema())
    assert answer["status"] == result.outcome
    assert answer["exit"] == result.exit_code
    assert type(result) is RESULTS[result.command]


def test_what_the_envelope_says_is_not_said_twice() -> None:
    answer = json.loads(json_line(envelope_of(samples.run_result(), version="1", command="run")))
    assert not {"command", "outcome", "exit_code", "findings"} & set(answer["result"])
    assert answer["result"]["models"][0]["path"] == list(samples.TO_THE_END)


def test_a_file_name_that_is_no_text_does_not_stop_the_answer() -> None:
    finding = Diagnostic(code="S101", summary="models/\udcff.sql cannot be read")
    envelope = Envelope(interlock="1", format=FORMAT, command="plan", status="refused", exit=3, result=None, findings=(finding,))
    assert json.loads(json_line(envelope))["findings"][0]["summary"] == "models/\\udcff.sql cannot be read"


def test_redaction_reaches_every_text_and_leaves_the_rest() -> None:
    result = samples.run_result()
    assert redacted(result, nothing_secret) is result
    assert redacted(result, lambda text: text) is result
    hidden = redacted(result, lambda text: text.replace("order_id", "***"))
    assert b"order_id" not in msgspec.json.encode(hidden)
    assert b"***" in msgspec.json.encode(hidden)
    assert hidden.milliseconds == result.milliseconds


def test_redaction_reaches_keys_and_values_of_mappings() -> None:
    plan = samples.plan_result()
    assert plan.body is not None
    secret = msgspec.structs.replace(plan, body=msgspec.structs.replace(plan.body, closure={"secret": "a secret"}))
    hidden = redacted(secret, lambda text: text.replace("secret", "***"))
    assert hidden.body is not None
    assert hidden.body.closure == {"***": "a ***"}


def conforms(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "$") -> None:
    """A JSON Schema check of the few keywords that our schema uses; any other fails, so that it cannot be skipped over."""
    root = root or schema
    known = {
        *("$schema", "title", "description", "default", "$defs", "type", "properties", "required", "additionalProperties"),
        *("enum", "const", "anyOf", "allOf", "if", "then", "$ref", "items", "prefixItems", "minItems", "maxItems"),
        "discriminator",
    }
    assert set(schema) <= known, (at, set(schema) - known)
    if "$ref" in schema:
        conforms(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, at)
    if "enum" in schema:
        assert value in schema["enum"], (at, value)
    if "const" in schema:
        assert value == schema["const"], (at, value)
    if "anyOf" in schema:
        assert any(holds(value, part, root, at) for part in schema["anyOf"]), (at, value)
    for part in schema.get("allOf", ()):
        if holds(value, part["if"], root, at):
            conforms(value, part["then"], root, at)
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None), "boolean": bool, "number": float}
    if "type" in schema:
        assert isinstance(value, kinds[schema["type"]]), (at, schema["type"], value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), at
        properties = schema.get("properties", {})
        for key, part in value.items():
            if key in properties:
                conforms(part, properties[key], root, f"{at}.{key}")
            elif isinstance(schema.get("additionalProperties"), dict):
                conforms(part, schema["additionalProperties"], root, f"{at}.{key}")
            else:
                assert schema.get("additionalProperties", True) is not False, (at, key)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, part in enumerate(value):
            conforms(part, schema["items"], root, f"{at}[{index}]")


def holds(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> bool:
    try:
        conforms(value, schema, root, at)
    except AssertionError:
        return False
    return True
