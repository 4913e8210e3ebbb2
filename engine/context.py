"""Where a use case begins: a project that was read, how a command was called, and the ground of its target."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.engine.clock import Clock, system_clock

if TYPE_CHECKING:
    from interlock.engine.cache.store import Cache
    from interlock.engine.project.project import Project
    from interlock.engine.runner.ground import Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A project that was read, and how a command was called."""

    project: Project
    target_name: str | None
    clock: Clock
    actor: str
    wait_seconds: float | None
    redact: Callable[[str], str]
    variables: Mapping[str, str]
    read: Callable[[Mapping[str, str]], Project]
    """Reads the project again, with other values of variables: those of a saved plan."""
    cache: Cache


def open_context(
    start: Path | None = None,
    *,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
    wait_seconds: float | None = None,
    actor: str | None = None,
    keep: bool = True,
) -> Context:
    """Read a project's files. Findings in them are reported by the command that they concern.

    Args:
        start: a directory in the project; the working directory if not given.
        target: name of the target; the project's default if not given.
        variables: values of variables, as text.
        environment: where `${NAME}` in interlock.toml is looked up.
        clock: tells the time.
        wait_seconds: how long a busy warehouse is waited for.
        actor: who does this, for the ledger.
        keep: whether what was worked out may be kept in the project's cache.

    Raises:
        Refused: there is no project, or interlock.toml cannot be read.
    """
    from interlock.engine.cache.store import Cache  # noqa: PLC0415 - with the command that needs it
    from interlock.engine.project.environment import redactor  # noqa: PLC0415 - with the command that needs it
    from interlock.engine.project.load import find_project, load  # noqa: PLC0415
    from interlock.engine.runner.ground import actor_of  # noqa: PLC0415

    given = os.environ if environment is None else environment
    root = find_project(start or Path())
    cache = Cache(root, writes=keep)
    project = load(root, environment=given, variables=variables or {}, cache=cache)
    return Context(
        project=project,
        target_name=target,
        clock=clock,
        actor=actor or actor_of(given),
        wait_seconds=wait_seconds,
        redact=redactor(project, given),
        variables=dict(variables or {}),
        read=lambda values: load(root, environment=given, variables=values, cache=cache),
        cache=cache,
    )


def ground_of(ctx: Context, *, writes: bool) -> Ground:
    """The ground of a context's target; `writes` says whether it must have been named."""
    from interlock.engine.project.targets import choose_target  # noqa: PLC0415
    from interlock.engine.runner.ground import Ground  # noqa: PLC0415

    target = choose_target(ctx.project, ctx.target_name, writes=writes)
    return Ground(
        project=ctx.project,
        target=target,
        clock=ctx.clock,
        actor=ctx.actor,
        wait_seconds=ctx.wait_seconds,
        redact=ctx.redact,
        read=ctx.read,
        variables=ctx.variables,
        cache=ctx.cache,
    )


def place_of(where: Context | Path) -> tuple[Ground | Path, dict[str, Any]]:
    """A ledger that was named, or the one of a context's target; and what the answer says of where it is."""
    if isinstance(where, Path):
        return where, {}
    ground = ground_of(where, writes=False)
    return ground, where_of(ground)


def where_of(ground: Ground) -> dict[str, Any]:
    """What every answer says of where it is."""
    return {"project": ground.project.name, "target": ground.target.name, "location": ground.target.path}
