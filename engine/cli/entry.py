"""The door: from arguments to an exit code. Nothing is imported before it is known that it is needed."""

from __future__ import annotations

import os
import sys

from interlock.engine.version import VERSION

# Said like this, so that not even `typing` is imported for the quick answer; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.engine.clock import Clock


def main(argv: Sequence[str] | None = None, *, clock: Clock | None = None) -> int:
    """Run one command in this process and answer with its exit code. May be called any number of times.

    Args:
        argv: what follows the program's name; that of this process where it is not given.
        clock: for tests; the machine's where it is not given.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        sys.stdout.write(f"interlock {VERSION}\n")
        return 0
    if argv is None and sys.getfilesystemencoding() != "utf-8" and sys.platform != "win32":
        # Under such a locale no path outside of ASCII can be written down. Files are UTF-8, and so is all that we read and say.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - this very program
    try:
        if not arguments or arguments[-1] in ("--help", "-h"):
            from interlock.engine.cli.help_pages import show  # noqa: PLC0415 - for this answer alone

            if show(arguments):
                return 0
        from interlock.engine.cli.invocation import invoke  # noqa: PLC0415 - after the quick answer
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    return invoke(arguments, clock, ends=argv is None)
