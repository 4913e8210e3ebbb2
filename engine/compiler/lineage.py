"""Column-level lineage: which columns a column's values come from, which only decide about rows, and what a column reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from interlock.engine.compiler.compiled import Compiled, CompiledModel
from interlock.engine.compiler.expansion import Bodies
from interlock.engine.compiler.lineage_sidecars import asked_by
from interlock.engine.compiler.names import Names, Node, Unresolved
from interlock.engine.compiler.nullability import Nullability
from interlock.engine.compiler.nullability_trees import is_lambda
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
    """Columns that filter, join, group or order its rows, multiply them or cut them off."""
    named: tuple[ColumnOf, ...] = ()
    """Columns that have no part in values or rows, and that its text names all the same: it does not compile without them."""
    complete: bool
    """False where something of the text could not be followed: then more columns may have a part in it."""


class Reached(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """Something that a column has a part in. `rows`: it decides about rows of the model, so of all of its columns.

    `named`: the model's text names it and uses nothing of it. `contract`: its own model promises it. `checks`: a check of the model
    asks about it. `settings`: the model's key, watermark or another setting is made of it.
    """

    relation: str
    column: str
    how: Literal["values", "rows", "named", "contract", "checks", "settings"]


class Impact(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of a project without a column."""

    column: ColumnOf
    direct: tuple[Reached, ...]
    """What names it."""
    further: tuple[Reached, ...]
    """Columns that come of these."""
    models: tuple[str, ...]
    """Models that no longer compile, or wait for one that does not, in the order in which they are made."""
    unsure: tuple[str, ...] = ()
    """Models of which it is not known: they read its relation, or one that it reaches, and their texts cannot be followed as a whole."""


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
            unsure=tuple(self._unsure({column.relation, *(each.relation for each in taken)})),
        )

    def _unsure(self, relations: set[str]) -> Iterator[str]:
        for name, model in self._compiled.models.items():
            if not relations.isdisjoint((*model.references, *model.sources)) and not self.of(name).complete:
                yield name

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
        """Sidecars that name it: a contract that promises it, checks and settings that are about it."""
        for model in self._compiled.models.values():
            for how in asked_by(model, column.relation, column.column, self._names):
                yield Reached(relation=model.name, column=column.column if how == "contract" else "", how=how)

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
        return _Walk(looked, reading.root, frozenset(read)).lineage(model)

    def _typed(self, relation: str, columns: Iterable[str]) -> list[tuple[str, str | None]]:
        source = self._compiled.sources.get(relation)
        typed = source.columns if source is not None else self._compiled.models[relation].columns
        kinds = {column.name: column.type for column in typed}
        return [(name, kinds.get(name)) for name in columns]


_Part: TypeAlias = Column | ColumnOf
"""What an expression is made of: a column of the statement, or one of what it reads where it cannot be followed."""


class _Walk:
    """Follows the columns of one statement to the columns of what it reads."""

    def __init__(self, looked: Nullability, root: Tree, read: frozenset[ColumnOf]) -> None:
        self._looked = looked
        self._root = root
        self._read = read
        """All columns of what the statement reads: what cannot be followed may be any of these."""
        self._complete = True
        self._parts: dict[int, frozenset[_Part]] = {}
        self._followed: set[int] = set()
        """Column references that were met, by identity."""
        self._done = 0
        """How many of the conditions were looked at."""

    def lineage(self, model: CompiledModel) -> ModelLineage:
        root = self._looked.root()
        if root is None or len(root) != len(model.columns):
            self._complete = False
            root = ()
        values = [self._origins({column}) for column in root] or [self._read for _ in model.columns]
        rows = self._conditions()
        known = rows.union(*values)
        named = self._named()
        if self._looked.lost:
            self._complete = False
        return ModelLineage(
            model=model.name,
            columns=tuple(
                ColumnLineage(column=ColumnOf(relation=model.name, column=column.name), values=tuple(sorted(found)))
                for column, found in zip(model.columns, values, strict=True)
            ),
            rows=tuple(sorted(rows)),
            named=tuple(sorted(named - known)),
            complete=self._complete,
        )

    def _conditions(self) -> frozenset[ColumnOf]:
        """What conditions read that were not looked at yet; those of subqueries in them are added on the way."""
        found: set[_Part] = set()
        origins: frozenset[ColumnOf] = frozenset()
        while self._done < len(self._looked.conditions):
            _, tree, env = self._looked.conditions[self._done]
            found |= self._tree(tree, env, rows=True)
            self._done += 1
            if self._done == len(self._looked.conditions):
                origins = self._origins(found)  # which may meet further ones
        return origins

    def _named(self) -> frozenset[ColumnOf]:
        """What is read where nothing comes of it: columns of a subquery or CTE that nobody takes, of EXISTS, of EXCLUDE.

        Last of all every column reference of the tree must have been met. One that was not stands where nothing here looks.
        """
        found: frozenset[ColumnOf] = frozenset()
        done = 0
        while done < len(self._looked.made) or self._done < len(self._looked.conditions):
            made = self._looked.made[done:]
            done = len(self._looked.made)
            found |= self._origins(set(made)) | self._conditions()
        missed = [tree for tree in self._references(self._root) if id(tree) not in self._followed]
        if missed:
            self._complete = False
            found |= frozenset[ColumnOf]().union(*(self._by_name(tree.get("column_names", [])) for tree in missed))
        return found

    def _references(self, tree: Any) -> Iterator[Tree]:
        """Column references of all that the engine binds. Parameters of lambdas and patterns of COLUMNS are none."""
        if isinstance(tree, list):
            for part in tree:
                yield from self._references(part)
        elif isinstance(tree, dict):
            kind = tree.get("type")
            if kind == "COLUMN_REF":
                yield tree
            for label, part in tree.items():
                if label == "cte_map":
                    for entry in part.get("map", ()):
                        query = entry["value"]["query_node"]
                        if self._looked.is_read(query):
                            yield from self._references(query)
                elif isinstance(part, dict | list) and not (label == "lhs" and is_lambda(tree)) and (kind, label) != ("STAR", "expr"):
                    yield from self._references(part)

    def _origins(self, parts: Iterable[_Part]) -> frozenset[ColumnOf]:
        """The columns of what the statement reads that these come from. A recursive CTE comes round to itself."""
        found: set[ColumnOf] = set()
        met: set[int] = set()
        waiting = list(parts)
        while waiting:
            part = waiting.pop()
            if isinstance(part, ColumnOf):
                found.add(part)
            elif part.number not in met:
                met.add(part.number)
                waiting += self._made_of(part)
        return frozenset(found)

    def _made_of(self, column: Column) -> frozenset[_Part]:
        """One step back."""
        known = self._parts.get(column.number)
        if known is not None:
            return known
        found: frozenset[_Part]
        if column.table is not None:
            found = frozenset({ColumnOf(relation=column.table, column=column.name or "")})
        else:
            found = frozenset(column.merged)
            if column.expression is not None:
                found |= self._tree(*column.expression)
        self._parts[column.number] = found
        return found

    def _tree(self, tree: Any, env: Env, *, rows: bool = False, bound: frozenset[str] = frozenset()) -> frozenset[_Part]:
        """What an expression is made of; with `rows` also what only orders or filters inside of it."""
        found: frozenset[_Part] = frozenset()
        if isinstance(tree, list):
            return found.union(*(self._tree(part, env, rows=rows, bound=bound) for part in tree))
        if not isinstance(tree, dict):
            return found
        match tree.get("type"):
            case "BOUND_COLUMN":
                return frozenset({tree["column"]})
            case "COLUMN_REF":
                self._followed.add(id(tree))
                return self._reference(tree.get("column_names", []), env, bound, rows=rows)
            case "STAR" | "POSITIONAL_REFERENCE":
                columns = self._several(tree, env)
                return self._unknown() if columns is None else frozenset(columns)
            case "SUBQUERY":
                columns = self._looked.query(tree["subquery"]["node"], env)
                if columns is None:
                    found = self._unknown()
                elif tree.get("subquery_type") not in {"EXISTS", "NOT_EXISTS"}:
                    found = frozenset(columns)
                return found | self._tree([part for label, part in tree.items() if label != "subquery"], env, rows=rows, bound=bound)
            case "LAMBDA":
                parameters = self._parameters(tree, env, bound)
                if parameters is None:
                    return self._tree([tree.get("lhs"), tree.get("expr")], env, rows=rows, bound=bound)
                return self._tree(tree.get("expr"), env, rows=rows, bound=bound | parameters)
            case "FUNCTION" if tree.get("schema"):
                found = self._called_on(tree, env, bound, rows=rows)
            case _:
                pass
        for label, part in tree.items():
            if label in _ROWS and not rows:
                if part:
                    self._looked.conditions.append(("order", {"type": "LIST", "parts": part}, env))
            elif isinstance(part, dict | list):
                found |= self._tree(part, env, rows=rows, bound=bound)
        return found

    def _parameters(self, tree: Tree, env: Env, bound: frozenset[str]) -> frozenset[str] | None:
        """The parameters of a lambda; nothing where it is none: `payload -> '$.a'` takes a field of JSON, and its tree is the same.

        The engine takes an arrow for a lambda only where a setting says so; then its parameters mean nothing else that is there.
        """
        left: Tree = tree.get("lhs", {})
        named = list(self._references(left))
        names = [reference.get("column_names", []) for reference in named]
        plain = left.get("type") == "COLUMN_REF" or left.get("function_name") == "row"
        if not is_lambda(tree) and not (plain and all(self._means_nothing(each, env, bound) for each in names)):
            return None
        self._followed.update(map(id, named))
        return frozenset(name.lower() for each in names for name in each)

    @staticmethod
    def _means_nothing(names: list[str], env: Env, bound: frozenset[str]) -> bool:
        if len(names) != 1 or names[0].lower() in bound or find(names, env) is not None:
            return False
        scope: Env | None = env
        while scope is not None:
            if scope.rows.star is None or any(binding.name == names[0].lower() for binding in scope.rows.bindings):
                return False
            scope = scope.outer
        return True

    def _called_on(self, call: Tree, env: Env, bound: frozenset[str], *, rows: bool) -> frozenset[_Part]:
        """In `word.upper()` a column stands where a schema may stand."""
        names = [call[label] for label in ("catalog", "schema") if call.get(label)]
        if find(names, env) is None and names[-1].lower() in _SCHEMAS and names[0].lower() not in bound:
            return frozenset()
        return self._reference(names, env, bound, rows=rows)

    def _several(self, tree: Tree, env: Env) -> Columns:
        """The columns that COLUMNS stands for inside of an expression, or the one that `#1` does."""
        if tree["type"] == "STAR":
            return self._looked.star(tree, env)
        index = int(tree.get("index", 0))
        star = env.rows.star
        return None if star is None or not 0 < index <= len(star) else (star[index - 1],)

    def _unknown(self) -> frozenset[_Part]:
        self._complete = False
        return frozenset(self._read)

    def _by_name(self, names: list[str]) -> frozenset[ColumnOf]:
        """Where it is not known what a name means: what it may mean."""
        named = frozenset(each for each in self._read if each.column.lower() in {name.lower() for name in names})
        return named or self._read

    def _reference(self, names: list[str], env: Env, bound: frozenset[str], *, rows: bool) -> frozenset[_Part]:
        if names and names[0].lower() in bound:
            return frozenset()
        found = find(names, env)
        if isinstance(found, Column):
            return frozenset({found})
        if isinstance(found, dict):
            alias = names[0].lower()
            inner = Env(env.rows, env.facts, env.outer, aliases={name: tree for name, tree in env.aliases.items() if name != alias})
            return self._tree(found, inner, rows=rows, bound=bound)
        if isinstance(found, Field) and found.column is not None:
            return frozenset({found.column})
        scope: Env | None = env
        while scope is not None:
            whole = [binding for binding in scope.rows.bindings if binding.name == names[0].lower()]
            if whole and whole[0].columns is not None:
                return frozenset(whole[0].columns)
            scope = scope.outer
        if names[-1].lower() in _CLOCKS:
            return frozenset()
        self._complete = False
        return frozenset(self._by_name(names))


_ROWS = frozenset({"filter", "filter_expr", "order_bys", "orders", "partitions", "arg_orders", "start_expr", "end_expr"})
_SCHEMAS = frozenset({"main", "pg_catalog"})
"""Where functions of the engine stand."""
_CLOCKS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})


def _reached(models: Iterable[ModelLineage], columns: set[ColumnOf]) -> Iterator[Reached]:
    for model in models:
        for each in model.columns:
            if not columns.isdisjoint(each.values):
                yield Reached(relation=model.model, column=each.column.column, how="values")
        if not columns.isdisjoint(model.rows):
            yield Reached(relation=model.model, column="", how="rows")
        if not columns.isdisjoint(model.named):
            yield Reached(relation=model.model, column="", how="named")
