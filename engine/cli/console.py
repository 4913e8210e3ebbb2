"""The edge to people and programs: streams, colour, JSON, redaction, questions. What is printed goes through here."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import msgspec

from interlock.engine.diagnostics import Diagnostic, in_order
from interlock.engine.outcome import Status
from interlock.engine.version import VERSION
from interlock.engine.views.diagnostics import diagnostics
from interlock.engine.views.given import HERE, Given
from interlock.engine.views.look import is_terminal, look_of, printable
from interlock.engine.views.redaction import Redactor, nothing_secret, redacted

if TYPE_CHECKING:
    from interlock.engine.audit.timeline import Line
    from interlock.engine.results import Progress
    from interlock.engine.results_audit import LogResult
    from interlock.engine.views.annotations import Form
    from interlock.engine.views.text import AnyResult


R = TypeVar("R", bound="AnyResult")


class Console:
    """One command's way out. Results go to stdout, findings, progress and questions to stderr."""

    def __init__(self, *, json: bool, environment: Mapping[str, str]) -> None:
        self.json = json
        self.command = ""
        self.asked = False
        """Whether a person was shown what an act does."""
        self.unanswered = False
        """An act had to be asked about, and nobody is there."""
        self.redact: Redactor = nothing_secret
        self.given: Given = HERE
        """Where the person said that the project is, so that what is proposed says it too."""
        self._environment = environment
        self._out = _prepared(sys.stdout)
        self._err = _prepared(sys.stderr)
        self._unwritten: OSError | None = None
        self._nobody_reads = False
        self.form: Form = "text"
        """How findings are written; other forms go to stdout, and nothing else does."""
        self.root: Path | None = None
        """The project's directory, once it is known."""
        self.base = ""
        """The project's directory as programs that show findings beside the code see it."""

    def answer(self, result: AnyResult) -> int:
        """Show a result and its findings; answers with its exit code."""
        shown = redacted(self._placed(result), self.redact)
        if self.form != "text":
            self._annotate(shown.findings)
        elif self.json:
            from interlock.engine.views.envelope import envelope_of, json_line  # noqa: PLC0415 - only for programs

            self._print(json_line(envelope_of(self._followable(shown), version=VERSION, command=self.command)) + "\n")
        else:
            from interlock.engine.results import DiffResult  # noqa: PLC0415 - only for people
            from interlock.engine.views.text import text_of  # noqa: PLC0415

            self._print("".join(line + "\n" for line in text_of(shown, look_of(self._out, self._environment, self.given))))
            if not isinstance(shown, DiffResult):  # whose lines are its findings already
                self.findings(shown.findings)
        return self._finished(result.exit_code)

    def stream(self, result: LogResult, lines: Iterable[Line]) -> int:
        """Show a result whose lines are too many to be held at once; answers with its exit code."""
        if self.json:
            from interlock.engine.views.envelope import streamed  # noqa: PLC0415 - only for programs

            self._print_all(streamed(redacted(result, self.redact), (redacted(line, self.redact) for line in lines), VERSION, self.command))
        else:
            from interlock.engine.views.text_audit import log_pages  # noqa: PLC0415 - only for people

            self._print_all(log_pages(redacted(result, self.redact), lines, look_of(self._out, self._environment, self.given)))
            self.findings(redacted(result.findings, self.redact))
        return self._finished(result.exit_code)

    def _print_all(self, parts: Iterable[str]) -> None:
        for part in parts:
            self._print(part)
            if self._unwritten is not None or self._nobody_reads:
                return

    def refused(self, findings: Iterable[Diagnostic], *, status: Status, exit_code: int) -> int:
        """Show why a command came to no result; answers with the exit code."""
        shown = redacted(in_order(self._at_lines(findings)), self.redact)
        if self.form != "text":
            self._annotate(shown)
        elif self.json:
            shown = self.given.acts(shown)
            from interlock.engine.views.envelope import FORMAT, Envelope, json_line  # noqa: PLC0415 - only for programs

            envelope = Envelope(
                interlock=VERSION, format=FORMAT, command=self.command, status=status, exit=exit_code, result=None, findings=shown
            )
            self._print(json_line(envelope) + "\n")
        else:
            self.findings(shown)
        return self._finished(exit_code)

    def _annotate(self, findings: Iterable[Diagnostic]) -> None:
        from interlock.engine.views.annotations import annotated  # noqa: PLC0415 - only for programs

        if self.form != "text":
            self._print(annotated(self.given.acts(findings), self.form, self.base))

    def _at_lines(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Findings with the lines of the keys that they name."""
        found = tuple(findings)
        if self.root is None or not found:
            return found
        from interlock.engine.project.placing import placed  # noqa: PLC0415 - only where there is something to find

        return placed(found, self.root)

    def _placed(self, result: R) -> R:
        found = self._at_lines(result.findings)
        return result if found == tuple(result.findings) else msgspec.structs.replace(result, findings=found)

    def _followable(self, result: R) -> R:
        """An answer for a program, whose remedies name the project that is meant. What is sealed or on record stays as it is."""
        if self.given is HERE:
            return result
        fields = {name: self.given.acts(getattr(result, name)) for name in ("findings", "models", "checks") if _holds_records(result, name)}
        return msgspec.structs.replace(result, **fields)

    def findings(self, findings: Iterable[Diagnostic]) -> None:
        """Findings for a person."""
        lines = diagnostics(findings, look_of(self._err, self._environment, self.given))
        self.tell("".join(line + "\n" for line in lines))

    def tell(self, text: str) -> None:
        """Text to stderr. Where nobody reads it any more, nobody misses it."""
        with contextlib.suppress(OSError, ValueError):
            self._err.write(self.redact(text))
            self._err.flush()

    def progress(self) -> AbstractContextManager[Progress]:
        """Who is told of progress: a live display, plain lines, or nobody where the answer is for a program."""
        from interlock.engine.results import Silent  # noqa: PLC0415 - with a command that writes
        from interlock.engine.views.progress import Lines, Live  # noqa: PLC0415

        if self.json:
            return contextlib.nullcontext(Silent())
        kind = Live if is_terminal(self._err) else Lines
        return kind(self._err, look_of(self._err, self._environment, self.given), seconds=time.monotonic, redact=self.redact)

    def confirmed(self, lines: tuple[str, ...], *, yes: bool) -> bool:
        """Show what an act does, and ask. Without a terminal, only `--yes` is a yes."""
        if yes:
            return True
        self.asked = True
        self.tell("".join(printable(line) + "\n" for line in lines))
        if not _asks(sys.stdin):
            self.unanswered = True
            return False
        self.tell("do it? [y/N] ")
        try:
            said = sys.stdin.readline()
        except (OSError, ValueError):
            return False
        return said.strip().lower() in {"y", "yes"}

    def _print(self, text: str) -> None:
        try:
            self._out.write(self.redact(text) if not self.json else text)
            self._out.flush()
        except BrokenPipeError:
            self._nobody_reads = True
            _hush(self._out)
        except OSError as error:
            _hush(self._out)
            self._unwritten = error

    def _finished(self, exit_code: int) -> int:
        if self._unwritten is None:
            return exit_code
        self.tell(f"error: the answer could not be written to standard output: {self._unwritten.strerror}\n")
        return exit_code or 1


def _holds_records(result: AnyResult, name: str) -> bool:
    held = getattr(result, name, None)
    return isinstance(held, tuple) and all(isinstance(each, msgspec.Struct) for each in held)


def _prepared(stream: TextIO | None) -> TextIO:
    """The stream (a closed one swallows all), made to take any text: UTF-8, and escapes for what no encoding has (file names that are no text)."""
    if stream is None:
        return io.StringIO()
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream


def _hush(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the interpreter's last flush is quiet too."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _asks(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
