"""What a template asks and that has one answer is answered; whatever else it asks is refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.importers.dbt_projects import imported

from interlock.engine import api

DAYS = "cast('2024-01-01' as date)"
COUNT = """
    {% macro counted(query) %}
    {%- call statement('c', fetch_result=True) %}{{ query }}{% endcall -%}
    {%- set found = load_result('c') -%}
    {%- if found and found['data'] -%}
    {{ return(found['data'] | map(attribute=0) | list | first) }}
    {%- else -%}{{ return('PARSING') }}{%- endif -%}
    {% endmacro %}
"""


def test_a_spine_of_days_that_stand_there_is_made(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "models/days.sql": "{{ dbt.date_spine('day', \"" + DAYS + '", "cast(\'2024-02-01\' as date)") }}',
            "models/weeks.sql": '{{ dbt.date_spine(\'week\', "make_date(2024, 1, 1)", "make_date(2024, 3, 1)") }}',
        },
    )
    assert "= 31 was evaluated" in found.item("days").why
    assert api.run(api.open_context(found.out, environment={})).outcome == "succeeded"
    with duckdb.connect(str(found.out / "shop.duckdb"), read_only=True) as connection:
        days = connection.execute("select count(*), min(date_day)::date::varchar, max(date_day)::date::varchar from days").fetchone()
        weeks = connection.execute("select count(*), max(date_week)::date::varchar from weeks").fetchone()
    assert days == (31, "2024-01-01", "2024-01-31")
    assert weeks == (8, "2024-02-19")


def test_a_macro_s_own_query_that_reads_nothing_is_answered_where_the_text_is_made(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "macros/m.sql": COUNT,
            "models/m.sql": "{{ config(tags=['t' ~ counted('select 40 + 2')]) }} select {{ counted('select 40 + 2') }} as n",
        },
    )
    assert "select 42 as n" in found.sql("m")
    assert "tPARSING" in found.sidecar("m")  # dbt asks nothing while it looks for configuration


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        ("select count(*) from {{ ref('b') }}", "D804", "asks the database"),
        ("select max(id) from b", "D804", "asks the database"),
        ("select date_diff('day', date '2024-01-01', current_date)", "D829", "whenever it is asked"),
        ("select date_diff('day', timestamp '2024-01-01', now()::timestamp)", "D829", "whenever it is asked"),
        ("select (random() * 10)::int", "D829", "whenever it is asked"),
        ("select date_diff('day', timestamptz '2024-01-01', timestamptz '2024-01-02')", "D804", "asks the database"),
        ("select count(*) from read_text('/etc/passwd')", "D804", "asks the database"),
        ("select length(getenv('HOME'))", "D804", "asks the database"),
        ("select count(*) from duckdb_settings()", "D804", "asks the database"),
        ("create table x as select 1 as id", "D804", "asks the database"),
        ("select 1; select 2", "D804", "asks the database"),
        ("select 'text'", "D804", "more than whole numbers"),
        ("select date '2024-01-01'", "D804", "more than whole numbers"),
        ("select 1.5", "D804", "more than whole numbers"),
        ("select 1 / 'x'::int", "D805", "does not answer it"),
        ("select unnest(range(2000))", "D805", "more than 1000 rows"),
    ],
)
def test_what_hangs_on_data_clock_or_machine_is_refused(tmp_path: Path, query: str, code: str, said: str) -> None:
    text = query.replace("'", "\\'").replace("{{ ref(\\'b\\') }}", "' ~ ref('b') ~ '")
    found = imported(
        tmp_path, {"macros/m.sql": COUNT, "models/b.sql": "select 1 as id", "models/m.sql": "select {{ counted('" + text + "') }} as n"}
    )
    assert (found.item("m").code, said in found.item("m").why) == (code, True), found.item("m").why
    assert "macros/m.sql:2" in found.item("m").why
