"""What may be a name: of a model, a relation, a variable, a tag."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_RELATION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TARGET = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", re.ASCII)

NAME_RULE = "a name has small letters, digits and underscores, and does not begin with a digit"
RELATION_RULE = "it has letters, digits and underscores, and does not begin with a digit"
RESERVED_SCHEMAS = frozenset({"interlock", "information_schema", "pg_catalog", "system", "temp", "warehouse"})
"""Ours, the engine's own, and names of databases: a view is stored without its database, and could not tell `temp.x` from one there."""
OWN_COLUMNS = "interlock_"
"""Begins the names that rows and what is counted of them have in the statements of a run: a column of such a name would be taken for that."""
BUILT_IN_VARIABLES = frozenset({"as_of", "until", "target"})


def is_name(text: str) -> bool:
    """Of a model, seed, variable or check."""
    return _NAME.fullmatch(text) is not None


def is_own_column(text: str) -> bool:
    """Whether a column's name is of those that Interlock keeps for itself."""
    return text.lower().startswith(OWN_COLUMNS)


def is_relation(text: str) -> bool:
    """Of a relation or schema that we make."""
    return _RELATION.fullmatch(text) is not None


def is_target(text: str) -> bool:
    """Of a target."""
    return _TARGET.fullmatch(text) is not None


def is_project_id(text: str) -> bool:
    """A project's id: it is the name of a directory too."""
    return _ID.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    """A tag that a selector can name."""
    return _TAG.fullmatch(text) is not None


def suggestion(text: str) -> str:
    """The nearest thing that is a name."""
    plain = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_") or "model"
    return f"m_{plain}" if plain[0].isdigit() else plain
