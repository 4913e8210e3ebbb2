"""What a statement gives, asked of the driver in the shortest way that it has."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb


def signature(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[Sequence[str], Sequence[object]] | None:
    """Names and types of what the one statement of a text gives; it is bound, and not run. Several statements are an error.

    One question that holds Python's lock neither for parsing nor for binding: what the driver's own relations ask first, before
    they look for markers in Python. Nothing where this release of the driver has no such question, or says that there is more to
    the text than a SELECT that can be bound at once.
    """
    ask = getattr(connection, "_bind", None)
    if ask is None:
        return None
    names, types, _, returns, is_deferred, writes = ask(text, with_writes=True)
    return (names, types) if returns == "query_result" and not is_deferred and not writes else None
