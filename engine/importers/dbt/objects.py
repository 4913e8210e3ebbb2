"""The objects that templates meet: each gives what can be kept, and refuses the rest."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from interlock.engine.importers.dbt.template import CannotKeep

CLOCK: Final = "the template reads the clock, which would be frozen into the SQL"


class _Named:
    """Something in the warehouse: its parts are known once all names are."""

    def __init__(self, parts: Callable[[], tuple[str, str]]) -> None:
        self._parts = parts

    @property
    def schema(self) -> str:
        """Its schema, as dbt names it."""
        return self._parts()[0]

    @property
    def identifier(self) -> str:
        """Its name in the warehouse, which an alias may have changed."""
        return self._parts()[1]

    name = table = identifier


class Relation(_Named, Mapping[str, Any]):
    """What `ref` and `source` give: a mark in the text, replaced by a name once all names are known.

    It is a mapping because macros of packages tell relations from texts by that.
    """

    is_table = True
    is_view = is_cte = False
    type = "table"

    def __init__(self, mark: str, parts: Callable[[], tuple[str, str]]) -> None:
        super().__init__(parts)
        self._mark = mark

    def __str__(self) -> str:
        return self._mark

    render = __str__

    def __getitem__(self, key: str) -> Any:
        return {"metadata": {"type": "Relation"}, "identifier": self.identifier, "type": self.type}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("metadata", "identifier", "type"))

    def __len__(self) -> int:
        return 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Relation) and self._mark == other._mark

    def __hash__(self) -> int:
        return hash(self._mark)

    @property
    def database(self) -> str:
        """Not kept: the new project's database has a name of its own."""
        raise CannotKeep("D805", "the name of a relation's database is read", "name the relation by ref or source alone")

    def include(self, *_: Any, **__: Any) -> Relation:
        """The parts of the name are ours to write."""
        return self

    quote = include


class This(_Named):
    """`this`: its parts are known; as a relation it would make the model read itself."""

    def __str__(self) -> str:
        raise CannotKeep(
            "D818", "the model reads its own relation through `this`", "write the query as a whole; what is new is found by the watermark"
        )

    render = __str__

    @property
    def database(self) -> str:
        """Not kept."""
        raise CannotKeep("D805", "the name of the model's database is read", "leave the database out")


class Parts(dict[str, Any]):
    """What templates read of a node. A part that is not known is refused: an empty one would decide a branch."""

    def __missing__(self, key: str) -> Any:
        raise CannotKeep("D805", f"`{key}` of a node is read, which the import does not know", "write its value")


class Refusing:
    """A name that has no counterpart: any use of it is refused."""

    def __init__(self, name: str, code: str, why: str, remedy: str) -> None:
        self.__dict__["_said"] = (name, code, why, remedy)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        name, code, why, remedy = self.__dict__["_said"]
        raise CannotKeep(code, f"`{name}`: {why}", remedy)

    __call__ = __str__ = __format__ = __bool__ = __iter__ = __len__ = __getitem__ = __contains__ = __eq__ = __ne__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __int__ = __float__ = __neg__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


class Flags(Refusing):
    """`flags`: how dbt was called. Nothing here is ever built empty, so that one of them is known."""

    EMPTY = False

    def __init__(self) -> None:
        super().__init__("flags", "D805", "how dbt was called is read", "decide it in the model")


class Phase:
    """`execute`: true where the text is made that runs, false where dbt looks for references and configuration."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask

    def __bool__(self) -> bool:
        return self._ask()

    def __eq__(self, other: object) -> bool:
        return bool(self) == other

    def __hash__(self) -> int:
        return hash(bool(self))

    def __str__(self) -> str:
        return str(bool(self))


class Now:
    """A name whose value is that of the template being evaluated. A part of it that is not known is refused, never empty.

    `read` is told of each part that is read: some are final only when everything has been evaluated once.
    """

    def __init__(self, find: Callable[[], Any], read: Callable[[], None]) -> None:
        self._find = find
        self._read = read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._read()
        found = self._find()
        known = found if isinstance(found, dict) else vars(found) if found is not None and not isinstance(found, str) else {}
        if name in known:
            return known[name]
        if hasattr(type(found), name):
            return getattr(found, name)
        raise CannotKeep("D805", f"`{name}` of the model is read, which is not known before it runs", "write its value")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """As a mapping's."""
        del default
        return getattr(self, name)

    def __str__(self) -> str:
        return str(self._find())


class Datetime:
    """Python's dates for templates; the clock is refused."""

    def __init__(self) -> None:
        self.timedelta, self.date, self.timezone = dt.timedelta, _Clockless(dt.date), dt.timezone
        self.datetime = _Clockless(dt.datetime)


class _Clockless:
    """A class of dates without the functions that read the clock."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._kind(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name in {"now", "utcnow", "today"}:
            raise CannotKeep("D829", CLOCK, "use the variable $as_of")
        if name in {"strptime", "fromisoformat", "combine", "min", "max"}:
            return getattr(self._kind, name)
        raise AttributeError(name)


class OrderedSet(set[Any]):
    """A set whose order is that of its values as texts: an import gives the same twice."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=str))
