"""The benchmark's project: one synthetic project of N models, the same for every tool, as plain values and as files.

Deterministic: the same N, seed and rows give the same bytes. Staging models read raw tables, then eight layers of joins,
casts, CTEs, windows and aggregates of 15 to 40 lines each; about 45 % views, 45 % tables and 10 % incremental models.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

LAYERS = 8
"""Above staging."""

COLUMNS = [
    ("id", "BIGINT"),
    ("ts", "TIMESTAMP"),
    ("day", "DATE"),
    ("cat", "VARCHAR"),
    ("a", "DOUBLE"),
    ("b", "DOUBLE"),
    ("n", "BIGINT"),
    ("v", "INTEGER"),
]
RAW_COLUMNS = {
    "id": "BIGINT",
    "event_ts": "VARCHAR",
    "category": "VARCHAR",
    "amount": "VARCHAR",
    "quantity": "VARCHAR",
    "flag": "VARCHAR",
}

_STAGING = """\
with source as (
    select id, event_ts, category, amount, quantity, flag
    from {s:%(src)s}
),
renamed as (
    select
        cast(id as bigint) as id,
        cast(event_ts as timestamp) as ts,
        cast(event_ts as date) as day,
        lower(trim(category)) as cat,
        cast(amount as double) as a,
        coalesce(cast(quantity as double), 0.0) as b,
        case when flag = 'Y' then 1 else 0 end as n
    from source
    where id is not null
),
ranked as (
    select *, row_number() over (partition by id order by ts desc) as rn
    from renamed
)
select
    id, ts, day, cat, a, b,
    cast(n as bigint) as n,
    1 as v,
    a * b + %(k)d as x_%(i)05d
from ranked
where rn = 1"""

_JOIN = """\
with base as (
    select id, ts, day, cat, a, b, n
    from {m:%(p0)s}
    where %(w)s
),
%(extra)scat_totals as (
    select
        cat,
        sum(a) as cat_a,
        count(*) as cat_n,
        avg(b) as cat_b
    from base
    group by cat
)
select
    base.id,
    base.ts,
    base.day,
    base.cat,
    %(sum)s as a,
    coalesce(base.b / nullif(cat_totals.cat_b, 0), 0.0) as b,
    base.n + cast(cat_totals.cat_n as bigint) as n,
    1 as v,
    round(base.a / nullif(cat_totals.cat_a, 0) * %(k)d, 4) as x_%(i)05d
from base
%(joins)sinner join cat_totals on cat_totals.cat = base.cat"""

_AGG = """\
with base as (
    select id, ts, day, cat, a, b, n
    from {m:%(p0)s}
    where %(w)s
),
%(extra)sdaily as (
    select
        base.cat,
        base.day,
        max(base.ts) as ts,
        sum(%(sum)s) as a,
        avg(base.b) as b,
        count(distinct base.id) as n,
        sum(case when base.n > 1 then base.a else 0.0 end) as flagged_a
    from base
    %(joins)sgroup by base.cat, base.day
    having count(*) > 0
)
select
    row_number() over (order by day, cat) as id,
    ts,
    day,
    cat,
    a,
    coalesce(b, 0.0) as b,
    cast(n as bigint) as n,
    1 as v,
    flagged_a / %(k)d as x_%(i)05d
from daily"""

_WINDOW = """\
with base as (
    select id, ts, day, cat, a, b, n
    from {m:%(p0)s}
    where %(w)s
),
%(extra)sordered as (
    select
        base.id,
        base.ts,
        base.day,
        base.cat,
        %(sum)s as a,
        base.b,
        base.n,
        lag(base.a, 1) over (partition by base.cat order by base.ts, base.id) as prev_a,
        sum(base.b) over (
            partition by base.cat order by base.ts, base.id
            rows between 6 preceding and current row
        ) as rolling_b
    from base
    %(joins)s
)
select
    id, ts, day, cat, a,
    coalesce(rolling_b, 0.0) as b,
    n,
    1 as v,
    case
        when prev_a is null then 0.0
        when prev_a > a then prev_a - a
        else (a - prev_a) / %(k)d
    end as x_%(i)05d
from ordered
where id > 0"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model in the neutral form: other models as `{m:NAME}`, raw tables as `{s:NAME}`, an incremental's filter as `{w}`."""

    name: str
    layer: int
    kind: str
    deps: tuple[str, ...]
    src: str | None
    cols: tuple[tuple[str, str], ...]
    sql: str


def raw_tables(models: int) -> int:
    """How many raw tables a project of so many models reads."""
    return max(1, models // 20)


def make(count: int, seed: int = 7) -> list[Model]:
    """The models, in an order in which they can be built."""
    rng = random.Random(seed)
    sources, staging = raw_tables(count), max(1, count // 10)
    by_layer: dict[int, list[str]] = {layer: [] for layer in range(LAYERS + 1)}
    view_depth: dict[str, int] = {}
    models = []
    for index in range(count):
        layer = 0 if index < staging else 1 + (index - staging) * LAYERS // (count - staging)
        name, factor = f"m{index:05d}", rng.randint(2, 99)
        deps: list[str] = []
        source = None
        if layer == 0:
            source, kind = f"src_{index % sources}", "view"
            sql = _STAGING % {"src": source, "k": factor, "i": index}
        else:
            deps = _deps(rng, layer, by_layer)
            drawn, depth = rng.random(), 1 + max(view_depth[each] for each in deps)
            kind = "incremental" if drawn < 0.11 else "view" if drawn < 0.68 and depth <= 2 else "table"
            sql = _sql(rng, deps, kind, factor, index)
        view_depth[name] = 1 + max([view_depth[each] for each in deps] or [0]) if kind == "view" else 0
        by_layer[layer].append(name)
        columns = (*COLUMNS, (f"x_{index:05d}", "DOUBLE"))
        models.append(Model(name=name, layer=layer, kind=kind, deps=tuple(deps), src=source, cols=columns, sql=sql))
    return models


def _deps(rng: random.Random, layer: int, by_layer: dict[int, list[str]]) -> list[str]:
    below = [name for each in range(layer) for name in by_layer[each]]
    wanted = rng.choice([1, 2, 2, 3])
    found = {rng.choice(by_layer[layer - 1])}
    while len(found) < min(wanted, len(below)):
        found.add(rng.choice(by_layer[layer - 1] if rng.random() < 0.6 else below))
    deps = sorted(found)
    rng.shuffle(deps)
    return deps


def _sql(rng: random.Random, deps: Sequence[str], kind: str, factor: int, index: int) -> str:
    numbered = list(enumerate(deps))[1:]
    values = {
        "p0": deps[0],
        "k": factor,
        "i": index,
        "w": "{w}" if kind == "incremental" else "ts is not null",
        "extra": "".join(f"p{number} as (\n    select id, a, b\n    from {{m:{name}}}\n),\n" for number, name in numbered),
        "joins": "".join(f"left join p{number} on p{number}.id = base.id\n" for number, _ in numbered),
        "sum": " + ".join(["base.a", *(f"coalesce(p{number}.a, 0.0)" for number, _ in numbered)]),
    }
    return rng.choice([_JOIN, _JOIN, _AGG, _WINDOW]) % values


def rendered(sql: str, model: Callable[[str], str], source: Callable[[str], str], where: str) -> str:
    """The SQL of one tool."""
    sql = re.sub(r"\{m:(\w+)\}", lambda found: model(found[1]), sql)
    return re.sub(r"\{s:(\w+)\}", lambda found: source(found[1]), sql).replace("{w}", where) + "\n"


def raw_sql(count: int, *, rows: int = 1000, start: int = 0) -> list[str]:
    """Statements that make the raw tables, or with a start add later rows to them."""
    head = ["create schema if not exists raw"] if not start else []
    return head + [
        (f"insert into raw.src_{number} " if start else f"create or replace table raw.src_{number} as ")
        + "select cast(i as bigint) as id, "
        f"cast(timestamp '2026-10-01' + to_seconds(i * 2592 * 1000 // {rows}) as varchar) as event_ts, "
        f"' Cat' || cast((i * {number + 3}) % 11 as varchar) || ' ' as category, "
        f"cast((i * 37 + {number}) % 1000 / 10.0 as varchar) as amount, cast(i % 7 + 1 as varchar) as quantity, "
        f"case when i % 3 = 0 then 'Y' else 'N' end as flag from range({start}, {start + rows}) t(i)"
        for number in range(raw_tables(count))
    ]


def write_neutral(out: Path, models: Sequence[Model]) -> None:
    """`models.jsonl`, and `plain/*.sql` as the floor runs it."""
    _put(out / "models.jsonl", "".join(json.dumps(asdict(model)) + "\n" for model in models))
    for model in models:
        text = rendered(model.sql, lambda name: f"main.{name}", lambda name: f"raw.{name}", "true")
        _put(out / "plain" / f"{model.name}.sql", text)


def write_interlock(out: Path, models: Sequence[Model], *, threads: int = 4) -> None:
    """The project in Interlock's form.

    The columns of every source are declared, every fifth model has a contract over all its columns, every tenth has checks.
    Incremental models merge by key.
    """
    shutil.rmtree(out, ignore_errors=True)
    _put(
        out / "interlock.toml",
        '[project]\nid = "0000000000000000bead"\nname = "bench"\ndefault_target = "dev"\n\n'
        '[targets.dev]\ntype = "duckdb"\npath = "bench.duckdb"\nschema = "main"\ncreate = true\non_change = "rebuild"\n'
        f"threads = {threads}\n",
    )
    columns = "".join(f'{name} = "{type_}"\n' for name, type_ in RAW_COLUMNS.items())
    _put(
        out / "sources.toml",
        "".join(
            f'[sources."raw.src_{number}"]\nfingerprint = "column"\nfingerprint_column = "id"\n'
            f'[sources."raw.src_{number}".columns]\n{columns}\n'
            for number in range(raw_tables(len(models)))
        ),
    )
    for index, model in enumerate(models):
        folder = out / "models" / f"l{model.layer}"
        _put(folder / f"{model.name}.sql", rendered(model.sql, str, lambda name: f"raw.{name}", "true"))
        _put(folder / f"{model.name}.toml", _sidecar(model, index))


def _sidecar(model: Model, index: int) -> str:
    lines = [f'description = "Model {model.name} of layer {model.layer}."', f'materialized = "{model.kind}"']
    if model.kind == "incremental":
        lines += ['strategy = "merge"', 'watermark = "ts"', 'unique_key = ["id"]', 'lookback = "3 days"', 'future = "hold"']
    if index % 5 == 0:
        lines += ["", "[contract]"]
        lines += [f'[contract.columns.{name}]\ntype = "{type_}"' for name, type_ in model.cols]
    if index % 10 == 0:
        lines += ["", "[[checks]]", 'unique = ["id"]', "", "[[checks]]", 'not_null = ["id", "ts"]']
    return "\n".join(lines) + "\n"


def write_dbt(out: Path, models: Sequence[Model]) -> None:
    """The same project for dbt; database and threads come from PEERS_DB and PEERS_THREADS."""
    shutil.rmtree(out, ignore_errors=True)
    _put(
        out / "dbt_project.yml",
        "name: peers\nversion: '1.0'\nprofile: peers\nmodel-paths: [models]\nflags:\n  send_anonymous_usage_stats: false\n",
    )
    _put(
        out / "profiles.yml",
        "peers:\n  target: dev\n  outputs:\n    dev:\n      type: duckdb\n      schema: main\n"
        "      path: \"{{ env_var('PEERS_DB') }}\"\n      threads: \"{{ env_var('PEERS_THREADS', '1') | int }}\"\n",
    )
    tables = "".join(f"      - name: src_{number}\n" for number in range(raw_tables(len(models))))
    _put(out / "models" / "sources.yml", f"version: 2\nsources:\n  - name: raw\n    schema: raw\n    tables:\n{tables}")
    where = "{% if is_incremental() %}ts > (select max(ts) from {{ this }}){% else %}true{% endif %}"
    for model in models:
        strategy = ", incremental_strategy='append'" if model.kind == "incremental" else ""
        text = rendered(model.sql, lambda name: f"{{{{ ref('{name}') }}}}", lambda name: f"{{{{ source('raw', '{name}') }}}}", where)
        head = f"{{{{ config(materialized='{model.kind}'{strategy}) }}}}\n\n"
        _put(out / "models" / f"l{model.layer}" / f"{model.name}.sql", head + text)


def write_sqlmesh(out: Path, models: Sequence[Model]) -> None:
    """The same project for SQLMesh; database and threads come from PEERS_DB and PEERS_THREADS."""
    shutil.rmtree(out, ignore_errors=True)
    _put(
        out / "config.yaml",
        "gateways:\n  local:\n    connection:\n      type: duckdb\n      database: {{ env_var('PEERS_DB') }}\n"
        "      concurrent_tasks: {{ env_var('PEERS_THREADS', '1') }}\n"
        "default_gateway: local\nmodel_defaults:\n  dialect: duckdb\n  start: '2026-10-01'\n  cron: '@daily'\n",
    )
    columns = "".join(f"    {name}: {'bigint' if name == 'id' else 'text'}\n" for name in RAW_COLUMNS)
    tables = "".join(f"- name: raw.src_{number}\n  columns:\n{columns}" for number in range(raw_tables(len(models))))
    _put(out / "external_models.yaml", tables)
    kinds = {"view": "VIEW", "table": "FULL", "incremental": "INCREMENTAL_BY_TIME_RANGE (time_column ts)"}
    for model in models:
        text = rendered(model.sql, lambda name: f"main.{name}", lambda name: f"raw.{name}", "ts between @start_ts and @end_ts")
        head = f"MODEL (\n  name main.{model.name},\n  kind {kinds[model.kind]}\n);\n\n"
        _put(out / "models" / f"l{model.layer}" / f"{model.name}.sql", head + text)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
