"""Projects with the shapes of real ones, in files of their own words."""

from __future__ import annotations

from typing import Final

PROFILE: Final = "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, threads: 2}}}"

SEEDS: Final = {
    "seeds/raw_orders.csv": "id,customer_id,status,amount,ordered_at\n"
    + "".join(
        f"{number},{number % 7},{('placed', 'shipped', 'returned')[number % 3]},{number * 1.25},2024-01-{number % 28 + 1:02d} 10:00:00\n"
        for number in range(1, 60)
    ),
    "seeds/raw_customers.csv": "id,name,since,is_vip,note\n"
    + "".join(
        f'{number},"name, {number}",2023-0{number + 1}-01,{"true" if number % 2 else "false"},{"" if number == 3 else "n"}\n'
        for number in range(7)
    ),
    "seeds/codes.csv": "code;label\n1;one\n2;\n3;null\n",
    "seeds/_seeds.yml": """
        seeds:
          - name: codes
            config: {delimiter: ";", column_types: {code: bigint}}
            columns:
              - name: code
                data_tests: [unique]
    """,
}

FEATURES: Final = {
    "ref": "select * from {{ ref('raw_orders') }}",
    "loop": """
        {% set states = ['placed', 'shipped', 'returned'] %}
        select customer_id,
        {%- for state in states %}
            sum(case when status = '{{ state }}' then amount else 0 end) as {{ state }}_amount{{ "," if not loop.last }}
        {%- endfor %}
        from {{ ref('raw_orders') }} group by customer_id
    """,
    "condition": "select id{% if var('wide', false) %}, status{% else %}, amount{% endif %} from {{ ref('raw_orders') }} {% if target.name == 'dev' %}where id < 50{% endif %}",
    "macro": "select id, {{ dollars('amount') }} as d, {{ labelled('status') }} from {{ ref('raw_orders') }}",
    "macro_calls_macro": "select id, {{ rounded_dollars('amount', 1) }} as d from {{ ref('raw_orders') }}",
    "builtin": """
        select id, {{ dbt.date_trunc('month', 'ordered_at') }} as m, {{ dbt.dateadd('day', 3, 'ordered_at') }} as d,
            {{ dbt.datediff("'2024-01-01'", 'ordered_at', 'day') }} as n, {{ dbt.safe_cast('id', dbt.type_string()) }} as s,
            {{ dbt.hash('status') }} as h, {{ dbt.concat(["status", "'-'", "customer_id"]) }} as c, {{ dbt.last_day('ordered_at', 'month') }} as l,
            {{ dbt.split_part("status", "'p'", 1) }} as p, {{ dbt.type_int() and "cast(id as " ~ dbt.type_int() ~ ")" }} as i,
            {{ date_trunc('year', 'ordered_at') }} as y, {{ dbt.datediff("cast('2024-01-01' as date)", 'ordered_at', 'week') }} as w,
            {{ dbt.dateadd('quarter', 1, 'ordered_at') }} as q, {{ dbt.last_day('ordered_at', 'quarter') }} as lq
        from {{ ref('raw_orders') }}
    """,
    "listagg": "select status, {{ dbt.listagg('id', \"','\", 'order by id') }} as ids, {{ dbt.bool_or('id > 30') }} as b from {{ ref('raw_orders') }} group by status",
    "raw": "select id, '{% raw %}{{ no }}{% endraw %}' as t from {{ ref('raw_orders') }}",
    "whitespace": "{%- set n = namespace(total=0) -%}{%- for i in range(4) -%}{%- set n.total = n.total + i -%}{%- endfor -%}select {{ n.total }} as n, id from {{- ' ' ~ ref('raw_orders') }}",
    "call_block": "{% call twice() %}select id from {{ ref('raw_orders') }}{% endcall %}",
    "two_ctes": """
        with ref as (select * from {{ ref('raw_orders') }}),
        raw_customers as (select id, customer_id from ref),
        joined as (select c.name, r.id from raw_customers r join {{ ref('raw_customers') }} c on c.id = r.customer_id)
        select * from joined
    """,
    "package_ref": "select * from {{ ref('shop', 'raw_orders') }} where id > 5",
    "comment": "/* {{ ref('raw_orders') }} */ select id -- it's a comment; {# gone #}\nfrom {{ ref('raw_orders') }} -- end",
    "non_ascii": "select id, 'Zürich – 東京' as ort from {{ ref('raw_orders') }} where '🦆' <> 'ü'",
    "do_and_list": "{% set c = [] %}{% do c.append('id') %}{% do c.append('status') %}select {{ c | join(', ') }} from {{ ref('raw_orders') }}",
    "dict": "{% set m = {'a': 'id', 'b': 'status'} %}select {% for k, v in m.items() %}{{ v }} as {{ k }}{{ ', ' if not loop.last }}{% endfor %} from {{ ref('raw_orders') }}",
    "config_get": "{{ config(meta={'limit': 7}) }}select id from {{ ref('raw_orders') }} where id < {{ config.get('meta')['limit'] }}",
    "model_name": "select '{{ model.name }}' as n, '{{ this.identifier }}' as t, id from {{ ref('raw_orders') }}",
    "fromjson": "select {{ fromjson('[1, 2]') | sum }} as n, '{{ tojson({'a': 1}) }}' as j",
    "dates": "{% set d = modules.datetime.date(2024, 1, 31) %}select date '{{ d }}' as d, date '{{ d + modules.datetime.timedelta(days=1) }}' as e",
    "env": "select '{{ env_var('NOT_SET_ANYWHERE', 'x') }}' as e, id from {{ ref('raw_orders') }}",
    "windows": "select id, row_number() over (partition by customer_id order by id) as n from {{ ref('raw_orders') }} qualify n = 1",
    "generic_group": "select customer_id, count(*) as n from {{ ref('raw_orders') }} {{ group_by(1) }}",
}
"""A Jinja feature each."""

MACROS: Final = {
    "macros/money.sql": """
        {% macro dollars(c, digits=2) %}round({{ c }} * 100, {{ digits }}){% endmacro %}
        {% macro rounded_dollars(c, n) -%}
            {{ return(dollars(c, digits=n)) }}
        {%- endmacro %}
        {% macro labelled(c) %}upper({{ c }}) as label{% endmacro %}
        {% macro twice() %}{{ caller() }} union all {{ caller() }}{% endmacro %}
        {% macro group_by(n) %}group by {% for i in range(1, n + 1) %}{{ i }}{{ ", " if not loop.last }}{% endfor %}{% endmacro %}
    """
}


def by_construct(materializations: tuple[str, ...] = ("view", "table", "ephemeral")) -> dict[str, str]:
    """Each Jinja feature with each materialization, and a table over each ephemeral model."""
    files = {"profiles.yml": PROFILE, **SEEDS, **MACROS}
    for feature, text in FEATURES.items():
        for kind in materializations:
            name = f"{feature}_{kind}"
            files[f"models/{feature}/{name}.sql"] = f"{{{{ config(materialized='{kind}') }}}}\n{text}"
            if kind == "ephemeral":
                files[f"models/{feature}/{name}_read.sql"] = f"{{{{ config(materialized='table') }}}} select * from {{{{ ref('{name}') }}}}"
    return files


def restaurant() -> dict[str, str]:
    """Schemas, aliases, versions, a local package, snapshots, sources, incrementals, tests of every kind."""
    return {
        "dbt_project.yml": """
            name: shop
            version: '1.0'
            profile: shop
            vars: {start: '2024-01-05', shop: {only: placed}, kitchen: {spice: hot}}
            models:
              +materialized: view
              shop:
                marts: {+materialized: table, +schema: marts, +tags: [nightly], +persist_docs: {relation: true}}
              kitchen: {+schema: kitchen, +materialized: table}
            seeds: {shop: {+schema: raw}}
            data_tests: {+store_failures: false}
        """,
        "profiles.yml": PROFILE,
        **SEEDS,
        **MACROS,
        "packages.yml": "packages:\n  - local: kitchen_package\n",
        "kitchen_package/dbt_project.yml": "name: kitchen\nversion: '1.0'\nvars: {spice: mild, heat: 3}\nmodels: {kitchen: {+materialized: view}}\n",
        "kitchen_package/macros/k.sql": """
            {% macro spiced(c) %}{{ return(adapter.dispatch('spiced', 'kitchen')(c)) }}{% endmacro %}
            {% macro default__spiced(c) %}{{ c }} || '{{ var('spice') }}{{ var('heat') }}'{% endmacro %}
            {% macro duckdb__spiced(c) %}'duck ' || {{ kitchen.default__spiced(c) }}{% endmacro %}
        """,
        "kitchen_package/models/dishes.sql": "select 1 as dish, {{ spiced(\"'soup'\") }} as name",
        "models/staging/stg_orders.sql": "\ufeffselect id as order_id, customer_id, status, amount, ordered_at from {{ ref('raw_orders') }}\r\nwhere ordered_at >= '{{ var(\"start\") }}'\r\n",
        "models/staging/orders_v1.sql": "select order_id from {{ ref('stg_orders') }}",
        "models/staging/orders_v2.sql": "select order_id, status from {{ ref('stg_orders') }} where status <> '{{ var('only') }}'",
        "models/marts/fct.sql": "{{ config(alias='facts') }} select o.*, d.name from {{ ref('orders') }} o, {{ ref('kitchen', 'dishes') }} d",
        "models/marts/old.sql": "select * from {{ ref('orders', v=1) }} order by 1 limit 5",
        "models/marts/merged.sql": "{{ config(materialized='incremental', unique_key='order_id', event_time='ordered_at') }} select order_id, status, ordered_at from {{ ref('stg_orders') }}",
        "models/marts/events.sql": "{{ config(event_time='ordered_at') }} select order_id, ordered_at::timestamp as ordered_at from {{ ref('stg_orders') }}",
        "models/marts/batched.sql": "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='ordered_at', batch_size='month', begin='2023-11-01', lookback=12) }} select order_id, ordered_at from {{ ref('events') }}",
        "models/marts/contracted.sql": "select order_id, status from {{ ref('stg_orders') }}",
        "models/marts/current.sql": "select * from {{ ref('snap_ts') }} where dbt_valid_to is null",
        "models/marts/from_source.sql": "select * from {{ source('raw', 'visits') }}",
        "snapshots/snaps.sql": """
            {% snapshot snap_ts %}
            {{ config(target_schema='snaps', unique_key='order_id', strategy='timestamp', updated_at='ordered_at') }}
            select order_id, status, ordered_at from {{ ref('stg_orders') }}
            {% endsnapshot %}
        """,
        "snapshots/y.yml": """
            snapshots:
              - name: snap_check
                relation: ref('stg_orders')
                config: {unique_key: order_id, strategy: check, check_cols: [status], schema: snaps}
        """,
        "macros/tests.sql": """
            {% test positive(model, column_name, above=0) %}
            select * from {{ model }} where {{ column_name }} <= {{ above }}
            {% endtest %}
        """,
        "tests/no_future.sql": "{{ config(severity='warn') }} select * from {{ ref('stg_orders') }} where ordered_at > '2030-01-01'",
        "models/s.yml": """
            version: 2
            sources:
              - name: raw
                schema: landing
                tables:
                  - name: visits
                    description: "by hand"
                    columns:
                      - name: id
                        tests: [not_null, unique]
            models:
              - name: orders
                latest_version: 2
                versions: [{v: 1}, {v: 2}]
                columns:
                  - name: order_id
                    tests: [unique]
              - name: contracted
                config: {contract: {enforced: true}}
                columns:
                  - {name: order_id, data_type: integer, description: "{{ doc('key') }}", constraints: [{type: not_null}]}
                  - {name: status, data_type: varchar}
              - name: stg_orders
                description: "orders since {{ var('start') }}"
                data_tests:
                  - positive: {column_name: order_id}
                columns:
                  - name: order_id
                    data_tests:
                      - unique: {config: {where: "order_id > 3"}}
                      - not_null: {config: {error_if: ">10", warn_if: ">2"}}
                      - positive: {above: 2, config: {severity: warn}}
                  - name: status
                    data_tests:
                      - accepted_values: {values: [placed, shipped, returned]}
                  - name: customer_id
                    data_tests:
                      - accepted_values: {values: [0, 1, 2, 3, 4, 5, 6], quote: false}
                      - relationships: {to: ref('raw_customers'), field: id}
            exposures:
              - {name: board, type: dashboard, owner: {name: me}, depends_on: [ref('fct')]}
        """,
        "models/docs.md": "{% docs key %}The {{ key }} of `orders`{% enddocs %}",
    }
