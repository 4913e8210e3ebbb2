"""Whatever a dbt project holds, its import ends in a report: no text and no shape of YAML makes it stumble."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.importers.dbt_projects import NOW, write

from interlock.engine.diagnostics import Refused
from interlock.engine.importers.dbt.imported import import_project
from interlock.engine.warehouse.duckdb.parser import parse

# The parser raises the recursion limit when it is first used; Hypothesis wants it unchanged during a test.
parse("select 1")

EXAMPLES = int(os.environ.get("INTERLOCK_EXAMPLES", "30"))
KEYS = st.sampled_from(
    [
        "name",
        "models",
        "columns",
        "tests",
        "data_tests",
        "config",
        "meta",
        "tags",
        "+tags",
        "description",
        "versions",
        "v",
        "latest_version",
        "constraints",
        "contract",
        "enforced",
        "type",
        "where",
        "severity",
        "arguments",
        "unique",
        "relationships",
        "to",
        "field",
        "values",
        "accepted_values",
        "sources",
        "tables",
        "schema",
        "database",
        "identifier",
        "freshness",
        "snapshots",
        "relation",
        "unique_key",
        "strategy",
        "check_cols",
        "seeds",
        "column_types",
        "delimiter",
        "quote",
        "exposures",
        "unit_tests",
        "enabled",
        "+materialized",
        "materialized",
        "alias",
        "shop",
        "vars",
        "dispatch",
        "on-run-start",
        "pre-hook",
        "+post-hook",
        "packages",
        "macros",
        "data_type",
        "m",
    ]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.floats(allow_nan=False, width=16), st.text(max_size=6),
    st.sampled_from(["m", "id", "unique", "not_null", "table", "incremental", "view", "{{ var('x') }}", "{{ ref('m') }}", "ref('m')", "{% if %}", "{{ 1 / 0 }}", ">1", "a b", "*"]),
)  # fmt: skip
TREES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)), max_leaves=18
)
WORDS = st.sampled_from(
    [
        "{{ ",
        " }}",
        "{% ",
        " %}",
        "{# ",
        " #}",
        "ref('m')",
        "source('a', 'b')",
        "config(",
        "materialized='table'",
        ")",
        "if x",
        "endif",
        "for i in range(3)",
        "endfor",
        "set x = 1",
        "macro a(b)",
        "endmacro",
        "snapshot s",
        "endsnapshot",
        "test t(model)",
        "endtest",
        "call a(1)",
        "endcall",
        "raw",
        "endraw",
        "do 1",
        "select ",
        "1 as id",
        " from ",
        "t",
        "\n",
        "\r\n",
        ";",
        "--",
        "/*",
        "*/",
        "'",
        '"',
        "is_incremental()",
        "this",
        "x | upper",
        "loop.last",
        "x.y.z",
        "[]",
        "{'a': 1}",
        "é",
        "\x00",
        "$x",
        "a.b.c",
        "return(1)",
        "adapter.dispatch('a')()",
        "return",
        "caller()",
        "'%s' % x",
        "''.format(1)",
        "x['__class__']",
        "'a' * 9",
    ]
)
TEXTS = st.lists(WORDS, max_size=14).map("".join)


def run(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        write(Path(place) / "dbt", files)
        out = Path(place) / "new"
        try:
            done = import_project(Path(place) / "dbt", out, project_id="p", environment={}, clock=lambda: NOW)
        except Refused as refusal:
            assert {finding.code for finding in refusal.findings} <= {"D801", "D802"}  # noqa: PT017 - its findings are the claim
            return
        assert (out / "IMPORT.md").is_file()
        assert all(item.code and item.why and item.remedy for item in done.items if item.status == "refused"), done.items


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(TREES, TREES, st.lists(TREES, max_size=2))
def test_any_yaml(properties: Any, config: Any, entries: list[Any]) -> None:
    project = {"name": "shop", "version": "1", **({"models": config, "vars": config} if not isinstance(config, dict) else config)}
    sections = ["models", "sources", "seeds", "snapshots", "tests", "exposures"]
    listed: dict[str, Any] = dict.fromkeys(sections, entries)
    run(
        {
            "dbt_project.yml": json.dumps({**project, "name": "shop"}),
            "models/a.yml": json.dumps(properties),
            "models/b.yml": json.dumps(listed),
            "models/c.yml": json.dumps(
                {"models": [{**(properties if isinstance(properties, dict) else {"columns": properties}), "name": "m"}]}
            ),
            "models/m.sql": "select 1 as id",
            "seeds/s.csv": "id\n1\n",
        }
    )


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(TEXTS, TEXTS, TEXTS)
def test_any_text(model: str, macro: str, snapshot: str) -> None:
    run(
        {
            "models/m.sql": model,
            "models/n.sql": f"select * from {{{{ ref('m') }}}} {macro}",
            "macros/m.sql": macro,
            "snapshots/s.sql": snapshot,
            "tests/t.sql": snapshot,
        }
    )
