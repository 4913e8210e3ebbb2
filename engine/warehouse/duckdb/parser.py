"""DuckDB's own tokens and syntax tree, as plain values. The text itself is never made again from them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from interlock.engine.warehouse.duckdb.driver import duckdb
from interlock.machines.records import Record, canonical

Tree: TypeAlias = dict[str, Any]
TokenKind: TypeAlias = Literal["identifier", "keyword", "number", "text", "operator", "comment"]

NOWHERE: Final = 2**64 - 1
"""The offset that DuckDB gives for what has no place in the text."""

ENGINE: Final = duckdb.__version__

# By identity: each is one object for the whole process, and hashing one runs Python.
_KINDS: Final[dict[int, TokenKind]] = {
    id(duckdb.token_type.identifier): "identifier",
    id(duckdb.token_type.keyword): "keyword",
    id(duckdb.token_type.numeric_const): "number",
    id(duckdb.token_type.string_const): "text",
    id(duckdb.token_type.operator): "operator",
    id(duckdb.token_type.comment): "comment",
}

_SERIALIZE = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)"
_SERIALIZE_MANY = """SELECT x, json_serialize_sql(x, skip_null := true, skip_empty := true, skip_default := true)
FROM (SELECT unnest(?::VARCHAR[]) AS x)"""
_AT_FIRST: Final = 8
_AT_ONCE: Final = 50

# Members that name places, cut out of JSON without blanks: after another member, or as the first one. A quote inside of a JSON
# string has a backslash before it, so neither can be found there. Both begin with a plain text, which is searched for ten times as
# fast as a look behind.
_PLACE_AFTER: Final = re.compile(r',"query_location(?:_length)?":\d+')
_PLACE_FIRST: Final = re.compile(r'\{"query_location(?:_length)?":\d+,?')
_CALL: Final = re.compile(r'(\w+)"?\(')
"""What is called in a text of the engine's own, in which a name stands right before its bracket."""
_LEVELS_MAX = 20_000

_OPENING: Final = threading.Lock()
_ASKING: Final = threading.Lock()
"""One thread opens and asks; others wait for what it gets instead of doing it once more."""

_ahead: dict[str, Future[dict[str, str]]] = {}
"""Answers that were asked for ahead, each taken once: with the others of its lot, when these are there."""


class Token(NamedTuple):
    """A token: its bytes in the text, without the blanks after it."""

    start: int
    end: int
    kind: TokenKind
    text: str


class Statements(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text is one or more SELECT statements: their trees."""

    trees: tuple[Tree, ...]


class NotParsed(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text does not parse. `offset` is in bytes, where DuckDB gave one."""

    message: str
    offset: int | None


class NotSelect(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text parses, and something in it is no SELECT: the kinds of its statements as DuckDB names them."""

    kinds: tuple[str, ...]


def tokens(text: str) -> list[Token]:
    """All tokens, comments among them.

    >>> [token.text for token in tokens("select $day -- on it")]
    ['select', '$', 'day', '-- on it']
    """
    marks: list[tuple[int, Any]] = duckdb.tokenize(text)
    found: list[Token] = []
    if text.isascii():
        # As for nearly every text, a byte is a character.
        for (start, kind), (end, _) in itertools.pairwise([*marks, (len(text), None)]):
            if piece := text[start:end].rstrip():
                found.append(Token(start, start + len(piece), _KINDS[id(kind)], piece))
        return found
    data = text.encode()
    for (start, kind), (end, _) in itertools.pairwise([*marks, (len(data), None)]):
        if piece := data[start:end].decode().rstrip():
            found.append(Token(start, start + len(piece.encode()), _KINDS[id(kind)], piece))
    return found


class Functions(NamedTuple):
    """What the engine says of its own functions, all names in small letters."""

    aggregates: frozenset[str]
    """Those that make one value of many rows; among them macros of its own that call one, such as `json_group_array`."""
    unstable: frozenset[str]
    """Those that are not `CONSISTENT`."""
    names: frozenset[str] = frozenset()
    """All of them."""


def begin() -> None:
    """Open the database that parses, and ask the engine for its functions, on a thread of its own: all who compile wait for both."""
    threading.Thread(target=_begun, name="functions").start()


def _begun() -> None:
    with contextlib.suppress(duckdb.Error):  # who needs an answer asks again, and is told
        functions()


def functions() -> Functions:
    """Asked once in a process: it takes as long as binding fifty models."""
    with _ASKING:
        return _functions()


@functools.cache
def _functions() -> Functions:
    with _connection().cursor() as cursor:
        rows = cursor.execute(
            "SELECT lower(function_name), function_type, stability, macro_definition FROM duckdb_functions() WHERE internal"
        ).fetchall()
    aggregates = frozenset(name for name, kind, _, _ in rows if kind == "aggregate")
    return Functions(
        aggregates=aggregates | _calling(aggregates, [(name, text) for name, kind, _, text in rows if kind == "macro"]),
        unstable=frozenset(name for name, _, stability, _ in rows if stability not in {None, "CONSISTENT"}),
        names=frozenset(name for name, _, _, _ in rows),
    )


def _calling(wanted: frozenset[str], macros: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Names of macros that call one of these, directly or by way of another macro."""
    calls = [(name, frozenset(_CALL.findall(text.lower()))) for name, text in macros]
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(name for name, called in calls if called & (wanted | found))
        if more == found:
            return found
        found = more


@contextlib.contextmanager
def looking_ahead(texts: Iterable[str]) -> Iterator[None]:
    """Parse many texts at once, which is three times as fast, and on a thread of its own, in the order given.

    The next `parse` of each takes the answer, and waits where it is not there yet.
    """
    _ahead.clear()
    waiting = list(dict.fromkeys(texts))
    _connection()  # made here, since making it sets the depth of recursion
    lots = [waiting[:_AT_FIRST], *(waiting[start : start + _AT_ONCE] for start in range(_AT_FIRST, len(waiting), _AT_ONCE))]
    pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="parser")
    try:
        for lot in lots:
            _ahead.update(dict.fromkeys(lot, pool.submit(_serialize_many, lot)))
        yield
    finally:
        pool.shutdown(cancel_futures=True)
        _ahead.clear()


def _serialize_many(texts: list[str]) -> dict[str, str]:
    with _connection().cursor() as cursor:
        return dict(cursor.execute(_SERIALIZE_MANY, [texts]).fetchall())


def parse(text: str) -> Statements | NotParsed | NotSelect:
    """The syntax trees of a text, with byte offsets under `query_location`."""
    answer = _serialized(text)
    if not answer["error"]:
        return Statements(trees=tuple(answer.get("statements", ())))
    if answer.get("error_type") == "not implemented":
        return NotSelect(kinds=_kinds(text))
    return NotParsed(message=answer["error_message"], offset=int(answer["position"]) if "position" in answer else None)


def canonical_of(text: str) -> str:
    """The canonical form of a SELECT by this engine's parser: its tree without places. Empty where it is no SELECT.

    >>> canonical_of("select a  from t -- x") == canonical_of("SELECT a FROM t")
    True
    """
    answer = parse(text)
    return canonical_of_trees(answer.trees) if isinstance(answer, Statements) else ""


def canonical_of_trees(trees: tuple[Tree, ...]) -> str:
    """The canonical form of trees: JSON with sorted keys, without places."""
    text = _PLACE_AFTER.sub("", canonical(trees).decode())
    return _PLACE_FIRST.sub("{", text)


@contextlib.contextmanager
def in_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of the database in memory that parses: it reaches nothing outside."""
    with _connection().cursor() as cursor:
        yield cursor


def _connection() -> duckdb.DuckDBPyConnection:
    with _OPENING:
        return _opened()


@functools.cache
def _opened() -> duckdb.DuckDBPyConnection:
    # a tree is about four levels deep for each level of the expression, of which DuckDB takes a thousand
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _LEVELS_MAX))
    return duckdb.connect(
        ":memory:", config={"enable_external_access": False, "lock_configuration": True, "threads": 1, "async_threads": 0}
    )


def _serialized(text: str) -> Tree:
    known = _ahead.pop(text, None)
    if known is not None:
        ahead: Tree = msgspec.json.decode(known.result()[text])
        return ahead
    with _connection().cursor() as cursor:
        row = cursor.execute(_SERIALIZE, [text]).fetchone()
    assert row is not None
    answer: Tree = msgspec.json.decode(row[0])
    return answer


def _kinds(text: str) -> tuple[str, ...]:
    with _connection().cursor() as cursor:
        return tuple(statement.type.name for statement in cursor.extract_statements(text))
