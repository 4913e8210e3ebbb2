"""The macros that every dbt project can call (`dbt.date_trunc` and so on), as they come out for DuckDB.

Only those whose SQL for DuckDB is fixed stand here; any other name is refused, never guessed.
"""

from __future__ import annotations

from typing import Final

PATH: Final = "<dbt for DuckDB>"

SOURCE: Final = """\
{% macro date_trunc(datepart, date) %}date_trunc('{{ datepart }}', {{ date }}){% endmacro %}
{% macro dateadd(datepart, interval, from_date_or_timestamp) -%}
{%- set unit = datepart | lower -%}
{%- if unit == 'quarter' -%}
({{ from_date_or_timestamp }} + (cast({{ interval }} as bigint) * 3) * interval 1 month)
{%- elif unit == 'week' -%}
({{ from_date_or_timestamp }} + (cast({{ interval }} as bigint) * 7) * interval 1 day)
{%- else -%}
({{ from_date_or_timestamp }} + cast({{ interval }} as bigint) * interval 1 {{ unit }})
{%- endif -%}
{%- endmacro %}
{% macro datediff(first_date, second_date, datepart) -%}
{%- if datepart == 'week' -%}
(date_diff('day', {{ first_date }}::timestamp, {{ second_date }}::timestamp) // 7 + case
    when date_part('dow', ({{ first_date }})::timestamp) <= date_part('dow', ({{ second_date }})::timestamp) then
        case when {{ first_date }} <= {{ second_date }} then 0 else -1 end
    else
        case when {{ first_date }} <= {{ second_date }} then 1 else 0 end
end)
{%- else -%}
(date_diff('{{ datepart }}', {{ first_date }}::timestamp, {{ second_date }}::timestamp))
{%- endif -%}
{%- endmacro %}
{% macro last_day(date, datepart) -%}
{%- if datepart == 'quarter' -%}
cast({{ dbt.dateadd('day', '-1', dbt.dateadd('month', '3', dbt.date_trunc(datepart, date))) }} as date)
{%- else -%}
cast({{ dbt.dateadd('day', '-1', dbt.dateadd(datepart, '1', dbt.date_trunc(datepart, date))) }} as date)
{%- endif -%}
{%- endmacro %}
{% macro date(year, month, day) %}make_date({{ year }}, {{ month }}, {{ day }}){% endmacro %}
{% macro safe_cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}
{% macro cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}
{% macro hash(field) %}md5(cast({{ field }} as {{ dbt.type_string() }})){% endmacro %}
{% macro concat(fields) %}{{ fields | join(' || ') }}{% endmacro %}
{% macro any_value(expression) %}arbitrary({{ expression }}){% endmacro %}
{% macro bool_or(expression) %}bool_or({{ expression }}){% endmacro %}
{% macro length(expression) %}length({{ expression }}){% endmacro %}
{% macro position(substring_text, string_text) %}position({{ substring_text }} in {{ string_text }}){% endmacro %}
{% macro replace(field, old_chars, new_chars) %}replace({{ field }}, {{ old_chars }}, {{ new_chars }}){% endmacro %}
{% macro right(string_text, length_expression) %}right({{ string_text }}, {{ length_expression }}){% endmacro %}
{% macro split_part(string_text, delimiter_text, part_number) %}string_split({{ string_text }}, {{ delimiter_text }})[ {{ part_number }} ]{% endmacro %}
{% macro string_literal(value) %}'{{ value }}'{% endmacro %}
{% macro escape_single_quotes(expression) %}{{ expression | replace("'", "''") }}{% endmacro %}
{% macro except() %}except{% endmacro %}
{% macro intersect() %}intersect{% endmacro %}
{% macro cast_bool_to_text(field) %}cast({{ field }} as {{ dbt.type_string() }}){% endmacro %}
{% macro listagg(measure, delimiter_text="','", order_by_clause=none, limit_num=none) -%}
{%- if limit_num -%}
list_aggr((array_agg({{ measure }} {{ order_by_clause or '' }}))[1:{{ limit_num }}], 'string_agg', {{ delimiter_text }})
{%- else -%}
string_agg({{ measure }}, {{ delimiter_text }} {{ order_by_clause or '' }})
{%- endif -%}
{%- endmacro %}
{% macro array_construct(inputs=[], data_type='integer') -%}
{%- if inputs -%}array[ {{ inputs | join(' , ') }} ]{%- else -%}array[]::{{ data_type }}[]{%- endif -%}
{%- endmacro %}
{% macro array_append(array, new_element) %}array_append({{ array }}, {{ new_element }}){% endmacro %}
{% macro array_concat(array_1, array_2) %}array_cat({{ array_1 }}, {{ array_2 }}){% endmacro %}
{% macro type_string() %}TEXT{% endmacro %}
{% macro type_timestamp() %}TIMESTAMP{% endmacro %}
{% macro type_float() %}FLOAT{% endmacro %}
{% macro type_numeric() %}numeric(28, 6){% endmacro %}
{% macro type_bigint() %}BIGINT{% endmacro %}
{% macro type_int() %}INT{% endmacro %}
{% macro type_boolean() %}BOOLEAN{% endmacro %}
{% macro should_store_failures() %}{{ return(false) }}{% endmacro %}
{% macro current_timestamp() %}now(){% endmacro %}
{% macro generate_schema_name(custom_schema_name=none, node=none) -%}
{{ target.schema if custom_schema_name is none else target.schema ~ '_' ~ (custom_schema_name | trim) }}
{%- endmacro %}
{% macro default__generate_schema_name(custom_schema_name, node) %}{{ dbt.generate_schema_name(custom_schema_name, node) }}{% endmacro %}
{% macro generate_schema_name_for_env(custom_schema_name, node) -%}
{{ custom_schema_name | trim if target.name == 'prod' and custom_schema_name is not none else target.schema }}
{%- endmacro %}
{% macro generate_alias_name(custom_alias_name=none, node=none) -%}
{{ custom_alias_name | trim if custom_alias_name else node.name ~ ('_v' ~ node.version | string | replace('.', '_') if node.version else '') }}
{%- endmacro %}
{% macro default__generate_alias_name(custom_alias_name=none, node=none) %}{{ dbt.generate_alias_name(custom_alias_name, node) }}{% endmacro %}
{% macro generate_series(upper_bound) %}
select generate_series as generated_number from generate_series(1, {{ upper_bound }})
{% endmacro %}
{% macro get_intervals_between(start_date, end_date, datepart) -%}
{%- call statement('intervals', fetch_result=true) %}select {{ dbt.datediff(start_date, end_date, datepart) }}{% endcall -%}
{%- set found = load_result('intervals') -%}
{{ return(found['data'][0][0] if found else 1) }}
{%- endmacro %}
{% macro date_spine(datepart, start_date, end_date) %}
with counted as (
{{ dbt.generate_series(dbt.get_intervals_between(start_date, end_date, datepart)) }}
),
spine as (
    select ({{ dbt.dateadd(datepart, "row_number() over (order by 1) - 1", start_date) }}) as date_{{ datepart }} from counted
)
select * from spine where date_{{ datepart }} <= {{ end_date }}
{% endmacro %}
{% macro convert_datetime(date_str, date_fmt) %}{{ return(modules.datetime.datetime.strptime(date_str.strip(), date_fmt)) }}{% endmacro %}
{% macro dates_in_range(start_date_str, end_date_str=none, in_fmt='%Y%m%d', out_fmt='%Y%m%d') -%}
{%- set first = dbt.convert_datetime(start_date_str, in_fmt) -%}
{%- set days = (dbt.convert_datetime(end_date_str or start_date_str, in_fmt) - first).days -%}
{%- if days < 0 -%}{{ exceptions.raise_compiler_error('the range of dates ends before it begins') }}{%- endif -%}
{%- set found = [] -%}
{%- for number in range(days + 1) -%}
{%- set day = first + modules.datetime.timedelta(days=number) -%}
{%- do found.append(day.strftime(out_fmt) if out_fmt else day) -%}
{%- endfor -%}
{{ return(found) }}
{%- endmacro %}
{% macro partition_range(raw_partition_date, date_fmt='%Y%m%d') -%}
{%- set ends = (raw_partition_date | string).split(',') -%}
{%- if ends | length > 2 -%}{{ exceptions.raise_compiler_error('a range of dates has two ends') }}{%- endif -%}
{{ return(dbt.dates_in_range(ends[0], ends[1] if ends | length == 2 else none, in_fmt=date_fmt)) }}
{%- endmacro %}
"""
