"""`interlock init`: a new project, small but working, or a copy of the sample."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path

from interlock.engine.diagnostics import did_you_mean, refused
from interlock.engine.project.names import suggestion
from interlock.engine.project.targets import FILE

SAMPLES = {"shop": "playground"}
"""Name of a sample → its folder among the package's specs."""

IGNORED = ("*.duckdb", "*.duckdb.wal", "*.interlock/", ".interlock/")

_ID = re.compile(r'^id\s*=\s*"[^"\n]*"', re.MULTILINE)
_LEFT_OUT = re.compile(r"__pycache__|\.pyc$|\.duckdb|\.interlock$")

_CONFIG = """\
[project]
id = "{id}"    # random: all that is kept in a warehouse is keyed by it; never change it
name = {name}
default_target = "dev"

[targets.dev]
type = "duckdb"
path = "{stem}.duckdb"
create = true             # the file may be made by a run
on_change = "rebuild"     # an edited incremental model is rebuilt; a production target says "refuse"
"""

_SEED = """\
order_id,customer,status,ordered_on,amount_cents
1,ada,shipped,2024-01-01,1250
2,grace,placed,2024-01-01,400
3,ada,returned,2024-01-02,900
4,edsger,shipped,2024-01-02,3300
5,grace,shipped,2024-01-03,
"""

_ORDERS = """\
-- One SELECT a file. Other models and seeds are read by their bare name.
select
    order_id,
    customer,
    status,
    ordered_on,
    cast(coalesce(amount_cents, 0) * 0.01 as decimal(12, 2)) as amount
from raw_orders
"""

_ORDERS_SIDECAR = """\
description = "one row an order"
materialized = "view"

[contract.columns.order_id]
type = "BIGINT"
nullable = false
[contract.columns.amount]
type = "DECIMAL(12,2)"
nullable = false

[[checks]]
unique = ["order_id"]
[[checks]]
accepted_values = { column = "status", values = ["placed", "shipped", "returned"] }
"""

_SALES = """\
select
    ordered_on,
    count(*) as orders,
    cast(sum(amount) as decimal(18, 2)) as amount
from orders
where status <> 'returned'
group by ordered_on
"""

_SALES_SIDECAR = """\
description = "sales by day"
materialized = "table"

[contract]
extra_columns = "refuse"
[contract.columns.ordered_on]
type = "DATE"
nullable = false
[contract.columns.orders]
type = "BIGINT"
nullable = false
[contract.columns.amount]
type = "DECIMAL(18,2)"

[[checks]]
unique = ["ordered_on"]
[[checks]]
expression = "orders > 0"
"""


def init(directory: Path, *, sample: str | None, project_id: str) -> tuple[str, ...]:
    """Make a project in `directory`, and say which files were written, sorted, relative to it.

    Args:
        directory: made if it is not there. Other files in it are left alone.
        sample: name of a sample to copy, such as `shop`; nothing: a small project of its own.
        project_id: the new project's id, random.

    Raises:
        Refused: S120, a project or a file is in the way; W605, the directory cannot be written.
    """
    files = _small(directory, project_id) if sample is None else _sample(sample, project_id)
    _refuse_if_in_the_way(directory, files)
    ignore = directory / ".gitignore"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        files[".gitignore"] = _ignore(ignore.read_bytes() if ignore.exists() else b"")
        for path, data in files.items():
            place = directory / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    except OSError as error:
        because = error.strerror or type(error).__name__
        raise refused(
            "W605", f"`{directory}` cannot be written", because=because, remedy="see to its permissions, or name another"
        ) from error
    return tuple(sorted(files))


def _refuse_if_in_the_way(directory: Path, files: dict[str, bytes]) -> None:
    if os.path.lexists(directory) and not directory.is_dir():
        raise refused("S120", f"`{directory}` is no directory", remedy="name another")
    if os.path.lexists(directory / FILE):
        remedy = "name another directory; nothing was changed in this one"
        raise refused("S120", f"`{directory}` holds a project already", because=f"it has an {FILE}", remedy=remedy)
    taken = sorted(path for path in files if os.path.lexists(directory / path))
    if taken:
        because = f"these are there: {', '.join(taken)}"
        raise refused(
            "S120", f"`{directory}` is not empty", because=because, remedy="name another directory; nothing was changed in this one"
        )


def _ignore(old: bytes) -> bytes:
    """A .gitignore with our lines; what a person wrote in theirs stays."""
    lines = old.decode("utf-8", errors="surrogateescape").splitlines()
    missing = [line for line in IGNORED if line not in lines]
    between = b"" if not old or old.endswith(b"\n") or not missing else b"\n"
    return old + between + "".join(f"{line}\n" for line in missing).encode()


def _small(directory: Path, project_id: str) -> dict[str, bytes]:
    name = os.fsencode(directory.absolute().name).decode("utf-8", "replace") or "project"
    stem = suggestion(name)
    if "${" in name:
        name = stem  # a name in interlock.toml reads no environment
    texts = {
        FILE: _CONFIG.format(id=project_id, name=_toml_text(name), stem=stem),
        "seeds/raw_orders.csv": _SEED,
        "models/orders.sql": _ORDERS,
        "models/orders.toml": _ORDERS_SIDECAR,
        "models/daily_sales.sql": _SALES,
        "models/daily_sales.toml": _SALES_SIDECAR,
    }
    return {path: text.encode() for path, text in texts.items()}


def _toml_text(text: str) -> str:
    """A text as TOML writes it: as JSON does, but characters stand for themselves (TOML knows no pairs of surrogates)."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _sample(sample: str, project_id: str) -> dict[str, bytes]:
    if sample not in SAMPLES:
        remedy = did_you_mean(sample, SAMPLES, f"write one of {', '.join(SAMPLES)}")
        raise refused("S104", f"there is no sample `{sample}`", because=f"the samples are: {', '.join(SAMPLES)}", remedy=remedy)
    files = dict(_files(importlib.resources.files("interlock.specs") / SAMPLES[sample], ""))
    config = files[FILE].decode()
    files[FILE] = _ID.sub(f'id = "{project_id}"', config, count=1).encode()
    return files


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{prefix}{entry.name}"
        if _LEFT_OUT.search(entry.name):
            continue
        if entry.is_dir():
            yield from _files(entry, f"{path}/")
        else:
            yield path, entry.read_bytes()
