"""Where a command works: the project, its target, and how both are opened. One way in for all commands."""

from __future__ import annotations

import getpass
import os
import platform
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from interlock.engine.cache.store import Cache
from interlock.engine.clock import Clock, stamp
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.compiler.remembered import compile_known
from interlock.engine.compiler.source_texts import database_alias, is_own_database, match_files, source_sql
from interlock.engine.compiler.world import World
from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean, nearest, refused
from interlock.engine.ledger.places import ledger_directory, lock_path
from interlock.engine.project.project import Project, Source
from interlock.engine.warehouse.duckdb.files import FileState, demand_openable, file_state
from interlock.engine.warehouse.lock import Holder, Lock, acquire
from interlock.engine.warehouse.protocol import Catalog, Reader, WarehouseError
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column

if TYPE_CHECKING:
    from interlock.engine.warehouse.duckdb.reader import DuckDBReader
    from interlock.engine.warehouse.duckdb.session import DuckDBSession

# What loads the engine is imported where it is opened: a command that only reads files does not wait for it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A project and the target that a command is about."""

    project: Project
    target: TargetConfig
    clock: Clock
    actor: str
    wait_seconds: float | None
    redact: Callable[[str], str]
    read: Callable[[Mapping[str, str]], Project]
    """Reads the project again, with other values of variables."""
    variables: Mapping[str, str]
    """`--vars` of this command."""
    command: str = ""
    cache: Cache | None = None

    @property
    def directory(self) -> Path:
        """Of the ledger and the plans."""
        return ledger_directory(self.target, self.project.id)

    def database_state(self) -> FileState:
        """What stands at the database's path.

        Raises:
            Refused: W605, the question got no answer.
        """
        try:
            return file_state(self.target.location)
        except WarehouseError as error:
            from interlock.engine.warehouse.duckdb.session import refusal  # noqa: PLC0415

            raise refusal(error, subject=self.target.name) from error

    def database_exists(self) -> bool:
        """Whether a database file stands there; an empty one is what a kill left while it was made.

        Raises:
            Refused: W605, the question got no answer.
        """
        return self.database_state() not in ("missing", "empty")

    def with_variables(self, values: Mapping[str, str]) -> Ground:
        """The same ground, its project read with a saved plan's variables.

        Raises:
            Refused: P406, this command was given others.
        """
        if self.variables and dict(self.variables) != dict(values):
            raise refused(
                "P406",
                "the plan was made with other variables",
                because=f"planned: {dict(values) or 'none'}; given: {dict(self.variables)}",
                remedy="leave --vars out: applying takes the plan's own",
            )
        if dict(values) == dict(self.variables):
            return self
        return replace(self, project=self.read(values), variables=values)

    def demand_creatable(self) -> None:
        """Stop where a database would have to be made that may not be.

        Raises:
            Refused: W601, W602, W605.
        """
        from interlock.engine.warehouse.duckdb.session import refusal  # noqa: PLC0415

        try:
            demand_openable(self.target.location, write=True, create=self.target.create)
        except WarehouseError as error:
            raise refusal(error, subject=self.target.name) from error

    def demand_seen(self) -> None:
        """Stop where a person must have seen what is written.

        Raises:
            Refused: P421, the target is protected.
        """
        name = self.target.name
        if self.target.protected:
            raise refused(
                "P421",
                f"target `{name}` is protected: what is written there must have been seen",
                remedy=f"make a plan with `interlock plan --target {name}`, look at it, and apply it; or say --unreviewed, which is recorded",
                subject=name,
            )

    def lock(self, command: str) -> Lock:
        """The one writer of this database.

        Raises:
            Refused: W603, with who holds it.
        """
        holder = Holder(pid=os.getpid(), host=platform.node(), user=self.actor, since=stamp(self.clock()), command=command)
        return acquire(lock_path(self.target), holder, self.wait_seconds)

    def reader(self, macros: tuple[str, ...] = ()) -> DuckDBReader | None:
        """The database read-only; `None` where it positively does not exist.

        Raises:
            Refused: it is there and cannot be opened, or nobody can say whether it is.
        """
        from interlock.engine.warehouse.duckdb.session import open_reader, refusal  # noqa: PLC0415

        if not self.database_exists():
            return None
        try:
            return open_reader(self.target, root=self.project.root, macros=macros, attach=self.attached(), wait_seconds=self.wait_seconds)
        except WarehouseError as error:
            raise refusal(error, subject=self.target.name) from error

    def scratch(self, macros: tuple[str, ...] = ()) -> DuckDBReader:
        """An empty database in the target's place, for a first plan.

        Raises:
            Refused: another database cannot be attached.
        """
        from interlock.engine.warehouse.duckdb.session import open_scratch, refusal  # noqa: PLC0415

        try:
            return open_scratch(self.target, root=self.project.root, macros=macros, attach=self.attached())
        except WarehouseError as error:
            raise refusal(error, subject=self.target.name) from error

    def session(self, *, create: bool, macros: tuple[str, ...] = ()) -> DuckDBSession:
        """The database for writing.

        Raises:
            Refused: it cannot be opened, or may not be made.
        """
        from interlock.engine.warehouse.duckdb.session import open_session, refusal  # noqa: PLC0415

        try:
            return open_session(
                self.target,
                root=self.project.root,
                macros=macros,
                attach=self.attached(),
                create=create and self.target.create,
                wait_seconds=self.wait_seconds,
            )
        except WarehouseError as error:
            raise refusal(error, subject=self.target.name) from error

    def attached(self) -> dict[str, Path]:
        """Database files of sources, by alias: those that are there. One that is not has its finding where it is read."""
        sources = self.project.sources.values()
        paths = {
            source.database
            for source in sources
            if source.database is not None and not is_own_database(source, self.project.root, self.target)
        }
        return {database_alias(path): self.project.root / path for path in sorted(paths) if (self.project.root / path).is_file()}

    def macros(self, as_of: str) -> tuple[str, ...]:
        """CREATE TEMP MACRO statements of the project, for what is read or planned at that time (`$as_of`)."""
        if not self.project.macros:
            return ()
        from interlock.engine.compiler.compile import compile_project  # noqa: PLC0415

        return compile_project(self.project, self.target, as_of=as_of, only=frozenset()).macros

    def compile(
        self,
        as_of: str,
        reader: Reader | None,
        catalog: Catalog | None = None,
        *,
        target_is: Literal["there", "absent", "not_looked_at"] = "there",
        remembered: Mapping[str, tuple[Column, ...]] | None = None,
    ) -> Compiled:
        """Compile the project. With a reader, sources are looked at as they really are. For the arguments see `world`."""
        return self.compile_in(self.world(reader, catalog, target_is=target_is, remembered=remembered), as_of)

    def world(
        self,
        reader: Reader | None,
        catalog: Catalog | None = None,
        *,
        target_is: Literal["there", "absent", "not_looked_at"] = "there",
        remembered: Mapping[str, tuple[Column, ...]] | None = None,
    ) -> World:
        """What of the outside is known: every source, looked at.

        Args:
            reader: of the target, or of an empty database in its place.
            catalog: the bulk probe, if it was made already.
            target_is: `not_looked_at`: the reader cannot say what stands in the target.
            remembered: columns of sources as they were seen last, for those that cannot be looked at now.
        """
        names = None
        if target_is == "not_looked_at":
            names = [name for name, source in self.project.sources.items() if source.path is not None or source.database is not None]
        world = discover(self.project, self.target, reader, catalog, only=names)
        return msgspec.structs.replace(world, sources={**remembered, **world.sources}) if remembered else world

    def compile_in(self, world: World, as_of: str) -> Compiled:
        """Compile the whole project in a world that was looked at."""
        compiled = compile_known(self.project, self.target, as_of=as_of, world=world, cache=self.cache)
        return msgspec.structs.replace(compiled, findings=(*compiled.findings, *self._unread(compiled)))

    def _unread(self, compiled: Compiled) -> list[Diagnostic]:
        """S121 for each `--vars` that nothing reads: a misspelt one would be the default, silently."""
        if any(finding.severity == "error" for finding in (*self.project.findings, *compiled.findings)):
            return []  # what does not compile may have read it
        return [
            Diagnostic(
                code="S121",
                summary=f"nothing reads the variable `{name}`",
                because="no model, check or macro has `$" + name + "` in it",
                remedy=did_you_mean(name, compiled.variables, "leave it out"),
                subject=name,
            )
            for name in self.variables
            if name not in compiled.variables
        ]


def actor_of(environment: Mapping[str, str]) -> str:
    """Who does this, for the ledger."""
    named = environment.get("INTERLOCK_ACTOR")
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def discover(
    project: Project, target: TargetConfig, reader: Reader | None, catalog: Catalog | None = None, *, only: Collection[str] | None = None
) -> World:
    """Columns of every source as it is now; one that cannot be read is named with its reason."""
    files = match_files(project)
    found: dict[str, tuple[Column, ...]] = {}
    unreadable: dict[str, str] = {}
    if reader is not None:
        if catalog is None and any(source.path is None and source.database is None for source in project.sources.values()):
            catalog = reader.catalog()
        for name, source in project.sources.items():
            if only is not None and name not in only:
                continue
            if is_own_database(source, project.root, target):
                continue  # the compiler says so
            if source.database is not None and not (project.root / source.database).is_file():
                unreadable[name] = f"there is no database file `{source.database}`"
                continue
            try:
                columns = _columns(source, target, reader, catalog, files.get(name, ()))
            except WarehouseError as error:
                if error.code == "G562":
                    raise
                unreadable[name] = error.message
                continue
            if columns is None:
                unreadable[name] = _not_there(source, target, catalog)
            elif columns:
                found[name] = columns
    return World(sources=found, files=files, unreadable=unreadable)


def _not_there(source: Source, target: TargetConfig, catalog: Catalog | None) -> str:
    wanted = f"{source.schema or target.schema}.{source.identifier or source.name.rpartition('.')[2]}"
    near = nearest(wanted, (".".join(key) for key in catalog.relations)) if catalog is not None else None
    return f"there is no `{wanted}` in the target's database" + (f"; what is near: `{near}`" if near else "")


def _columns(
    source: Source, target: TargetConfig, reader: Reader, catalog: Catalog | None, files: tuple[str, ...]
) -> tuple[Column, ...] | None:
    """Columns as they are; `None` where the relation positively is not there; empty where there is nothing to look at."""
    if source.path is not None:
        return reader.columns_of(f"SELECT * FROM {source_sql(source, target, files)}") if files else ()
    if source.database is not None:
        return reader.columns_of(f"SELECT * FROM {source_sql(source, target)}")
    if catalog is None:
        return None
    seen = catalog.find(source.schema or target.schema, source.identifier or source.name.rpartition(".")[2])
    return seen.columns if seen is not None else None


def scoped(findings: tuple[Diagnostic, ...], paths: frozenset[str]) -> tuple[Diagnostic, ...]:
    """Findings about the files that are meant: other models' typos are none of this command's."""

    def is_meant(finding: Diagnostic) -> bool:
        at = finding.at
        if at is None or not at.path.startswith(("models/", "seeds/")):
            return True
        if at.path.endswith("_defaults.toml"):
            folder = at.path.removesuffix("_defaults.toml")
            return any(path.startswith(folder) for path in paths)
        return at.path in paths

    return tuple(finding for finding in findings if is_meant(finding))


def stop_on_errors(findings: tuple[Diagnostic, ...]) -> None:
    """Raise `Refused` with every finding if one of them is an error."""
    if any(finding.severity == "error" for finding in findings):
        raise Refused(*findings)
