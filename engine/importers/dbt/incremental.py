"""Incremental models: what keeps its meaning, and what an `is_incremental()` block would become."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from jinja2 import nodes

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt import toml
from interlock.engine.importers.dbt.configs import listed
from interlock.engine.importers.dbt.nodes import INCREMENTAL, Node
from interlock.engine.importers.dbt.session import Rendering, Session
from interlock.engine.importers.dbt.template import CannotKeep

EVERYTHING: Final = "5000000 days"
"""A lookback that reaches all rows, the year 1 from the year 9999 too: dbt merges the whole result of each run."""

REVIEW: Final = "watermark, strategy and the query without its is_incremental() block"
_THIS: Final = "ilthis_z"
_COLUMN: Final = r'[A-Za-z_"][\w."]*'
_INTERVAL: Final = r"""(?:\s*-\s*interval\s*\(?'?(?P<{0}>\d+)'?\)?\s*'?(?P<{1}>second|minute|hour|day|week|month|year)s?'?)?"""
_FILTER: Final = re.compile(
    rf"""(?:where|and)\s+(?P<left>{_COLUMN})\s*(?:>=|>)\s*(?P<outer>coalesce\s*\(\s*)?\(?\s*\(?\s*select\s+(?:coalesce\s*\(\s*)?max\s*\(\s*(?P<column>{_COLUMN})\s*\)"""
    + _INTERVAL.format("n1", "u1")
    + r"""(?:\s*,\s*(?:[^()]|\([^()]*\))*\))?(?:\s+as\s+\w+)?\s+from\s+ilthis_z(?:\s+(?:as\s+)?\w+)?\s*\)"""
    + _INTERVAL.format("n2", "u2")
    + r"""(?(outer)\s*,\s*(?:[^()]|\([^()]*\))*\))\s*\)?\s*""",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Proposal:
    """What would be written for a refused incremental model: for a person to review."""

    code: str
    why: str
    sidecar: dict[str, Any]
    query: str
    rendering: Rendering

    @property
    def text(self) -> str:
        """The sidecar and the query."""
        return "\n".join(toml.pairs(self.sidecar)) + "\n---\n" + self.query.strip("\n") + "\n"


def propose(session: Session, node: Node) -> Proposal | None:
    """The proposal for a model of the one recognised shape: a single filter behind `is_incremental()`."""
    if node.tree is None or node.config.get("materialized") != "incremental":
        return None
    tree = session.env.parse(node.file.text, filename=node.file.path)
    taken: list[nodes.If] = []
    _cut(tree, taken)
    if len(taken) != 1 or t.mentions(tree, INCREMENTAL) or t.mentions(tree, t.RUN_TIME):
        return None
    block = nodes.Template(taken[0].body, lineno=taken[0].lineno)
    rendering = Rendering(node.file.path, node.package, config=dict(node.config), model=None)
    try:
        query = session.render(tree, rendering)
        inside = session.render(block, Rendering(node.file.path, node.package, this=_THIS, config=dict(node.config)))
    except (CannotKeep, *t.EVALUATION):
        return None
    found = _FILTER.fullmatch(" ".join(re.sub(r"--[^\n]*|/\*.*?\*/", " ", inside, flags=re.DOTALL).split()))
    if found is None:
        return None
    column = found["column"].rsplit(".", 1)[-1].strip('"')
    sidecar: dict[str, Any] = {"materialized": "incremental"}
    keys = [str(key) for key in listed(node.config.get("unique_key"))]
    strategy = node.config.get("incremental_strategy")
    if strategy not in {None, "append", "merge", "delete+insert"}:
        return None
    sidecar["strategy"] = "merge" if keys and strategy != "append" else "append"
    sidecar["watermark"] = column
    if keys and strategy != "append":
        sidecar["unique_key"] = keys
    amount, unit = (found["n1"], found["u1"]) if found["n1"] else (found["n2"], found["u2"])
    if amount and keys:
        sidecar["lookback"] = f"{amount} {unit.lower()}s"
    left = found["left"].rsplit(".", 1)[-1].strip('"')
    why = f"its is_incremental() block is one filter on `{left}`"
    if left.lower() != column.lower():
        why += f"; the watermark is the output column `{column}`"
    return Proposal("D803", why, sidecar, query, rendering)


def _cut(node: nodes.Node, taken: list[nodes.If]) -> None:
    """Take the plain `{% if is_incremental() %}` blocks out of a tree."""
    for name, value in node.iter_fields():
        if isinstance(value, list):
            kept = []
            for child in value:
                if isinstance(child, nodes.If) and _is_plain(child):
                    taken.append(child)
                    continue
                if isinstance(child, nodes.Node):
                    _cut(child, taken)
                kept.append(child)
            setattr(node, name, kept)
        elif isinstance(value, nodes.Node):
            _cut(value, taken)


def _is_plain(node: nodes.If) -> bool:
    test = node.test
    return (
        not node.elif_
        and not node.else_
        and isinstance(test, nodes.Call)
        and t.path_of(test.node) in {("is_incremental",), ("dbt", "is_incremental")}
        and not t.mentions(nodes.Template(node.body), INCREMENTAL)
    )


def sidecar_of(node: Node) -> dict[str, Any] | None:
    """The sidecar of an incremental model without `is_incremental()`; refuses the node where none keeps its meaning."""
    strategy = node.config.get("incremental_strategy")
    keys = [str(key) for key in listed(node.config.get("unique_key"))]
    column = node.config.get("event_time")
    match strategy:
        case "microbatch":
            _microbatch(node)
            return None
        case None | "merge" if keys:
            if not column:
                node.refuse(
                    "D811",
                    "dbt merges the whole result of each run; here a merge has a watermark, and none can be told",
                    'set event_time to an output column, or write strategy = "merge", watermark and unique_key in a sidecar',
                )
                return None
            node.notes.append(
                f"merge over all rows: `{column}` is its watermark, with a lookback that reaches all of them; a row without it, a key "
                "without a value and a key with two rows stop the run, where dbt would write them"
            )
            return {
                "materialized": "incremental", "strategy": "merge", "watermark": str(column), "unique_key": keys, "lookback": EVERYTHING, "until": "none",
            }  # fmt: skip
        case "delete+insert" if keys:
            return _delete_insert(node, keys)
        case "delete+insert" | "merge":
            node.refuse(
                "D811",
                f"{strategy} without a unique_key appends the whole result in each run",
                "set unique_key, or materialize it as a table",
            )
        case None | "append":
            node.refuse(
                "D811",
                "dbt appends the whole result in each run: rows that are there come again",
                'materialize it as a table, or write strategy = "append" and a watermark in a sidecar',
            )
        case _:
            node.refuse("D811", f"`incremental_strategy: {strategy}` has no counterpart", "use merge, partition or append, in a sidecar")
    return None


def _delete_insert(node: Node, keys: list[str]) -> dict[str, Any] | None:
    if len(keys) == 1 and re.search(r"(^|_)(date|day|dt)$|^(date|day)_", keys[0], re.IGNORECASE):
        column = keys[0]
        sidecar = {
            "materialized": "incremental", "strategy": "partition", "watermark": column, "partition": "day", "lookback": EVERYTHING, "until": "none",
        }  # fmt: skip
        node.refuse(
            "D811",
            f"delete+insert by `{column}` keeps the days that its query no longer gives; partitions by day replace them",
            "accept the proposal if each run gives all days that shall stay",
        )
        node.proposal = Proposal(
            "D811",
            f"delete+insert by `{column}` is a partition by day",
            sidecar,
            node.text,
            node.rendering or Rendering(node.file.path, node.package),
        )
        return None
    node.refuse(
        "D811",
        f"delete+insert by {', '.join(f'`{key}`' for key in keys)}, which is no partition, may keep several rows of a key",
        'if a key has one row, write strategy = "merge" with a watermark in a sidecar; if it is a day, use partition',
    )
    return None


def _microbatch(node: Node) -> None:
    column, size = node.config.get("event_time"), node.config.get("batch_size")
    if not column or size not in {"hour", "day", "month", "year"} or not node.config.get("begin"):
        node.refuse("D811", "microbatch needs event_time, batch_size and begin", "set them; dbt refuses it, too")
        return
    words = set(re.findall(r"[a-z]+", re.sub(r"--[^\n]*|/\*.*?\*/|'[^']*'", " ", node.text.lower(), flags=re.DOTALL)))
    across = sorted(words & {"over", "qualify", "limit", "distinct", "group", "union", "except", "intersect", "having"})
    if across:
        node.refuse(
            "D811",
            f"each batch of dbt sees its own rows only, and the query looks across rows ({', '.join(across).upper()})",
            'write the full query with strategy = "partition" in a sidecar, and see that it means what you want',
        )
        return
    batches = node.config.get("lookback", 1)
    if not isinstance(batches, int) or batches < 0:
        node.refuse("D811", f"its lookback `{batches}` is no number of batches", "write a whole number")
        return
    lookback = {"hour": f"{batches} hours", "day": f"{batches} days", "month": f"{31 * batches} days", "year": f"{366 * batches} days"}[
        str(size)
    ]
    sidecar = {
        "materialized": "incremental",
        "strategy": "partition",
        "watermark": str(column),
        "partition": str(size),
        "lookback": lookback,
    }
    node.refuse(
        "D811",
        f"microbatch makes the last {batches + 1} batches before now again, whatever the rows are; partitions go by the newest row: where rows "
        "come late, are changed or lie in the future, the two differ",
        "accept the proposal if rows come in the order of their times, or change within the lookback of the newest",
    )
    why = f"microbatch by {size} is partitions of `{column}`; its lookback counts from the watermark, dbt's from now"
    node.proposal = Proposal("D811", why, sidecar, node.text, node.rendering or Rendering(node.file.path, node.package))
