"""A locked-down in-memory DuckDB with empty shadow relations: the warehouse's own opinion on names and types, at no risk."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

import msgspec

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.engine.warehouse.duckdb.quoting import identifier
from interlock.engine.warehouse.duckdb.signature import NotOneSelect, one_select, signature
from interlock.engine.warehouse.protocol import ALIAS
from interlock.machines.evidence import Column
from interlock.machines.records import Record

SOURCES: Final = "interlock_sources"
"""Alias of the database in which sources have their shadows, each by its name in the project."""

_LOCKDOWN: Final[dict[str, str | bool | int | float | list[str]]] = {
    "python_enable_replacements": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    # What is done here is small: tasks for other threads cost more than they bring. Two of ours use it at once in any case.
    "threads": 1,
    "async_threads": 0,
}

_LOT: Final = 16
"""So many shadows are made in one transaction."""

MacroKind: TypeAlias = Literal["macro", "table_macro"]


class NotBound(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The binder refuses a text. `offset` and `length` are in bytes of that text, `candidates` what it has near that name."""

    message: str
    offset: int | None = None
    length: int = 0
    name: str = ""
    candidates: tuple[str, ...] = ()


_NOT_ONE: Final = NotBound(message="it is not one SELECT")


class Shadow(NamedTuple):
    """An empty stand-in for a relation: where it stands, what it is, and its columns."""

    catalog: str
    schema: str
    name: str
    kind: Literal["table", "view"]
    columns: tuple[Column, ...]


class Macro(NamedTuple):
    """A macro as the binder keeps it: one entry for each overload."""

    name: str
    kind: MacroKind
    parameters: tuple[str, ...]
    definition: str


class Round:
    """Shadows that are made, then texts that are bound against what stands then, on a thread of its own; who waits for it helps."""

    def __init__(self, binder: Binder, shadows: Iterable[Shadow], texts: Iterable[str], pool: ThreadPoolExecutor) -> None:
        """Begin."""
        self._binder = binder
        wanted = list(shadows)
        self._lots = deque((start, wanted[start : start + _LOT]) for start in range(0, len(wanted), _LOT))
        self._failed: dict[int, NotBound] = {}
        self._waiting = deque(dict.fromkeys(texts))
        self._found: dict[str, tuple[Column, ...] | NotBound] = {}
        self._helping = threading.Lock()
        """Held by the waiting thread while it makes shadows: before that is done, nothing is bound."""
        self._stood = pool.submit(self._stand, beside=True)
        self._done = pool.submit(self._bind_beside)

    def stood(self) -> dict[int, NotBound]:
        """Which of the shadows could not be made, by position."""
        with self._helping:
            self._stand(beside=False)
        self._stood.result()
        return self._failed

    def found(self) -> dict[str, tuple[Column, ...] | NotBound]:
        """What each text came to, as `Binder.columns_of` says it."""
        self.stood()
        self._bind(beside=False)
        self._done.result()
        return self._found

    def _stand(self, *, beside: bool) -> None:
        while self._lots:
            try:
                start, lot = self._lots.popleft()
            except IndexError:  # the other one took it
                return
            failed = self._binder.stand_in(lot, beside=beside)
            self._failed.update((start + place, why) for place, why in failed.items())

    def _bind_beside(self) -> None:
        with self._helping:  # its last lot may not be made yet
            pass
        self._bind(beside=True)

    def _bind(self, *, beside: bool) -> None:
        while self._waiting:
            try:
                text = self._waiting.popleft()
            except IndexError:  # the other one took it
                return
            self._found[text] = self._binder.columns_of(text, beside=beside)


class Binder:
    """Binds texts and runs none of the author's. Two threads may use it at once: one as it is, the other `beside`."""

    def __init__(self, settings: Iterable[str] = ()) -> None:
        """Open it.

        Args:
            settings: SET statements of the target.

        Raises:
            UnknownSetting: DuckDB does not take one of the settings.
        """
        self._connection = duckdb.connect(":memory:", config=_LOCKDOWN)
        self.types: dict[str, str | NotBound] = {}
        """What names of types came to; a memory for those who ask often."""
        self._schemas: set[tuple[str, str]] = set()
        self._one_makes_schemas = threading.Lock()
        for catalog in (ALIAS, SOURCES):
            self._connection.execute(f"ATTACH ':memory:' AS {identifier(catalog)}")
            self._schemas.add((catalog.lower(), "main"))
        # A second one, to bind on two cores. Settings and temporary macros are each connection's own.
        self._other = self._connection.cursor()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="binder")
        for statement in settings:
            try:
                self._connection.execute(statement)
                self._other.execute(statement)
            except duckdb.Error as error:
                raise UnknownSetting(statement, str(error)) from error
        self._connection.execute("SET errors_as_json = true")
        self._other.execute("SET errors_as_json = true")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        self._pool.shutdown(cancel_futures=True)
        self._other.close()
        self._connection.close()

    def begin(self, shadows: Iterable[Shadow], texts: Iterable[str]) -> Round:
        """Make shadows and bind texts on another thread, while the caller goes on. One at a time."""
        return Round(self, shadows, texts, self._pool)

    def columns_of(self, text: str, *, beside: bool = False) -> tuple[Column, ...] | NotBound:
        """Names and types that a SELECT gives. Names are as the text gives them, twice where it gives them twice."""
        return self._columns_of(self._other if beside else self._connection, text)

    def _columns_of(self, connection: duckdb.DuckDBPyConnection, text: str) -> tuple[Column, ...] | NotBound:
        try:
            names, types = signature(connection, text)
        except NotOneSelect:
            return _NOT_ONE
        except duckdb.Error as error:
            return _explained(connection, text, error)
        return tuple(Column(name=name, type=str(kind)) for name, kind in zip(names, types, strict=True))

    def plan_of(self, text: str) -> dict[str, Any] | None:
        """The plan of a SELECT as it is bound; `None` where the engine cannot write it down."""
        try:
            found = self._connection.execute("SELECT json_serialize_plan($text)", {"text": text}).fetchall()[0][0]
            plan: dict[str, Any] = msgspec.json.decode(found)
        except (duckdb.Error, msgspec.DecodeError):
            return None
        return None if plan.get("error") else plan

    def type_of(self, expression: str) -> str | NotBound:
        """The type of an expression without columns."""
        columns = self.columns_of(f"SELECT {expression} AS x")
        return columns if isinstance(columns, NotBound) else columns[0].type

    def evaluate(self, text: str) -> list[tuple[object, ...]] | NotBound:
        """Run a SELECT of ours over the empty shadows: constants in it are worked out, so that a wrong one shows."""
        try:
            rows: list[tuple[object, ...]] = self._connection.execute(text).fetchall()
        except duckdb.Error as error:
            return _not_bound(error)
        return rows

    def stand_in(self, shadows: Iterable[Shadow], *, beside: bool = False) -> dict[int, NotBound]:
        """Make shadows, all in one statement list; where that fails, one by one.

        Returns:
            The failures, by position.
        """
        wanted = list(shadows)
        if not wanted:
            return {}
        connection = self._other if beside else self._connection
        statements = [self._statement(connection, shadow) for shadow in wanted]
        try:
            connection.execute(";\n".join(["BEGIN", *statements, "COMMIT"]))
        except duckdb.Error:
            connection.execute("ROLLBACK")
        else:
            return {}
        failures: dict[int, NotBound] = {}
        for index, statement in enumerate(statements):
            try:
                connection.execute(statement)
            except duckdb.Error as error:
                failures[index] = _not_bound(error)
        return failures

    def create_macro(self, statement: str) -> NotBound | None:
        """Run one CREATE TEMP MACRO statement, whose kind the caller has made sure of."""
        try:
            self._connection.execute(statement)
            self._other.execute(statement)
        except duckdb.Error as error:
            return _not_bound(error)
        return None

    def macros(self) -> tuple[Macro, ...]:
        """The macros that were made, as the binder keeps them."""
        rows = self._connection.execute(
            "SELECT function_name, function_type, parameters, macro_definition FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()
        return tuple(Macro(name.lower(), kind, tuple(parameters), definition) for name, kind, parameters, definition in rows)

    def _statement(self, connection: duckdb.DuckDBPyConnection, shadow: Shadow) -> str:
        place = (shadow.catalog.lower(), shadow.schema.lower())
        name = ".".join(identifier(part) for part in shadow[:3])
        with self._one_makes_schemas:
            if place not in self._schemas:
                connection.execute(f"CREATE SCHEMA {identifier(shadow.catalog)}.{identifier(shadow.schema)}")
                self._schemas.add(place)
        if shadow.kind == "table":
            columns = ", ".join(f"{identifier(column.name)} {column.type}" for column in shadow.columns)
            return f"CREATE TABLE {name} ({columns})"
        columns = ", ".join(f"CAST(NULL AS {column.type}) AS {identifier(column.name)}" for column in shadow.columns)
        return f"CREATE VIEW {name} AS SELECT {columns}"


def _explained(connection: duckdb.DuckDBPyConnection, text: str, error: duckdb.Error) -> NotBound:
    """EXPLAIN says the same with a place in the text. Of several statements it would run all but the first."""
    try:
        one_select(connection, text)
    except NotOneSelect:
        return _NOT_ONE
    except duckdb.Error:
        pass  # what does not parse is not run either
    prefix = "EXPLAIN "
    try:
        connection.execute(prefix + text)
    except duckdb.Error as explained:
        found = _not_bound(explained)
        if found.offset is None:
            return found
        return msgspec.structs.replace(found, offset=max(0, found.offset - len(prefix)))
    return _not_bound(error)


class UnknownSetting(Exception):  # noqa: N818 - what it is
    """DuckDB does not take a setting of the target."""

    def __init__(self, statement: str, message: str) -> None:
        super().__init__(f"{statement}: {message}")
        self.statement = statement
        self.message = message


def _not_bound(error: duckdb.Error) -> NotBound:
    text = str(error)
    start = text.find("{")
    try:
        detail = msgspec.json.decode(text[start:], type=dict[str, str]) if start >= 0 else {}
    except (msgspec.DecodeError, msgspec.ValidationError):
        detail = {}
    if "exception_message" not in detail:
        return NotBound(message=text.partition("\n\nLINE ")[0])
    length = 0
    if "location" in detail:
        length = int(detail["location"].strip("[]").split(",")[1])
    return NotBound(
        message=detail["exception_message"],
        offset=int(detail["position"]) if "position" in detail else None,
        length=length,
        name=detail.get("name", ""),
        candidates=tuple(part.strip().strip('"') for part in detail.get("candidates", "").split(",") if part.strip()),
    )
