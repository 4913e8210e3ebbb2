"""What `--help` says of each command, kept as text beside the code: laying it out takes longer than reading it.

A terminal of eighty columns or more shows the same text; for a narrower one, and for all that is not exactly a command with
`--help`, it is laid out anew. The pages are written by `python -m interlock.engine.cli.help_pages`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 80
"""Columns beyond which lines do not get longer."""
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "help")  # noqa: PTH100, PTH118, PTH120 - no import for it
ROOT = "_"
ASKING = ("--help", "-h")
_COMPLETION = "_INTERLOCK_COMPLETE"


def show(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Print the page that is asked for. False: there is none that fits, and nothing was printed."""
    if _COMPLETION in environment or sys.stdout is None or _columns(environment) < WIDTH:
        return False
    encoding = getattr(sys.stdout, "encoding", None)
    if encoding is not None and encoding.lower().replace("-", "") != "utf8":
        return False
    page = page_of(arguments)
    if page is None:
        return False
    try:
        sys.stdout.write(page)
        sys.stdout.flush()
    except OSError:
        return False  # the long way says what is wrong
    return True


def page_of(arguments: Sequence[str]) -> str | None:
    """The page of a command with `--help` behind it, or of no arguments at all."""
    words = list(arguments[:-1])
    if (arguments and arguments[-1] not in ASKING) or not all(word.replace("-", "").isalpha() and word[0] != "-" for word in words):
        return None
    try:
        with open(os.path.join(FOLDER, f"{name_of(words)}.txt"), encoding="utf-8", newline="") as file:  # noqa: PTH118, PTH123
            return file.read()
    except OSError:
        return None


def name_of(words: Sequence[str]) -> str:
    """A page's file, without its suffix."""
    return ".".join(words) or ROOT


def _columns(environment: Mapping[str, str]) -> int:
    """As `shutil.get_terminal_size`, without its imports."""
    said = environment.get("COLUMNS", "")
    columns = int(said) if said.isascii() and said.isdecimal() else 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            columns = WIDTH
    return columns or WIDTH


def made() -> dict[str, str]:
    """Every page as the command line lays it out now, by its file's name."""
    import contextlib  # noqa: PLC0415 - for those who write pages
    import io  # noqa: PLC0415
    from unittest import mock  # noqa: PLC0415

    import typer  # noqa: PLC0415

    from interlock.engine.cli.app import app  # noqa: PLC0415
    from interlock.engine.cli.invocation import invoke  # noqa: PLC0415

    found = {}
    waiting: list[tuple[tuple[str, ...], object]] = [((), typer.main.get_command(app))]
    with mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH)}):
        while waiting:
            words, command = waiting.pop()
            waiting += [((*words, name), below) for name, below in getattr(command, "commands", {}).items()]
            with contextlib.redirect_stdout(io.StringIO()) as said:
                invoke([*words, ASKING[0]])
            found[name_of(words)] = said.getvalue()
    return found


if __name__ == "__main__":
    from pathlib import Path

    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    for name, text in made().items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
