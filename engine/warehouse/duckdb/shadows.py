"""Whether views would bind if relations had other columns: asked of empty shadows of all that they read, in a database of its own.

What a view takes from elsewhere (files, other databases, what people made in the warehouse beside relations) is not there. So that
one does not bind here says nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Literal, Self

from interlock.engine.warehouse.duckdb.dependents import Place, names_in, place_in, select_of
from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.quoting import identifier, relation
from interlock.engine.warehouse.duckdb.signature import NotOneSelect, signature
from interlock.engine.warehouse.protocol import ALIAS, Catalog, RelationSeen
from interlock.machines.evidence import Column

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}


def bindable(
    catalog: Catalog, views: Sequence[RelationSeen], changed: Mapping[Place, tuple[Column, ...]], macros: Iterable[str]
) -> frozenset[Place]:
    """The views that are shown to bind if relations have these columns.

    Args:
        catalog: the bulk probe.
        views: that are asked about.
        changed: columns that relations would have, instead of those of the catalog.
        macros: of the project, as CREATE TEMP MACRO statements.
    """
    with _Shadows(catalog, macros) as shadows:
        for place in _in_order(catalog, views, changed):
            shadows.stand_in(place, changed.get(place), instead="nothing")
        return shadows.bound(views)


def broken_by(
    catalog: Catalog,
    views: Sequence[RelationSeen],
    missing: Mapping[Place, tuple[Column, ...]],
    changed: Mapping[Place, tuple[Column, ...]],
    macros: Iterable[str],
) -> frozenset[Place]:
    """The views that are shown to bind now, and not to bind if relations have other columns.

    Args:
        catalog: the bulk probe.
        views: that are asked about.
        missing: columns of relations that are not there and are not to decide: as if they were.
        changed: columns that relations would have.
        macros: of the project, as CREATE TEMP MACRO statements.
    """
    with _Shadows(catalog, macros) as shadows:
        for place in _in_order(catalog, views, changed):
            shadows.stand_in(place, missing.get(place), instead="its columns")
        before = shadows.bound(views)
        for place, columns in changed.items():
            shadows.change(place, columns)
        return before - shadows.bound(views)


def _in_order(catalog: Catalog, views: Iterable[RelationSeen], changed: Mapping[Place, object]) -> list[Place]:
    """All that views reach and they themselves, each behind what it reads. What is changed is not looked through."""
    found: list[Place] = []
    seen: set[Place] = set()
    waiting = [(place_in(view), False) for view in views]
    while waiting:
        place, is_behind = waiting.pop()
        if is_behind:
            found.append(place)
        elif place not in seen:
            seen.add(place)
            waiting.append((place, True))
            stands = catalog.relations.get(place)
            if stands is not None and stands.kind == "view" and place not in changed:
                waiting += [(read, False) for read in sorted(names_in(stands))]
    return found


class _Shadows:
    """An empty database with the project's macros."""

    def __init__(self, catalog: Catalog, macros: Iterable[str]) -> None:
        self._catalog = catalog
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        self._connection.execute(f"ATTACH ':memory:' AS {identifier(ALIAS)}")
        self._connection.execute(f"USE {identifier(ALIAS)}")
        for statement in macros:
            self._done(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    def stand_in(self, place: Place, columns: tuple[Column, ...] | None, *, instead: Literal["its columns", "nothing"]) -> None:
        """Make the shadow of a relation: a view from its text, anything else from its columns.

        Args:
            place: of the relation.
            columns: that it would have, instead of those of the catalog.
            instead: of a view that cannot be made of its text: `its columns`, or `nothing`.
        """
        stands = self._catalog.relations.get(place)
        if columns is not None:
            self._table(place, columns)
        elif stands is not None and (stands.kind != "view" or (not self._view(stands) and instead == "its columns")):
            self._table(place, stands.columns)

    def change(self, place: Place, columns: tuple[Column, ...]) -> None:
        """Give what stands there other columns."""
        for kind in ("VIEW", "TABLE"):
            self._done(f"DROP {kind} IF EXISTS {self._named(place)}")
        self._table(place, columns)

    def bound(self, views: Iterable[RelationSeen]) -> frozenset[Place]:
        """Those of the views that bind to what stands here."""
        found = set()
        for view in views:
            try:
                signature(self._connection, f"SELECT * FROM {relation(view.schema, view.name)}")
            except (duckdb.Error, NotOneSelect):
                continue
            found.add(place_in(view))
        return frozenset(found)

    def _named(self, place: Place) -> str:
        stands = self._catalog.relations.get(place)
        return relation(*place) if stands is None else relation(stands.schema, stands.name)

    def _table(self, place: Place, columns: Sequence[Column]) -> None:
        # A column of a type that no table can have: a view that reads it does not bind, and that is the answer.
        self._schema(place)
        self._done(f"CREATE TABLE {self._named(place)} ({', '.join(f'{identifier(column.name)} {column.type}' for column in columns)})")

    def _view(self, view: RelationSeen) -> bool:
        self._schema(place_in(view))
        # With its text as it is stored, since that names its columns too. It is one that we know how to read, and so one statement.
        return bool(select_of(view)) and self._done(view.text or "")

    def _schema(self, place: Place) -> None:
        self._done(f"CREATE SCHEMA IF NOT EXISTS {identifier(place[0])}")

    def _done(self, statement: str) -> bool:
        try:
            self._connection.execute(statement)
        except duckdb.Error:
            return False
        return True
