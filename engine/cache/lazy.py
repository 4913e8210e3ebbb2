"""A mapping whose values are decoded when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Lazy(Mapping[str, T]):
    """Values by name, some of them still as they were kept. Each is decoded once."""

    __slots__ = ("_decode", "_values")

    def __init__(self, values: Mapping[str, T | memoryview], decode: Callable[[str, memoryview], T]) -> None:
        """Hold them.

        Args:
            values: in their order; a `memoryview` is a value that is not decoded yet.
            decode: makes the value of a name.
        """
        self._values: dict[str, T | memoryview] = dict(values)
        self._decode = decode

    def __getitem__(self, name: str) -> T:
        value = self._values[name]
        if isinstance(value, memoryview):
            self._values[name] = value = self._decode(name, value)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def kept(self, name: str) -> memoryview | None:
        """A value as it was kept, where nobody asked for it yet."""
        value = self._values[name]
        return value if isinstance(value, memoryview) else None
