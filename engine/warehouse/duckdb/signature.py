"""One SELECT, and what it gives, asked of the driver in the shortest way that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.engine.warehouse.duckdb.driver import duckdb, related

ASK: Final = "_bind"
"""What the driver's own relations ask first, before they look for markers in Python. A name of its own, so it may be gone one day."""


class NotOneSelect(Exception):  # noqa: N818 - what it is
    """A text is several statements, none, or one that is no SELECT."""


def one_select(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """The one statement of a text, parsed: `execute` and relations would run every statement of it.

    Raises:
        NotOneSelect: it is not one SELECT.
        duckdb.Error: it does not parse.
    """
    statements = connection.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise NotOneSelect
    return statements[0]


def signature(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[Sequence[str], Sequence[object]]:
    """Names and types of what the one SELECT of a text gives; it is bound, and not run.

    What else only gives rows (EXPLAIN, SHOW) is bound like a SELECT; who must know asks `one_select`. It is one question, that holds
    Python's lock neither for parsing nor for binding. Where this release of the driver does not have it, or says that there is more
    to the text than a SELECT that can be bound at once, a relation is asked.

    Raises:
        NotOneSelect: it is one statement, and no SELECT.
        duckdb.Error: it is not one statement, or does not bind.
    """
    ask = getattr(connection, ASK, None)
    if ask is not None:
        names, types, _, returns, is_deferred, writes = ask(text, with_writes=True)
        if returns == "query_result" and not is_deferred and not writes:
            return names, types
    bound = related(connection, one_select(connection, text))
    return bound.columns, bound.types
