"""Values of plain types, read without the library that typer has for all of them: it takes longer to load than a command runs.

What typer would refuse, and every type that is not plain, goes its own way; so what is taken, refused and said is the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Final

_NUMBERS: Final = {int: re.compile(r"[0-9]{1,9}"), float: re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")}
"""Numbers that mean the same to everybody who reads them."""


def quicken(command: Any) -> None:
    """Let the parameters of a command, and of all below it, read plain values by themselves.

    What is set here is typer's own and may be called otherwise in another version: then everything goes the longer way.
    """
    try:
        from typer._coercion import RuntimeParam, build_runtime_param  # noqa: PLC0415
    except ImportError:
        return

    class Quick(RuntimeParam):
        """Plain values as they are; others by what typer would have built."""

        def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
            if value is None:
                return () if param.multiple or param.nargs == -1 else None
            read = _plain(self.annotation, self.parameter_info, value)
            return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx) if read is None else read

        def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
            return build_runtime_param(param.type_descriptor)._coerce_value(value, param=param, ctx=ctx)  # noqa: SLF001

    def quick(param: Any) -> None:
        described = getattr(param, "type_descriptor", None)
        if described is not None and hasattr(param, "_runtime_param"):
            param._runtime_param = Quick(parameter_info=described.parameter_info, annotation=described.annotation)  # noqa: SLF001

    def with_help(real: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def found(context: Any) -> Any:
            param = real(context)
            quick(param)
            return param

        return found

    waiting = [command]
    while waiting:
        one = waiting.pop()
        waiting += getattr(one, "commands", {}).values()
        for param in one.params:
            quick(param)
        one.get_help_option = with_help(one.get_help_option)  # made when it is asked for


def _plain(kind: Any, said: Any, value: Any) -> Any:
    """The value, or nothing where it is not for us to read."""
    if said.parser is not None or said.path_type is not None or said.allow_dash or said.resolve_path:
        return None
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str):
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind, value)
    if kind in _NUMBERS:
        return _number(kind, said, value)
    if kind == list[str] and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return list(value)
    if kind is Path and isinstance(value, str | Path) and _may_be_read(value, said):
        return Path(value)
    return None


def _member(kind: type[Enum], value: Any) -> Enum | None:
    return next((member for member in kind if value in (member, member.value)), None)


def _number(kind: type[int | float], said: Any, value: Any) -> int | float | None:
    if type(value) is not kind and not (isinstance(value, str) and _NUMBERS[kind].fullmatch(value)):
        return None
    number = kind(value)
    return number if (said.min is None or number >= said.min) and (said.max is None or number <= said.max) else None


def _may_be_read(value: str | Path, said: Any) -> bool:
    if said.exists:
        return False
    path = Path(value)
    if not path.exists():
        return True
    kind = (said.file_okay or not path.is_file()) and (said.dir_okay or not path.is_dir())
    return kind and os.access(path, os.R_OK) and (not said.writable or os.access(path, os.W_OK))
