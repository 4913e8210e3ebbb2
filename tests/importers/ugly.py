"""dbt projects of any size in the shape of a company's: layers, packages, versions, and everything ugly that real files hold."""

from __future__ import annotations

from typing import Final

PROFILE: Final = "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, schema: \"{{ env_var('NOT_SET_HERE', 'main') }}\"}}}"

PROJECT: Final = """\
\ufeff# A byte order mark, anchors, templates and every level of configuration.\r
name: shop\r
version: '1.0'\r
profile: shop\r
model-paths: [models]\r
flags: {send_anonymous_usage_stats: false}\r
vars:\r
  nested: {currencies: {eur: 1, "zł": 4}, list: [1, 2]}\r
  shop: {wide: true, "start": '2024-01-01'}\r
  tools: {prefix: t_}\r
models:\r
  +persist_docs: &docs {relation: true, columns: true}\r
  shop:\r
    staging: {+materialized: view, +tags: [stg], +schema: staging}\r
    marts: {+materialized: "{{ 'table' if target.name == 'dev' else 'view' }}", +persist_docs: *docs}\r
  tools: {+schema: tools}\r
"""

MACROS: Final = {
    "macros/chain.sql": """
        {%- macro outer(c, n=2) -%}{{ return(inner(c) ~ ' + ' ~ n) }}{%- endmacro -%}
        {% macro inner(c) %}{{ adapter.dispatch('innermost', 'tools')(c) }}{% endmacro %}
        {% macro default__innermost(c) %}abs({{ c }}){% endmacro %}
        {%- macro cents(c) -%} ({{ c }} / 100)::decimal(18, 2) {%- endmacro -%}
        {% macro states() %}{{ return(['new', 'old', "it's"]) }}{% endmacro %}
    """,
    "macros/empty.sql": "",
    "macros/comment.sql": "{# nothing {{ here }} #}\n",
    "dbt_packages/tools/dbt_project.yml": "name: tools\nversion: '1.0'\nvars: {prefix: nothing}\n",
    "dbt_packages/tools/macros/keys.sql": """
        {% macro generate_surrogate_key(fields) -%}
            {{ return(adapter.dispatch('generate_surrogate_key', 'tools')(fields)) }}
        {%- endmacro %}
        {% macro default__generate_surrogate_key(fields) -%}
            {%- set parts = [] -%}
            {%- for field in fields -%}
                {%- do parts.append("coalesce(cast(" ~ field ~ " as " ~ dbt.type_string() ~ "), '_null_')") -%}
                {%- if not loop.last %}{%- do parts.append("'-'") -%}{%- endif -%}
            {%- endfor -%}
            {{ dbt.hash(dbt.concat(parts)) }}
        {%- endmacro %}
        {% macro pivot(column, values, agg='sum', then_value=1) %}
            {%- for value in values %}
            {{ agg }}(case when {{ column }} = '{{ dbt.escape_single_quotes(value) }}' then {{ then_value }} else 0 end)
                as {{ adapter.quote(var('prefix', 'p_') ~ value) }}{{ "," if not loop.last }}
            {%- endfor %}
        {% endmacro %}
        {% macro star(from) %}{%- set columns = adapter.get_columns_in_relation(from) -%}*{% endmacro %}
        {% macro union_relations(relations) %}{% if execute %}{% endif %}select 1{% endmacro %}
    """,
    "dbt_packages/tools/models/calendar.sql": "{{ config(materialized='table') }} select range::date as day from range(date '2024-01-01', date '2024-02-01', interval 1 day)",
    "dbt_packages/tools/models/same.sql": "select 1 as theirs",
}

EVENTS: Final = (
    "create schema landing; create table landing.events as select range::int as id, 1.5::double as amount, 'new' as state, "
    "timestamp '2024-01-05' as happened from range(3)"
)
"""The source, in dbt's database."""

STAGING: Final = (
    "{{ config(tags=['n']) }}\nselect id, amount, state, happened from {{ source('raw', 'events') }} -- plain\n",
    "{%- set columns = ['id', 'amount', 'state', 'happened'] -%}\r\nselect\r\n  {%- for c in columns %}\r\n  {{ c }}{{ ',' if not loop.last }}\r\n  {%- endfor %}\r\nfrom {{ ref('seeded') }}\r\n",
    "\ufeffselect id, {{ outer('amount') }} as amount, state, happened -- Größe €\nfrom {{ ref('seeded') }} where state <> '日本 {% raw %}{{ x }}{% endraw %}'",
    "{% if var('wide') and target.type == 'duckdb' %}select * {% else %}select id {% endif %} from {{ ref('seeded') }} {# it's gone #}",
    "with same as (select * from {{ ref('seeded') }}), s2 as (select * from same)\nselect id, {{ cents('amount') }} as amount, state, happened from s2\n\n",
    "select id, amount, state, happened from {{ ref('seeded') }} where happened >= '{{ modules.datetime.date(2023, 1, 31) + modules.datetime.timedelta(days=1) }}'",
    "{% set rates = var('nested')['currencies'] %}select id, amount * {{ rates['zł'] }} as amount, state, happened, {% for k, v in rates.items() %}{{ v }} as {{ adapter.quote(k) }}{% if not loop.last %}, {% endif %}{% endfor %} from {{ ref('shop', 'seeded') }}",
    "select id, amount, state, happened from {{ ref('seeded') }} where '{{ env_var('NOT_SET_HERE', 'x') }}' = 'x' /* {{ ref('seeded') }} */",
)
"""Queries of (id, amount, state, happened)."""

MARTS: Final = (
    "select {{ tools.generate_surrogate_key(['id', 'state']) }} as k, * from {{ ref(PARENT) }}",
    "select state, {{ tools.pivot('state', states()) }} from {{ ref(PARENT) }} group by state",
    "select a.*, d.day from {{ ref(PARENT) }} as a left join {{ ref('tools', 'calendar') }} as d on d.day = a.happened::date",
    "{{\n  config(\n    materialized = 'ephemeral',\n    meta = {'owner': 'Zoë', 'n': 1},\n  )\n}}\n\nselect count(*) as n, max(id) as id from {{ ref(PARENT) }}",
    "select {{ dbt.date_trunc('month', 'happened') }} as m, sum(amount) as amount, {{ dbt.listagg('id', \"','\", 'order by id') }} as ids from {{ ref(PARENT) }} group by 1",
)

REFUSED: Final = (
    ("select {{ tools.star(ref('seeded')) }} from {{ ref('seeded') }}", "D804"),
    ("{{ tools.union_relations([ref('seeded')]) }}", "D804"),
    ("{{ dbt.date_spine('day', \"'2024-01-01'\", '(select max(happened) from ' ~ ref('seeded') ~ ')') }}", "D804"),
    ("{{ config(materialized='incremental', unique_key='id') }} select * from {{ ref('seeded') }} {% if is_incremental() %} where happened > (select max(happened) from {{ this }}) {% endif %}", "D803"),
    ("{% if x %}select 1", "D805"),
    ("select '{{ run_started_at.strftime('%Y') }}' as y", "D829"),
    ("select {{ dbt_utils.pivot('a', ['b']) }}", "D806"),
    ("", "D817"),
    ("-- nothing but a comment: C:\\temp\\x\n", "D817"),
    ("select * from {{ ref('nowhere') }}", "D807"),
    ("{{ config(materialized='table', post_hook=\"delete from {{ this }}\") }} select 1 as id", "D810"),
)  # fmt: skip


def project(models: int, *, odd: bool = True) -> tuple[dict[str, str | bytes], dict[str, str]]:
    """The files of a project with about so many models, and the code of each model that cannot be kept.

    Without the odd ones dbt builds all of it.
    """
    files: dict[str, str | bytes] = {
        "dbt_project.yml": PROJECT.encode(),
        "profiles.yml": PROFILE,
        **MACROS,
        "packages.yml": 'packages:\n  - package: owner/tools\n    version: [">=1.0.0", "<2.0.0"]\n',
        "seeds/seeded.csv": "\ufeffid,amount,state,happened\r\n" + "".join(f"{n},{n}.5,{('new', 'old')[n % 2]},2024-01-0{n} 10:00:00\r\n" for n in range(1, 8)),
        "models/raw.yml": """
            version: 2
            x-columns: &columns
              - {name: id, data_type: integer, description: "{{ doc('id') }}"}
              - {name: amount, data_type: double}
              - {name: state, data_type: varchar}
              - {name: happened, data_type: timestamp}
            sources:
              - name: raw
                schema: "{{ 'land' ~ 'ing' }}"
                tables: [{name: events, columns: *columns}]
        """,
        "models/two.yml": "version: 2\n---\nversion: 2\nmodels: []\n",
        "models/empty.yml": "",
        "models/docs.md": "{% docs id %}The `{{ id }}` | of *it* {% enddocs %}\r\n",
        "models/same.sql": "select 2 as ours",
        "models/notes.txt": "C:\\models\\x.sql",
        "tests/any.sql": "select * from {{ ref('same') }} where ours <> 2",
    }  # fmt: skip
    refused: dict[str, str] = {}
    sections: list[str] = []
    for number in range(max(models - 2, 3)):
        kind = number % 20
        if kind < 9:
            name = f"stg_{number}"
            files[f"models/staging/area_{number % 7}/{name}.sql"] = STAGING[number % len(STAGING)].encode()
        elif kind < 18:
            name = f"mart_{number}"
            parent = f"stg_{number - 9}"
            files[f"models/marts/Größe {number % 5}/{name}.sql"] = MARTS[number % len(MARTS)].replace("PARENT", f"'{parent}'").encode()
        elif odd:
            name = f"odd_{number}"
            text, code = REFUSED[(number // 20 + kind) % len(REFUSED)]
            files[f"models/marts/odd/{name}.sql"] = text.encode()
            refused[name] = code
        if kind < 9:
            sections.append(
                f"  - name: {name}\n    description: \"n° {number} {{{{ 'x' }}}}\"\n    columns: [{{name: id, tests: [not_null, unique]}}]\n"
            )
    if not odd:
        del files["models/two.yml"]
    files["models/staging/_staging.yml"] = "version: 2\nmodels:\n" + "".join(sections)
    return files, refused
