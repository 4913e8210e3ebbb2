"""Column-level lineage: which columns a column's values come from, which only decide about rows, and what a column reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.compiler.expansion import Bodies
from interlock.engine.compiler.names import Names, Node, Unresolved
from interlock.engine.compiler.nullability import Nullability
from interlock.engine.compiler.reading import Reading
from interlock.engine.compiler.relations import Column, Columns, Env, Field, find
from interlock.engine.project.project import Project, SeedFile
from interlock.engine.warehouse.duckdb import parser
from interlock.engine.warehouse.duckdb.parser import Statements, Tree
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.records import Record


class ColumnOf(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """A column of a model, seed or source. Both names are as the project has them."""

    relation: str
    column: str


class ColumnLineage(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where one column of a model comes from, one step back."""

    column: ColumnOf
    values: tuple[ColumnOf, ...]
    """Its values are made of these."""


class ModelLineage(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the columns of a model come from, one step back."""

    model: str
    columns: tuple[ColumnLineage, ...]
    rows: tuple[ColumnOf, ...]
    """Columns that filter, join, group or order its rows."""
    complete: bool
    """False where something of the text could not be followed: then more columns may have a part in it."""


class Reached(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """Something that a column has a part in. `rows`: it decides about rows of the model, so of all of its columns.

    `contract`: its own model promises it.
    """

    relation: str
    column: str
    how: Literal["values", "rows", "contract"]


class Impact(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of a project without a column."""

    column: ColumnOf
    direct: tuple[Reached, ...]
    """What names it."""
    further: tuple[Reached, ...]
    """Columns that come of these."""
    models: tuple[str, ...]
    """Models that no longer compile, or wait for one that does not, in the order in which they are made."""


class Lineages:
    """Lineage of a compiled project. Each model is looked at once, when it is asked for."""

    def __init__(self, project: Project, target: TargetConfig, compiled: Compiled) -> None:
        """Nothing is looked at yet."""
        self._compiled = compiled
        self._names = Names(project, target)
        self._bodies = Bodies(compiled.macros)
        self._macros = {macro.partition("(")[0].split()[-1].strip('"').lower(): macro for macro in compiled.macros}
        self._known: dict[str, ModelLineage] = {}

    def of(self, model: str) -> ModelLineage:
        """Of one model. A seed comes from its file alone."""
        if model not in self._known:
            self._known[model] = self._look(self._compiled.models[model])
        return self._known[model]

    def upstream(self, column: ColumnOf) -> tuple[ColumnOf, ...]:
        """All columns that a column's values come from, sorted; itself not among them."""
        found: set[ColumnOf] = set()
        waiting = [column]
        while waiting:
            for each in self._values(waiting.pop()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return tuple(sorted(found - {column}))

    def impact(self, column: ColumnOf) -> Impact:
        """What a column reaches, and what would break without it."""
        models = [self.of(name) for name in self._compiled.models]
        direct = [*_reached(models, {column}), *self._asked(column)]
        taken = {ColumnOf(relation=each.relation, column=each.column) for each in direct if each.how == "values"}
        further: set[Reached] = set()
        waiting = set(taken)
        while waiting:
            found = {each for each in _reached(models, waiting) if each not in further and each not in direct}
            further |= found
            waiting = {ColumnOf(relation=each.relation, column=each.column) for each in found if each.how == "values"} - taken
            taken |= waiting
        broken = {each.relation for each in direct}
        for name in self._compiled.models:  # each follows what it reads
            if broken & {*self._compiled.models[name].references}:
                broken.add(name)
        return Impact(
            column=column,
            direct=tuple(sorted(set(direct))),
            further=tuple(sorted(further)),
            models=tuple(name for name in self._compiled.models if name in broken),
        )

    def named(self, text: str) -> ColumnOf | None:
        """The column that a text names as `relation.column`, if there is one."""
        relation, _, column = text.rpartition(".")
        columns = self._columns(relation)
        found = next((each for each in columns or () if each.lower() == column.lower()), None)
        return None if found is None else ColumnOf(relation=relation, column=found)

    # --- looking --------------------------------------------------------------------------------------------------------

    def _columns(self, relation: str) -> tuple[str, ...] | None:
        if relation in self._compiled.sources:
            return tuple(column.name for column in self._compiled.sources[relation].columns)
        model = self._compiled.models.get(relation)
        if model is None:
            return None
        own = ("valid_from", "valid_to") if model.kind == "snapshot" else ()
        return (*(column.name for column in model.columns), *own)

    def _values(self, column: ColumnOf) -> tuple[ColumnOf, ...]:
        if column.relation not in self._compiled.models:
            return ()
        return next((each.values for each in self.of(column.relation).columns if each.column == column), ())

    def _asked(self, column: ColumnOf) -> Iterator[Reached]:
        """A contract that promises it is broken without it."""
        model = self._compiled.models.get(column.relation)
        if model is not None and any(promise.column.lower() == column.column.lower() for promise in model.contract):
            yield Reached(relation=model.name, column=column.column, how="contract")

    def _look(self, model: CompiledModel) -> ModelLineage:
        answer = None if isinstance(model.file, SeedFile) or model.blocked else parser.parse(model.text)
        if not isinstance(answer, Statements) or len(answer.trees) != 1:
            columns = tuple(ColumnLineage(column=ColumnOf(relation=model.name, column=each.name), values=()) for each in model.columns)
            return ModelLineage(model=model.name, columns=columns, rows=(), complete=isinstance(model.file, SeedFile))
        reading = Reading(self._bodies.expanded(answer.trees[0]))

        read: set[ColumnOf] = set()

        def known(table: Tree) -> Columns:
            found = self._names.resolve(tuple(table.get("qualified_name", {}).get("path", ())))
            columns = None if isinstance(found, Unresolved) else self._columns(found.name)
            if columns is None or not isinstance(found, Node):
                return None
            read.update(ColumnOf(relation=found.name, column=name) for name in columns)
            return tuple(Column(name, table=found.name, type=kind) for name, kind in self._typed(found.name, columns))

        looked = Nullability(reading, known, aggregates=parser.functions().aggregates, macros=self._macros, may_hold_json=False)
        for table in reading.tables:
            known(table)
        return _Walk(looked, frozenset(read)).lineage(model)

    def _typed(self, relation: str, columns: Iterable[str]) -> list[tuple[str, str | None]]:
        source = self._compiled.sources.get(relation)
        typed = source.columns if source is not None else self._compiled.models[relation].columns
        kinds = {column.name: column.type for column in typed}
        return [(name, kinds.get(name)) for name in columns]


class _Walk:
    """Follows the columns of one statement to the columns of what it reads."""

    def __init__(self, looked: Nullability, read: frozenset[ColumnOf]) -> None:
        self._looked = looked
        self._read = read
        """All columns of what the statement reads: what cannot be followed may be any of these."""
        self._complete = True
        self._traced: dict[int, frozenset[ColumnOf]] = {}

    def lineage(self, model: CompiledModel) -> ModelLineage:
        root = self._looked.root()
        if root is None or len(root) != len(model.columns):
            self._complete = False
            root = ()
        values = [self._trace(column) for column in root] or [self._read for _ in model.columns]
        rows: set[ColumnOf] = set()
        done = 0
        while done < len(self._looked.conditions):  # those of subqueries in conditions are added on the way
            _, tree, env = self._looked.conditions[done]
            rows |= self._tree(tree, env, rows=True)
            done += 1
        return ModelLineage(
            model=model.name,
            columns=tuple(
                ColumnLineage(column=ColumnOf(relation=model.name, column=column.name), values=tuple(sorted(found)))
                for column, found in zip(model.columns, values, strict=True)
            ),
            rows=tuple(sorted(rows)),
            complete=self._complete,
        )

    def _trace(self, column: Column) -> frozenset[ColumnOf]:
        if column.number not in self._traced:
            self._traced[column.number] = frozenset()  # a recursive CTE that comes round to itself
            self._traced[column.number] = self._origin(column)
        return self._traced[column.number]

    def _origin(self, column: Column) -> frozenset[ColumnOf]:
        if column.table is not None:
            return frozenset({ColumnOf(relation=column.table, column=column.name or "")})
        found = frozenset[ColumnOf]().union(*(self._trace(each) for each in column.merged))
        if column.expression is not None:
            found |= self._tree(*column.expression)
        return found

    def _tree(self, tree: Any, env: Env, *, rows: bool = False, bound: frozenset[str] = frozenset()) -> frozenset[ColumnOf]:
        """Columns that an expression is made of; with `rows` also those that only order or filter inside of it."""
        found: frozenset[ColumnOf] = frozenset()
        if isinstance(tree, list):
            return found.union(*(self._tree(part, env, rows=rows, bound=bound) for part in tree))
        if not isinstance(tree, dict):
            return found
        match tree.get("type"):
            case "BOUND_COLUMN":
                return self._trace(tree["column"])
            case "COLUMN_REF":
                return self._reference(tree.get("column_names", []), env, bound, rows=rows)
            case "SUBQUERY":
                columns = self._looked.query(tree["subquery"]["node"], env)
                if columns is None:
                    self._complete = False
                    found = self._read
                elif tree.get("subquery_type") in {"SCALAR", "ANY"}:
                    found = found.union(*(self._trace(column) for column in columns))
                return found | self._tree(tree.get("child"), env, rows=rows, bound=bound)
            case "LAMBDA":
                names = frozenset(name.lower() for name in _names(tree.get("lhs")))
                return self._tree(tree.get("expr"), env, rows=rows, bound=bound | names)
        for label, part in tree.items():
            if label in _ROWS and not rows:
                if part:
                    self._looked.conditions.append(("order", {"type": "LIST", "parts": part}, env))
            elif isinstance(part, dict | list):
                found |= self._tree(part, env, rows=rows, bound=bound)
        return found

    def _reference(self, names: list[str], env: Env, bound: frozenset[str], *, rows: bool) -> frozenset[ColumnOf]:
        if names and names[0].lower() in bound:
            return frozenset()
        found = find(names, env)
        if isinstance(found, Column):
            return self._trace(found)
        if isinstance(found, dict):
            alias = names[0].lower()
            inner = Env(env.rows, env.facts, env.outer, aliases={name: tree for name, tree in env.aliases.items() if name != alias})
            return self._tree(found, inner, rows=rows, bound=bound)
        if isinstance(found, Field) and found.column is not None:
            return self._trace(found.column)
        scope: Env | None = env
        while scope is not None:
            whole = [binding for binding in scope.rows.bindings if binding.name == names[0].lower()]
            if whole and whole[0].columns is not None:
                return frozenset[ColumnOf]().union(*(self._trace(column) for column in whole[0].columns))
            scope = scope.outer
        if names[-1].lower() in _CLOCKS:
            return frozenset()
        self._complete = False
        named = frozenset(each for each in self._read if each.column.lower() in {name.lower() for name in names})
        return named or self._read


_ROWS = frozenset({"filter", "filter_expr", "order_bys", "orders", "partitions", "arg_orders", "start_expr", "end_expr"})
_CLOCKS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})


def _names(tree: Any) -> Iterator[str]:
    if isinstance(tree, list):
        for part in tree:
            yield from _names(part)
    elif isinstance(tree, dict):
        yield from tree.get("column_names", ())
        for part in tree.values():
            if isinstance(part, dict | list):
                yield from _names(part) if not isinstance(part, list) or not part or not isinstance(part[0], str) else ()


def _reached(models: Iterable[ModelLineage], columns: set[ColumnOf]) -> Iterator[Reached]:
    for model in models:
        for each in model.columns:
            if not columns.isdisjoint(each.values):
                yield Reached(relation=model.model, column=each.column.column, how="values")
        if not columns.isdisjoint(model.rows):
            yield Reached(relation=model.model, column="", how="rows")
