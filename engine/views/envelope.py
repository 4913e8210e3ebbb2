"""The one JSON form of every command's answer. `views.schema` describes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

from interlock.engine.audit.timeline import Line
from interlock.engine.diagnostics import Diagnostic
from interlock.engine.outcome import Status
from interlock.engine.results import Result
from interlock.engine.results_audit import LogResult
from interlock.engine.views.redaction import redacted
from interlock.machines.records import Record

FORMAT: Final = 1
SAID_ONCE: Final = ("command", "outcome", "exit_code", "findings")
"""Fields of a result that stand in the envelope, and are left out of `result`."""


class Envelope(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `--json` prints: one object on one line, whatever happened."""

    interlock: str
    """Version of Interlock."""
    format: Literal[1]
    """Of this envelope. A new field does not raise it; a field that goes or changes its meaning does."""
    command: str
    """Such as `plan`, or `ledger accept-warehouse`; empty where none was recognised."""
    status: Status
    """How it ended: for `failed`, a bug of ours; `usage`, the command line was not understood."""
    exit: int
    """The process's exit code."""
    result: dict[str, Any] | None
    """The command's own answer; `null` where it came to none, and then `findings` say why."""
    findings: tuple[Diagnostic, ...]
    """Everything that was found, in order of path, line and code."""


def envelope_of(result: Result, *, version: str, command: str) -> Envelope:
    """The envelope around a result. Its `result` is what the Python API returns, less what the envelope says."""
    body: dict[str, Any] = msgspec.to_builtins(result)
    for name in SAID_ONCE:
        del body[name]
    return Envelope(
        interlock=version,
        format=FORMAT,
        command=command,
        status=result.outcome,
        exit=result.exit_code,
        result=body,
        findings=result.findings,
    )


def streamed(result: LogResult, lines: Iterable[Line], version: str, command: str) -> Iterator[str]:
    """The envelope of a timeline in parts, its lines as they come: one JSON object all the same, and no more than a line of it in memory."""
    whole = json_line(envelope_of(result, version=version, command=command))
    before, found, after = whole.partition('"lines":[]')
    assert found
    yield f'{before}"lines":['
    separator = ""
    for line in lines:
        yield separator + msgspec.json.encode(line).decode()
        separator = ","
    yield f"]{after}\n"


def json_line(envelope: Envelope) -> str:
    """The envelope as one line of JSON. A file name that is no UTF-8 is shown with escapes instead of stopping the answer."""
    try:
        return msgspec.json.encode(envelope).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(redacted(envelope, _without_surrogates)).decode()


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
