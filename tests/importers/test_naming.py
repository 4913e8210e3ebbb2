"""Names: macros that make them, templates that read their parts, and what a name means where several packages have it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.importers import naming
from tests.importers.dbt_projects import Import, imported, write

from interlock.engine import api


def rows(found: Import, relation: str) -> list[tuple[str, ...]]:
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as connection:
        return sorted(connection.execute(f"select columns(*)::varchar from {relation}").fetchall())


def test_names_are_dbts_and_so_is_what_templates_read_of_them(tmp_path: Path) -> None:
    root = tmp_path / "dbt"
    write(root, {})
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        for statement in naming.MADE:
            connection.execute(statement)
    found = imported(tmp_path, naming.FILES)
    assert {item.name: item.why for item in found.done.items if item.status == "refused"} == {}
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    assert {relation: rows(found, relation) for relation in naming.ROWS} == naming.ROWS


@pytest.mark.parametrize("macro", ["generate_schema_name", "default__generate_schema_name", "duckdb__generate_schema_name"])
def test_a_rule_for_schemas_is_the_projects_however_it_is_called(tmp_path: Path, macro: str) -> None:
    found = imported(
        tmp_path, {"macros/s.sql": f"{{% macro {macro}(custom_schema_name, node) %}}made{{% endmacro %}}", "models/a.sql": "select 1 as id"}
    )
    assert 'schema = "made"' in found.sidecar("a")


@pytest.mark.parametrize("part", ["raw_path", "columns", "created_at"])
def test_a_rule_for_names_that_reads_what_is_not_known_is_refused_and_decides_nothing(tmp_path: Path, part: str) -> None:
    text = f"{{% macro generate_schema_name(custom_schema_name, node) %}}{{% if node.{part} %}}made{{% endif %}}{{% endmacro %}}"
    found = imported(tmp_path, {"macros/s.sql": text, "models/a.sql": "select 1 as id"})
    assert (found.item("a").code, f"`{part}` of a node" in found.item("a").why) == ("D805", True)


def test_a_package_source_that_the_project_changes_is_refused(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "packages.yml": "packages: [{local: tools}]",
            "tools/dbt_project.yml": "name: tools\nversion: '1.0'\n",
            "tools/models/s.yml": "sources: [{name: land, tables: [{name: vis}]}]",
            "tools/models/reads.sql": "select * from {{ source('land', 'vis') }}",
            "models/s.yml": "sources: [{name: land, overrides: tools, schema: other, tables: [{name: vis}]}]",
        },
    )
    (source, _) = [item for item in found.items("source") if item.name == "land.vis"]
    assert (source.status, source.code, "overrides" in source.why) == ("refused", "D822", True)
    assert (found.item("reads").status, found.item("reads").code) == ("refused", "D808")


def test_a_bare_name_in_a_package_s_macro_means_what_it_means_to_the_model(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "packages.yml": "packages: [{local: tools}]",
            "tools/dbt_project.yml": "name: tools\nversion: '1.0'\n",
            "tools/macros/m.sql": "{% macro key() %}of_tools{% endmacro %}{% macro keyed() %}{{ key() }} {{ tools.key() }} {{ alone() }}{% endmacro %}"
            "{% macro alone() %}alone{% endmacro %}",
            "macros/m.sql": "{% macro key() %}of_shop{% endmacro %}",
            "models/ours.sql": "select '{{ tools.keyed() }}' as k",
            "tools/models/theirs.sql": "select '{{ keyed() }}' as k",
        },
    )
    assert "'of_shop of_tools alone'" in found.sql("ours")
    assert "'of_tools of_tools alone'" in found.sql("theirs")
