"""DuckDB's driver, without the part of it that is written in Python, which takes longer to import than the engine does.

That part is relations, expressions and readers for data frames. Here a connection executes texts, and what is used of the driver
are the very objects of its compiled module. Where a release lacks one of them there, the whole package is taken.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import duckdb

__all__ = ["duckdb", "related"]

NEEDED: Final = (
    "BinderException",
    "CatalogException",
    "ConnectionException",
    "DuckDBPyConnection",
    "Error",
    "FatalException",
    "InternalException",
    "InterruptException",
    "IOException",
    "OutOfMemoryException",
    "PermissionException",
    "ResourceInUseException",
    "Statement",
    "StatementType",
    "TransactionException",
    "__version__",
    "connect",
    "token_type",
    "tokenize",
)
"""All that is used of the driver: a test looks for more."""


def chosen(compiled: Any | None) -> Any:
    """The compiled module where it has all that is needed, else the package."""
    if compiled is not None and all(hasattr(compiled, name) for name in NEEDED):
        return compiled
    return importlib.import_module("duckdb")


def related(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> duckdb.DuckDBPyRelation:
    """What a statement gives, as a relation of the driver; the package puts them into the connections that there are.

    Raises:
        duckdb.Error: it does not bind.
    """
    importlib.import_module("duckdb")
    return connection.sql(statement)


def _compiled() -> Any | None:
    try:
        return importlib.import_module("_duckdb")
    except ImportError:
        return None


if not TYPE_CHECKING:
    duckdb = chosen(_compiled())
