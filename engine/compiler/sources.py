"""Sources as they are bound: their columns as declared, pinned and observed, and a shadow of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.compiler.source_texts import is_own_database, match_files, position, source_sql
from interlock.engine.compiler.types import ZONED, Length, canonical_type, is_time
from interlock.engine.compiler.world import World
from interlock.engine.diagnostics import Diagnostic, did_you_mean
from interlock.engine.project.project import Freshness, Project, Source
from interlock.engine.warehouse.duckdb.binder import SOURCES, Binder, NotBound, Shadow
from interlock.engine.warehouse.duckdb.quoting import relation_in, string
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import Column


def bound_name(name: str) -> str:
    """What stands at a source's span while names are resolved."""
    return relation_in(SOURCES, "main", name)


class SourceCompiler:
    """Compiles the sources that are used, and makes their shadows."""

    def __init__(self, project: Project, target: TargetConfig, world: World | None, binder: Binder) -> None:
        """Nothing is done yet."""
        self._project = project
        self._target = target
        self._world = world
        self._binder = binder
        self._files: Mapping[str, tuple[str, ...]] | None = None if world is None else world.files
        self.done: dict[str, CompiledSource] = {}
        self.findings: list[Diagnostic] = []

    def compile(self, name: str) -> None:
        """Compile one source. One whose columns are not known leaves findings and is not among the done.

        One that is declared and not as declared, or not there, leaves findings too, and can still be bound against.
        """
        source = self._project.sources[name]
        declared = self._declared(source)
        pinned = self._pinned(name) if declared is None and source.columns is None else None
        observed = None if self._world is None else self._world.sources.get(name)
        files = self._matched(source)
        if source.path is not None and not files:
            self._finding(
                source,
                "S119",
                f"source `{name}` matches no file",
                f"nothing matches `{source.path}`",
                "put a file there, or correct its `path`",
                "path",
            )
        elif is_own_database(source, self._project.root, self._target):
            self._finding(
                source,
                "W614",
                f"source `{name}` names the target's own database",
                f"`{source.database}` is the file of target `{self._target.name}`, which is open already",
                "take its `database` out: what stands in the target's own database is named by schema and identifier",
                "database",
            )
            return
        elif self._world is not None and name in self._world.unreadable:
            self._finding(
                source,
                "W614" if source.database is not None else "P425",
                f"source `{name}` could not be read",
                self._world.unreadable[name],
                "correct what sources.toml says of it, or see that it can be read, then plan again",
            )
        elif declared is None and observed is None and pinned is None and source.columns is None:
            self._finding(
                source,
                "S105",
                f"the columns of source `{name}` are not known",
                "they are not declared, and the warehouse was not looked at",
                f'declare them under [sources."{name}".columns], or run `interlock sources pin` where the warehouse can be looked at',
                "columns",
            )
        complete = declared is not None and source.columns is not None and len(declared) == len(source.columns)
        if declared is not None and observed is not None and complete:
            self._compare(source, declared, observed)
        if pinned is not None and observed is not None:
            self._compare(source, pinned, observed)
        columns = observed or declared or pinned
        if columns is None or (declared is not None and not complete):
            return
        kind: Literal["table", "view"] = "view" if source.path is not None else "table"
        failed = self._binder.stand_in([Shadow(SOURCES, "main", name, kind, columns)])
        if failed:
            self._finding(
                source, "L201", f"the columns of source `{name}` cannot be bound", failed[0].message, "correct its columns", "columns"
            )
            return
        self._fresh(source, columns)
        self._marked(source, columns)
        self.done[name] = CompiledSource(
            source=source,
            sql=source_sql(source, self._target, files),
            files=files,
            columns=columns,
            origin="declared" if declared is not None else "discovered",
            observed=observed,
        )

    def _matched(self, source: Source) -> tuple[str, ...]:
        if source.path is None:
            return ()
        if self._files is None:
            self._files = match_files(self._project)
        return self._files.get(source.name, ())

    def _declared(self, source: Source) -> tuple[Column, ...] | None:
        if source.columns is None:
            return None
        columns: list[Column] = []
        for name, column in source.columns.items():
            found = canonical_type(column.type, self._binder)
            if isinstance(found, Length):
                self._finding(source, "C304", f"`{column.type}` declares a length", found.message, found.remedy(), f"columns.{name}")
            elif isinstance(found, NotBound):
                self._finding(source, "C304", f"`{column.type}` is no type", found.message, _type_remedy(found), f"columns.{name}")
            else:
                columns.append(Column(name=name, type=found))
        return tuple(columns)

    def _pinned(self, name: str) -> tuple[Column, ...] | None:
        """Columns as `interlock sources pin` wrote them; one whose type is none any more is not known."""
        columns = self._project.pinned.get(name)
        kinds = {column: canonical_type(kind, self._binder) for column, kind in (columns or {}).items()}
        return tuple(Column(name=column, type=kind) for column, kind in kinds.items() if isinstance(kind, str)) or None

    def _compare(self, source: Source, declared: tuple[Column, ...], observed: tuple[Column, ...]) -> None:
        there = {column.name.lower(): column for column in observed}
        for column in declared:
            found = there.get(column.name.lower())
            if found is None:
                because = f"it has {', '.join(f'`{each.name}`' for each in observed)}"
                summary = f"source `{source.name}` has no column `{column.name}`"
            elif found.type != column.type:
                because = f"it is {found.type}, and {'declared' if source.columns is not None else 'pinned'} as {column.type}"
                summary = f"column `{column.name}` of source `{source.name}` has another type"
            else:
                continue
            remedy = "correct the declared columns, or the source"
            if source.columns is None:
                remedy = "if it shall be so, `interlock sources pin` takes it as it is now"
            self._finding(source, "P407", summary, because, remedy, f"columns.{column.name}")

    def _marked(self, source: Source, columns: tuple[Column, ...]) -> None:
        """The column by which news is seen is there."""
        wanted = source.fingerprint_column
        names = [column.name for column in columns]
        if wanted is not None and wanted.lower() not in {name.lower() for name in names}:
            because = f"it has {', '.join(f'`{name}`' for name in names)}"
            remedy = did_you_mean(wanted, names, "name another column")
            self._finding(source, "L201", f"source `{source.name}` has no column `{wanted}`", because, remedy, "fingerprint_column")

    def _fresh(self, source: Source, columns: tuple[Column, ...]) -> None:
        """Its freshness can be asked: the column is a time, and its zone is known."""
        for index, each in enumerate(source.freshness):
            self._fresh_one(source, each.question, columns, "freshness" if len(source.freshness) == 1 else f"freshness[{index}]")

    def _fresh_one(self, source: Source, asked: Freshness, columns: tuple[Column, ...], key: str) -> None:
        names = [column.name for column in columns]
        column = next((each for each in columns if each.name.lower() == asked.column.lower()), None)
        if column is None:
            because = f"it has {', '.join(f'`{name}`' for name in names)}"
            remedy = did_you_mean(asked.column, names, "name another column")
            self._finding(source, "L225", f"source `{source.name}` has no column `{asked.column}`", because, remedy, f"{key}.column")
        elif not is_time(column.type):
            because = f"it is {column.type}"
            self._finding(source, "L225", f"`{column.name}` is no time", because, "name a DATE or TIMESTAMP column", f"{key}.column")
        elif column.type not in ZONED and asked.zone is None:
            because, remedy = f"it is {column.type}, which has none", 'add zone = "UTC", say'
            self._finding(source, "L225", f"the zone of `{column.name}` is not known", because, remedy, key)
        elif asked.zone is not None:
            found = self._binder.evaluate(f"SELECT timezone({string(asked.zone)}, TIMESTAMP '2000-01-01 00:00:00')")
            if isinstance(found, NotBound):
                remedy = 'write a name such as "UTC" or "Europe/Berlin"'
                self._finding(source, "L225", f"`{asked.zone}` is no time zone", found.message, remedy, f"{key}.zone")

    def _finding(self, source: Source, code: str, summary: str, because: str, remedy: str, *keys: str) -> None:
        self.findings.append(
            Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=position(source, *keys), subject=source.name)
        )


def _type_remedy(found: NotBound) -> str:
    return f"did you mean `{found.candidates[0]}`?" if found.candidates else "write one complete type, such as `DECIMAL(18,2)`"
