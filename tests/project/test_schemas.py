from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.engine.project.files import DefaultsToml, ModelToml
from interlock.engine.project.models import EFFECT
from interlock.engine.project.project import ModelFile
from interlock.engine.project.schemas import FILES, schema, texts

FOLDER = Path(__file__).parent.parent.parent / "specs" / "schemas"


@pytest.mark.parametrize("name", sorted(texts()))
def test_the_published_schema_is_made_from_the_structs(name: str) -> None:
    remedy = "run: python -m interlock.engine.project.schemas"
    assert (FOLDER / name).read_text(encoding="utf-8") == texts()[name], remedy


def objects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        if tree.get("type") == "object" and "properties" in tree:
            yield tree
        for value in tree.values():
            yield from objects(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from objects(value)


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_table_is_closed_and_every_key_explained(name: str) -> None:
    found = schema(name)
    described = {key: part.get("description") for key, part in found.get("$defs", {}).items()}
    for table in objects(found):
        assert table["additionalProperties"] is False
        assert table["description"]
        for key, value in table["properties"].items():
            reference = value.get("$ref") or next((each["$ref"] for each in value.get("anyOf", []) if "$ref" in each), "")
            assert value.get("description") or described.get(reference.rsplit("/", 1)[-1]), key


def names(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_every_key_of_a_model_file_can_be_written_in_its_sidecar() -> None:
    assert names(ModelToml) == names(ModelFile) - {"name", "path", "sidecar", "text"}
    assert names(DefaultsToml) < names(ModelToml)
    assert set(EFFECT) < names(ModelToml)
