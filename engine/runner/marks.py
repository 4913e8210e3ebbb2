"""Marks of sources as the rows of a run were read from them.

A plan names each source's mark as it was when the plan was made. The receipt may name it only if the rows that were read had it:
a source that moved after the plan, and went back after the run, would else look as if nothing had ever happened.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.compiler.names import physical
from interlock.engine.compiler.source_texts import source_sql
from interlock.engine.planner.fingerprints import NONE, fingerprints_of
from interlock.engine.planner.plan import SourcePin
from interlock.engine.project.project import Project, Source
from interlock.engine.warehouse.protocol import Catalog, Session, WarehouseError
from interlock.engine.warehouse.target import TargetConfig
from interlock.machines.evidence import SourceSeen

_INTERRUPTED = "G562"

_Stats = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    mark: str
    stats: _Stats | None
    """Of its files, when they were asked; `None` for a relation."""


class Marks:
    """What the marks of a run's sources are by now. Safe for several threads.

    A table cannot move while the run has its database open, and is asked once at most. A view may read anything, and files are
    changed by whoever likes: a view is asked by every reader, and files whenever their sizes or times are others.
    """

    def __init__(
        self,
        project: Project,
        target: TargetConfig,
        pins: Iterable[SourcePin],
        session: Session,
        catalog: Catalog,
        *,
        unbroken: bool,
    ) -> None:
        """Nothing is asked yet.

        Args:
            project: whose sources they are.
            target: of the run.
            pins: of the plan, with the lists of files that its statements read.
            session: of the run.
            catalog: the bulk probe of the target.
            unbroken: the plan was made while this session had the database: what its tables were then, they still are.
        """
        self._project = project
        self._target = target
        self._pins: Mapping[str, SourcePin] = {pin.source: pin for pin in pins}
        self._session = session
        self._catalog = catalog
        self._unbroken = unbroken
        self._lock = threading.Lock()
        self._asked: dict[str, _Asked] = {}

    def as_read(self, seen: tuple[SourceSeen, ...]) -> tuple[SourceSeen, ...]:
        """Sources of an item as its rows were read from them: without a mark where it is not the planned one.

        Raises:
            WarehouseError: the question was interrupted.
        """
        return tuple(
            each if each.fingerprint == NONE or self._holds(each) else msgspec.structs.replace(each, fingerprint=NONE) for each in seen
        )

    def _holds(self, seen: SourceSeen) -> bool:
        source = self._project.sources.get(seen.source)
        if source is None:
            return False
        stays = self._is_table(source)
        if stays and self._unbroken:
            return True
        with self._lock:
            known = self._asked.get(seen.source)
            if known is None or not (stays or self._is_as_asked(known, seen.source)):
                known = self._asked[seen.source] = self._ask(source)
            return known.mark == seen.fingerprint

    def _is_table(self, source: Source) -> bool:
        if source.path is not None or source.database is not None:
            return False
        found = self._catalog.find(*physical(source, self._target))
        return found is not None and found.kind == "table"

    def _is_as_asked(self, known: _Asked, source: str) -> bool:
        return known.stats is not None and known.stats == _stats(self._project.root, self._files(source))

    def _files(self, source: str) -> tuple[str, ...]:
        return self._pins[source].files if source in self._pins else ()

    def _ask(self, source: Source) -> _Asked:
        files = self._files(source.name)
        stats = _stats(self._project.root, files) if source.path is not None else None
        compiled = CompiledSource(source=source, sql=source_sql(source, self._target, files), files=files, columns=(), origin="declared")
        try:
            reader = self._session.reader()
            try:
                marks, _ = fingerprints_of(reader, self._project.root, self._project.id, self._catalog, [compiled])
            finally:
                reader.close()
        except WarehouseError as error:
            if error.code == _INTERRUPTED:
                raise
            return _Asked(NONE, stats)
        except OSError:
            return _Asked(NONE, stats)
        return _Asked(marks[source.name], stats)


def _stats(root: Path, files: Iterable[str]) -> _Stats | None:
    """Sizes and times of files; `None` where one cannot be looked at."""
    found = []
    try:
        for name in files:
            stat = (root / name).stat()
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    except OSError:
        return None
    return tuple(found)
