"""`specs/schemas/`: JSON Schemas of the project's files, made from the Structs, so that editors complete and explain keys.

`python -m interlock.engine.project.schemas [DIR]` writes them; a test fails when they differ.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from interlock.engine.project.files import DefaultsToml, InterlockToml, ModelToml, SeedToml, SourcesToml

FILES: dict[str, tuple[type[msgspec.Struct], str]] = {
    "interlock": (InterlockToml, "interlock.toml"),
    "sources": (SourcesToml, "sources.toml"),
    "model": (ModelToml, "models/**/<name>.toml"),
    "defaults": (DefaultsToml, "models/**/_defaults.toml"),
    "seed": (SeedToml, "seeds/**/<name>.toml"),
}
"""Name of the schema → what it is made from, and the files that it is for."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one kind of file."""
    kind, files = FILES[name]
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    assert root == {"$ref": f"#/$defs/{kind.__name__}"}
    body = parts.pop(kind.__name__)
    made: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "title": files}
    return {**made, "$defs": dict(sorted(parts.items()))} if parts else made


def texts() -> dict[str, str]:
    """File name → content, of all schemas."""
    return {f"{name}.json": json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n" for name in FILES}


def main(arguments: list[str]) -> None:
    """Write them all."""
    directory = Path(arguments[0] if arguments else "specs/schemas")
    for name, text in texts().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
