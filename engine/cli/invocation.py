"""One invocation: reads the arguments, runs the command, and turns every way out into an answer and an exit code."""

from __future__ import annotations

import copy
import functools
import gc
import os
import re
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
import typer

from interlock.engine.cli.app import app
from interlock.engine.cli.arguments import NotUnderstoodError, command_of, nowhere, pairs, spread, wants_json
from interlock.engine.cli.console import Console
from interlock.engine.cli.quick import quicken
from interlock.engine.clock import Clock, system_clock
from interlock.engine.diagnostics import Diagnostic, Refused
from interlock.engine.outcome import BUG, INTERRUPTED, REFUSED, USAGE, exit_of_findings, status_of_exit
from interlock.engine.views.given import Given

if TYPE_CHECKING:
    from interlock.engine.api import Context

PROGRAM: Final = "interlock"
GARBAGE: Final = 50_000
"""Objects that are made before the collector looks at the youngest ones."""
FAMILIAR: Final = {
    "build": "`interlock run` builds the models, and their checks run in the same transaction",
    "test": "`interlock check` puts the checks to the rows that are there; `interlock run` does it with each write",
    "seed": "`interlock run` loads seeds with the models; `--select NAME` takes one",
    "snapshot": "`interlock run` takes snapshots with the models; `--select NAME` takes one",
    "debug": "`interlock doctor` looks at everything that a run rests on",
    "list": "`interlock ls` lists models and seeds",
    "retry": "`interlock resume` goes on with a run that was stopped",
    "docs": "`interlock report` writes a run as a page; `interlock lineage` draws the models",
}
"""What people type who come from dbt. The nearest of our own words by its letters can be the wrong one: `reset` for `test`."""
_NO_COMMAND: Final = re.compile(r"No such command '([^']*)'")
_ONE_DASH: Final = re.compile(r"-[a-z][a-z-]+")
_COMPLETION: Final = "_INTERLOCK_COMPLETE"
_USAGE: Final[type[Any]] = typer.BadParameter.__bases__[0]
"""typer's usage error, which it does not export by itself."""


def invoke(arguments: Sequence[str], clock: Clock | None = None, *, ends: bool = False) -> int:
    """Run a command; answers with its exit code, and raises nothing.

    Args:
        arguments: what follows the program's name.
        clock: for tests; the machine's where it is not given.
        ends: whether the process ends with it.
    """
    console = Console(json=wants_json(arguments), environment=os.environ)
    console.command = command_of(arguments)
    thresholds = gc.get_threshold()
    # Records are many and live long: the collector would go through them again and again.
    gc.set_threshold(GARBAGE, *thresholds[1:])
    try:
        with Listening() as told:
            return _answered(arguments, clock, console, told)
    finally:
        if ends:
            # Everything goes now: the interpreter need not look three times for what can.
            gc.freeze()
        gc.set_threshold(*thresholds)


def _answered(arguments: Sequence[str], clock: Clock | None, console: Console, told: Listening) -> int:
    try:
        if (named := nowhere(arguments)) is not None:
            raise NotUnderstoodError(f"an empty text stands for {named}, and names no place")  # noqa: TRY301 - as any other argument
        words = spread(arguments) if arguments else ["--help"]
        command = _command(words[0] if _COMPLETION not in os.environ else None)
        if _COMPLETION in os.environ:
            command.main(args=words, prog_name=PROGRAM, complete_var=_COMPLETION)
        # Not through `main`: it takes an EOFError for an interrupt and a broken pipe for an end, wherever they come from.
        with command.make_context(PROGRAM, words, obj=Invocation(console, clock)) as context:
            answered = command.invoke(context)
    except Refused as refusal:
        return _refused(console, refusal)
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted(console)
    except typer.Exit as leaving:
        return int(leaving.exit_code)
    except SystemExit as leaving:  # shell completion leaves this way
        return leaving.code if isinstance(leaving.code, int) else 0
    except NotUnderstoodError as error:
        return _not_understood(console, str(error), f"{PROGRAM} {console.command}")
    except _USAGE as error:
        path = error.ctx.command_path if error.ctx is not None else f"{PROGRAM} {console.command}".rstrip()
        summary = error.format_message().rstrip(".")
        unknown = _NO_COMMAND.match(summary)
        if unknown is not None and path == PROGRAM and unknown[1].lower() in FAMILIAR:
            finding = Diagnostic(code="S122", summary=f"No such command '{unknown[1]}'", remedy=FAMILIAR[unknown[1].lower()])
            return console.refused([finding], status="usage", exit_code=USAGE)
        return _not_understood(console, summary, path, _misplaced(arguments, error))
    except Exception as error:  # noqa: BLE001 - the last door: it is reported as a bug, with its traceback
        # A driver that is told to stop in the middle of a statement raises something of its own.
        return _interrupted(console) if told.to_stop else _bug(console, error)
    return answered if isinstance(answered, int) else 0


class Listening:
    """Ctrl-C and a polite kill are one thing from the first moment on; a run listens in its own way while it goes on."""

    def __init__(self) -> None:
        self.to_stop = False
        self._before: dict[int, Any] = {}

    def _stop(self, _number: int, _frame: object) -> None:
        self.to_stop = True
        raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # What a shell said to ignore (a job in the background) stays ignored; what is not Python's is left alone.
                if signal.getsignal(number) not in {signal.SIG_IGN, None}:
                    self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@functools.cache
def _command(first: str | None) -> Any:
    """The command line. Where the first word is a command of it, only that one: making all of them takes as long as some run."""
    only = copy.copy(app)
    only.registered_commands = [info for info in app.registered_commands if _name_of(info) == first]
    only.registered_groups = [info for info in app.registered_groups if info.name == first]
    command = typer.main.get_command(only if only.registered_commands or only.registered_groups else app)
    quicken(command)
    return command


def _name_of(info: Any) -> str:
    name: str = info.name or info.callback.__name__.lower().replace("_", "-")
    return name


def _interrupted(console: Console) -> int:
    finding = Diagnostic(code="G562", summary="interrupted", remedy="run it again; what was open is settled first")
    return console.refused([finding], status="interrupted", exit_code=INTERRUPTED)


def _refused(console: Console, refusal: Refused) -> int:
    exit_code = refusal.exit_code or exit_of_findings(refusal.findings) or REFUSED
    return console.refused(refusal.findings, status=status_of_exit(exit_code), exit_code=exit_code)


def _misplaced(arguments: Sequence[str], error: Any) -> str:
    """A remedy for options that are written as other programs take them; empty where none is."""
    takes = {name for param in (error.ctx.command.params if error.ctx is not None else ()) for name in param.opts}
    for word in arguments:
        name = word.partition("=")[0]
        if _ONE_DASH.fullmatch(name) and f"-{name}" in takes:
            return f"did you mean `-{name}`? names of more than one letter have two dashes"
    later = next((word for word in arguments if command_of([word])), "")
    if later and arguments[0].startswith("-") and error.ctx is not None and error.ctx.command_path == PROGRAM:
        return f"options stand behind the command: `{PROGRAM} {later} {arguments[0]} …`"
    return ""


def _not_understood(console: Console, summary: str, command: str, remedy: str = "") -> int:
    finding = Diagnostic(code="S122", summary=summary, remedy=remedy or f"`{command} --help` shows what it takes")
    return console.refused([finding], status="usage", exit_code=USAGE)


def _bug(console: Console, error: Exception) -> int:
    console.tell("".join(traceback.format_exception(error)) + "\n")
    finding = Diagnostic(
        code="X901",
        summary=f"a bug of Interlock: {type(error).__name__}",
        because=str(error),
        remedy="please report it with the text above; if a run is open, `interlock resume` goes on with it",
    )
    return console.refused([finding], status="failed", exit_code=BUG)


class Invocation:
    """What a command has to hand: the way out, the clock, and the project once it is opened."""

    def __init__(self, console: Console, clock: Clock | None) -> None:
        self.console = console
        self._clock = clock or system_clock

    def watched(self, once: Callable[[], int], project: Path | None) -> int:
        """Do something again whenever a file of the project changes. What is refused is shown, and the next change awaited.

        Raises:
            Refused: there is no project.
        """
        from interlock.engine.cli.watching import state_of, watch  # noqa: PLC0415
        from interlock.engine.project.load import find_project  # noqa: PLC0415

        root = find_project(project or Path())

        def shown() -> int:
            try:
                return once()
            except Refused as refusal:
                return _refused(self.console, refusal)

        return watch(shown, lambda: state_of(root))

    def open(
        self, *, project: Path | None, target: str | None, variables: Sequence[str] | None, wait: float | None, keep: bool = True
    ) -> Context:
        """Open the project's context; from here on its secrets are taken out of everything that is shown.

        Raises:
            NotUnderstoodError: a variable is not written as `NAME=VALUE`.
            Refused: there is no project, or it cannot be read.
        """
        from interlock.engine import api  # noqa: PLC0415 - after usage is known to be right

        self.console.given = Given(project=str(project or ""), target=target or "")
        named = pairs(variables, option="--vars")
        context = api.open_context(project, target=target, variables=named, clock=self._clock, wait_seconds=wait, keep=keep)
        self.console.redact = context.redact
        self.console.root = context.project.root
        if target is not None and target in context.project.targets and context.project.targets[target].protected:
            self.console.given = msgspec.structs.replace(self.console.given, protected="yes")
        if self.console.form != "text":
            # a check-out's root is where annotations count from; without one, here
            self.console.base = Path(os.path.relpath(context.project.root, os.environ.get("GITHUB_WORKSPACE", "."))).as_posix()
        return context
