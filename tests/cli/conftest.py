"""A stand-in for the use cases, so that the command line is tested by itself: it answers what a test gives it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import interlock.engine
from interlock.engine.cli import main


class StandIn:
    """`interlock.engine.api`, as the command line sees it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answer: Callable[[], Any] = lambda: None
        self.secret = "no-secret-at-all"

    def module(self) -> ModuleType:
        module = ModuleType("interlock.engine.api")
        for name in (
            *("init", "import_dbt", "compile_", "plan", "apply", "run", "check", "status", "show", "ls", "diff"),
            *("adopt", "reset", "accept_warehouse", "compare", "explain", "resume", "attach", "archive", "compact_receipts", "doctor"),
            *("audit_log", "audit_log_stream", "audit_explain", "audit_replay", "audit_verify", "audit_bundle"),
            *("diagram", "diagram_run", "diagram_diff", "lineage", "report", "sources_pin", "sources_diff", "diff_contracts"),
        ):
            setattr(module, name, self._recorder(name))
        module.open_context = self._open  # type: ignore[attr-defined]
        return module

    def _open(self, *arguments: Any, **named: Any) -> Any:
        self.calls.append(("open_context", arguments, named))
        return SimpleNamespace(redact=lambda text: text.replace(self.secret, "***"), project=SimpleNamespace(targets={}, root=Path()))

    def _recorder(self, name: str) -> Callable[..., Any]:
        def record(*arguments: Any, **named: Any) -> Any:
            self.calls.append((name, arguments, named))
            return self.answer()

        return record

    @property
    def opened(self) -> dict[str, Any]:
        return next(named for name, _, named in self.calls if name == "open_context")

    @property
    def called(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        return self.calls[-1]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    module = stand_in.module()
    monkeypatch.setitem(sys.modules, "interlock.engine.api", module)
    monkeypatch.setattr(interlock.engine, "api", module, raising=False)
    return stand_in


class Ran(SimpleNamespace):
    exit: int
    out: str
    err: str


@pytest.fixture
def interlock_(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*arguments: str) -> Ran:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Ran(exit=code, out=captured.out, err=captured.err)

    return run
