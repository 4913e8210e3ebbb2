"""A project whose names are made by macros, and whose templates read the parts of names."""

from __future__ import annotations

from typing import Final

from tests.importers import shapes

MADE: Final = ("create schema landing", "create table landing.visits as select 'of the project' as of")
"""What dbt's database holds before: a source's table, under another name than the source's."""

FILES: Final = {
    "profiles.yml": shapes.PROFILE,
    "packages.yml": "packages: [{local: tools}]",
    "macros/names.sql": """
        {% macro generate_schema_name(custom_schema_name, node) -%}
            {%- if 'staging' in node.path -%} stg
            {%- elif 'core' in node.tags -%} core
            {%- elif node.original_file_path.startswith('seeds') and node.config.materialized == 'seed' -%} planted
            {%- else -%} {{ custom_schema_name or target.schema }} {%- endif -%}
        {%- endmacro %}
        {% macro duckdb__generate_alias_name(custom_alias_name=none, node=none) -%}
            {{ 'seed_' ~ node.name if node.resource_type == 'seed' else custom_alias_name or node.name }}
        {%- endmacro %}
        {% macro default__date_trunc(datepart, date) %}date_trunc('year', {{ date }}){% endmacro %}
    """,
    "seeds/raw.csv": "id\n1\n",
    "models/staging/first.sql": "select *, '{{ this.schema }}.{{ this.name }}' as of from {{ ref('raw') }}",
    "models/second.sql": "{{ config(tags=['core'], alias='two') }}select '{{ this.schema }}.{{ this.identifier }}' as of",
    "models/sources.yml": "sources: [{name: land, schema: landing, tables: [{name: vis, identifier: visits}]}]",
    "models/parts.sql": """
        {{ config(materialized='table') }}
        select '{{ ref('second').schema }}.{{ ref('second').identifier }}' as of_model, '{{ source('land', 'vis').schema }}.{{ source('land', 'vis').name }}' as of_source,
            '{{ ref('raw').schema }}.{{ ref('raw').table }}' as of_seed from {{ source('land', 'vis') }}
    """,
    "models/own.sql": """
        {{ config(materialized='table', tags=['a'], meta={'limit': 7}) }}
        select '{{ model.config.materialized }} {{ model.tags | join(' ') }} {{ model.meta.limit }} {{ model.alias }} {{ model.schema }}' as of,
            '{{ config.get('unique_key', 'id') }} {{ config.get('lookback', 9) }} {{ config.get('no_such_key', 'x') }} {{ config.meta_get('limit', 1) }}' as found
    """,
    "models/truncated.sql": "select {{ dbt.date_trunc('month', \"date '2024-05-05'\") }} as qualified, {{ date_trunc('month', \"date '2024-05-05'\") }} as bare",
    "tools/dbt_project.yml": "name: tools\nversion: '1.0'\n",
    "tools/macros/names.sql": "{% macro generate_schema_name(custom_schema_name, node) %}of_tools{% endmacro %}",
    "tools/models/sources.yml": "sources: [{name: land, schema: other, tables: [{name: vis}]}, {name: land 2, schema: landing, tables: [{name: vis, identifier: visits}]}]",
    "tools/models/first.sql": "select 'of tools' as of",
    "tools/models/reads.sql": "{{ config(materialized='table') }}select of, '{{ project_name }}' as project from {{ source('land', 'vis') }} union all select of, '' from {{ ref('first') }} union all select of, '' from {{ source('land 2', 'vis') }}",
}  # fmt: skip

ROWS: Final = {
    "stg.first": [("1", "stg.first")],
    "core.two": [("core.two",)],
    "main.parts": [("core.two", "landing.visits", "planted.seed_raw")],
    "main.own": [("table a 7 own main", "None 1 x 7")],
    "main.truncated": [("2024-01-01 00:00:00", "2024-01-01 00:00:00")],
    "of_tools.reads": [("of the project", ""), ("of the project", "shop"), ("stg.first", "")],
}
"""What dbt makes of it, by relation."""
