"""Names of output columns, as far as a tree says them: for columns without a name, for set operations, and for what reads `$as_of`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from interlock.engine.compiler.reading import Cte, Reading, first_offset, offset_of
from interlock.engine.warehouse.duckdb.parser import Tree


class Output(NamedTuple):
    """An output column, and whether its value reads `$as_of`."""

    name: str
    as_of: bool
    column: str = ""
    """The only column that an expression without a name is made of."""

    @property
    def likely(self) -> str:
        """What it is most likely meant to be."""
        return self.name or self.column


Outputs: TypeAlias = tuple[Output, ...] | None
"""Nothing where the tree alone does not say them."""

Known: TypeAlias = Callable[[Tree], Outputs]
"""Columns of a BASE_TABLE node that is no CTE."""


class OutputNames:
    """Follows output columns through subqueries and CTEs of one statement."""

    def __init__(self, reading: Reading, known: Known) -> None:
        """Nothing is followed yet."""
        self._reading = reading
        self._known = known
        self._memory: dict[int, Outputs] = {}

    def root(self) -> Outputs:
        """Of the statement."""
        return self.of(self._reading.root)

    def of(self, node: Tree) -> Outputs:
        """Of a query node."""
        if id(node) not in self._memory:
            self._memory[id(node)] = None  # a recursive CTE that asks for itself
            self._memory[id(node)] = self._query(node)
        return self._memory[id(node)]

    def _query(self, node: Tree) -> Outputs:
        match node.get("type"):
            case "SELECT_NODE":
                return self._select(node)
            case "SET_OPERATION_NODE":
                return self._merged(
                    [self.of(child) for child in node.get("children", ())], by_name=node.get("setop_type") == "UNION_BY_NAME"
                )
            case "RECURSIVE_CTE_NODE":
                left = self.of(node["left"])
                self._memory[id(node)] = left
                return self._merged([left, self.of(node["right"])], by_name=False)
            case _:
                return None

    def _merged(self, branches: list[Outputs], *, by_name: bool) -> Outputs:
        known = [branch for branch in branches if branch is not None]
        if len(known) < len(branches) or not known:
            return known[0] if known and not by_name else None
        if by_name:
            merged: dict[str, Output] = {}
            for output in (output for branch in known for output in branch):
                before = merged.get(output.name.lower())
                merged[output.name.lower()] = Output(before.name, before.as_of or output.as_of) if before else output
            return tuple(merged.values())
        return tuple(
            Output(output.name, any(branch[index].as_of for branch in known if index < len(branch)))
            for index, output in enumerate(known[0])
        )

    def _select(self, node: Tree) -> Outputs:
        table = node.get("from_table", {})
        every = self._from(table)
        tainted = self._tainted(table)
        found: list[Output] = []
        for item in node.get("select_list", ()):
            if item.get("type") == "STAR":
                relation = item.get("relation_name")
                rows = self._relations(table).get(relation.lower()) if relation else every
                if rows is None or item.get("columns") or item.get("rename_list"):
                    return None
                excluded = {_name(each) for each in item.get("exclude_list", ())}
                replaced = {each.get("key", "").lower() for each in item.get("replace_list", ()) if isinstance(each, dict)}
                found += [output for output in rows if output.name.lower() not in excluded or output.name.lower() in replaced]
                continue
            if _has_star(item):
                return None  # several, of which each has its own name
            names = item.get("column_names", ())
            name = item.get("alias") or (names[-1] if names else "")
            found.append(Output(name, _reads_as_of(item, tainted), "" if name else only_column(item)))
        return tuple(found)

    def _from(self, table: Tree) -> Outputs:
        match table.get("type"):
            case "EMPTY" | None:
                return ()
            case "BASE_TABLE":
                rows = self._base(table)
            case "SUBQUERY":
                rows = self.of(table["subquery"]["node"])
            case "JOIN":
                left, right = self._from(table["left"]), self._from(table["right"])
                merges = table.get("using_columns") or table.get("ref_type") == "NATURAL" or table.get("join_type") in {"SEMI", "ANTI"}
                rows = None if merges or left is None or right is None else (*left, *right)
            case _:
                rows = None
        aliases = table.get("column_name_alias", ())
        return _renamed(rows, aliases)

    def _relations(self, table: Tree) -> dict[str, Outputs]:
        """Columns of each relation of a FROM clause, by its name there."""
        if table.get("type") == "JOIN":
            return {**self._relations(table["left"]), **self._relations(table["right"])}
        name = table.get("alias") or (table.get("qualified_name", {}).get("path") or [""])[-1]
        return {name.lower(): self._from(table)} if name else {}

    def _base(self, table: Tree) -> Outputs:
        cte = self._reading.bound_to.get(id(table))
        return self._cte(cte) if cte is not None else self._known(table)

    def _cte(self, cte: Cte) -> Outputs:
        return _renamed(self.of(cte.entry["query_node"]), cte.entry.get("aliases", ()))

    def _tainted(self, table: Any) -> frozenset[str]:
        """Names of columns of a FROM clause that read `$as_of`, whichever relation they stand in."""
        if isinstance(table, list):
            return frozenset().union(*(self._tainted(part) for part in table))
        if not isinstance(table, dict):
            return frozenset()
        rows: Outputs = None
        if table.get("type") == "BASE_TABLE":
            rows = self._base(table)
        elif table.get("type") == "SUBQUERY" and "node" in table.get("subquery", {}):
            rows = self.of(table["subquery"]["node"])
        else:
            return frozenset().union(*(self._tainted(table[key]) for key in ("left", "right", "source") if key in table))
        rows = _renamed(rows, table.get("column_name_alias", ()))
        return frozenset(output.name.lower() for output in rows or () if output.as_of)


def unnamed(reading: Reading) -> list[tuple[int, int | None]]:
    """Top-level items without a name of their own: their index and offset. Of a set operation the first branch names them."""
    node = reading.root
    while node.get("type") == "SET_OPERATION_NODE":
        node = node["children"][0]
    found: list[tuple[int, int | None]] = []
    for index, item in enumerate(node.get("select_list", ())):
        named = item.get("alias") or item.get("type") in {"COLUMN_REF", "STAR", "POSITIONAL_REFERENCE"} or _has_star(item)
        if not named:
            found.append((index, offset_of(item) if offset_of(item) is not None else first_offset(item)))
    return found


def only_column(value: Any) -> str:
    """The only column that an expression is made of; empty where there are several, or none."""
    found = set(_columns_in(value))
    return found.pop() if len(found) == 1 else ""


def _columns_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _columns_in(part)
    elif isinstance(value, dict):
        if value.get("type") == "COLUMN_REF" and value.get("column_names"):
            yield str(value["column_names"][-1])
        for part in value.values():
            if isinstance(part, dict | list):
                yield from _columns_in(part)


def _has_star(value: Any) -> bool:
    """Whether an expression stands for one of each column that COLUMNS, or `* LIKE`, picks: then it has the column's name."""
    if isinstance(value, list):
        return any(_has_star(part) for part in value)
    if isinstance(value, dict) and value.get("type") != "SUBQUERY":
        return value.get("type") == "STAR" or any(_has_star(part) for part in value.values())
    return False


def _reads_as_of(value: Any, tainted: frozenset[str]) -> bool:
    if isinstance(value, list):
        return any(_reads_as_of(part, tainted) for part in value)
    if not isinstance(value, dict):
        return False
    if value.get("type") == "VALUE_PARAMETER":
        return bool(value.get("identifier") == "as_of")
    if value.get("type") == "COLUMN_REF":
        return bool(value.get("column_names")) and value["column_names"][-1].lower() in tainted
    return any(_reads_as_of(part, tainted) for part in value.values())


def _renamed(rows: Outputs, aliases: Any) -> Outputs:
    if rows is None or not aliases:
        return rows
    return tuple(Output(aliases[index] if index < len(aliases) else row.name, row.as_of) for index, row in enumerate(rows))


def _name(value: Any) -> str:
    if isinstance(value, str):
        return value.lower()
    if isinstance(value, dict):
        return str(value.get("name") or value.get("column") or value.get("key") or "").lower()
    return ""
