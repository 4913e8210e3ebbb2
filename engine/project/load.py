"""A directory → the project as a value. The only reader of project files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from interlock.engine.cache.store import Cache
from interlock.engine.diagnostics import Diagnostic, Position, Refused, in_order, nearest, refused
from interlock.engine.project.decode import decode
from interlock.engine.project.document import Document, decode_text, read_bytes, refuse_environment
from interlock.engine.project.environment import environment_names, expand_environment
from interlock.engine.project.files import DefaultsToml, InterlockToml, ModelToml, SeedToml, SourcesLockToml, SourcesToml
from interlock.engine.project.kept import Memory, One, Rooms, kept_file, key_of, lazy_models, lazy_seeds
from interlock.engine.project.models import Defaults, check_relation, check_tags, model_of
from interlock.engine.project.names import NAME_RULE, is_name, suggestion
from interlock.engine.project.project import MacroFile, ModelFile, Project, SeedFile, Source
from interlock.engine.project.seeds import seed_of
from interlock.engine.project.sources import sources_of
from interlock.engine.project.targets import FILE, check_project, default_target_of, targets_of
from interlock.engine.project.tree import walk
from interlock.engine.project.variables import variables_of
from interlock.machines.records import digest

S = TypeVar("S", bound=msgspec.Struct)

SOURCES = "sources.toml"
LOCK = "sources.lock.toml"
"""Written by `interlock sources pin`."""
DEFAULTS = "_defaults.toml"


def find_project(start: Path) -> Path:
    """The nearest directory with an interlock.toml, from `start` upwards.

    Raises:
        Refused: S100, there is none. One that was named and does not exist is not looked for above it: it is a slip of the pen.
    """
    try:
        start = start.absolute()
    except FileNotFoundError:
        raise refused("S100", "the directory where you are is gone", remedy="go to the project's directory") from None
    if not os.path.lexists(start):
        raise refused(
            "S100", f"`{start}` does not exist", because="a project is looked for in it and above it", remedy="correct the directory"
        )
    for directory in (start, *start.parents):
        if os.path.lexists(directory / FILE):
            return directory
    raise refused(
        "S100",
        "there is no project here",
        because=f"neither `{start}` nor a directory above it has an {FILE}",
        remedy="go to the project's directory, name it with --project, or make one: interlock init DIR",
    )


def load(root: Path, *, environment: Mapping[str, str], variables: Mapping[str, str] | None = None, cache: Cache | None = None) -> Project:
    """Read a whole project. What is wrong with it is in `findings`, all of it, in order.

    Args:
        root: its directory.
        environment: where `${NAME}` is looked up.
        variables: values of variables, as text.
        cache: what is known of files with the same bytes is not worked out again.

    Raises:
        Refused: S100, S101 or S102, `interlock.toml` itself cannot be read.
    """
    root = root.absolute()
    if not os.path.lexists(root / FILE):
        raise refused("S100", f"`{root}` is no project", because=f"it has no {FILE}", remedy="make one: interlock init DIR")
    return _Loader(root, Memory(cache)).project(environment, variables or {})


class _Loader:
    """Reads the files of one project once, and collects what it finds."""

    def __init__(self, root: Path, memory: Memory) -> None:
        self.root = root
        self.memory = memory
        self.files: dict[str, list[str]] = {}
        """By folder."""
        self.bytes: dict[str, bytes] = {}
        """Of files that were read and not looked at yet."""
        self.ones: dict[str, One] = {}
        """Models and seeds as they are kept, by name."""
        self.findings: list[Diagnostic] = []
        self.documents: list[Document] = []
        self.digests: dict[str, str] = {}
        self.names: dict[str, tuple[str, str]] = {}
        """Names of models, seeds and bare sources → what has it, and where."""
        self.unread: dict[str, str] = {}
        """Names of models and seeds, and sources.toml, that are there and could not be read → the file to correct."""

    def project(self, environment: Mapping[str, str], given: Mapping[str, str]) -> Project:
        document = Document.parse(FILE, self.text(FILE)[1])
        self.documents.append(document)
        file = decode(document, InterlockToml, document.tree)
        values, unusable = expand_environment(document, environment)
        if file is None:
            # Without an id nothing can be said of targets; the other files are still looked at.
            targets, default, variables, id_, name = {}, None, {}, "", ""
        else:
            check_project(document, file)
            targets = targets_of(document, file, self.root, values, without=unusable)
            default = default_target_of(document, file)
            variables = variables_of(document, file, given, self.findings)
            id_, name = file.project.id, file.project.name
        before = [*self.findings, *document.findings]
        rooms, models, seeds = self.rooms()
        findings = [*before, *rooms.findings]
        if not models and not seeds and not findings:
            findings.append(
                Diagnostic(
                    code="S113",
                    summary="the project is empty",
                    because="there is no .sql file under models/ and no .csv file under seeds/",
                    remedy="write models/first.sql with one SELECT",
                    at=Position(path=FILE),
                )
            )
        return Project(
            id=id_,
            name=name,
            root=self.root,
            targets=targets,
            default_target=default,
            variables=variables,
            models=models,
            seeds=seeds,
            sources=rooms.sources,
            pinned=rooms.pinned,
            macros=rooms.macros,
            digests=dict(sorted(self.digests.items())),
            environment=environment_names(document),
            unusable=unusable,
            unread=rooms.unread,
            findings=in_order(findings),
        )

    def rooms(self) -> tuple[Rooms, Mapping[str, ModelFile], Mapping[str, SeedFile]]:
        """Everything but interlock.toml: as it was found the last time where every byte is the same, else read again."""
        del self.findings[:], self.documents[:]
        for folder in ("models", "seeds", "macros"):
            self.files[folder] = walk(self.root, folder, self.findings)
        sound = self.read_all() and not self.findings
        known = self.memory.rooms
        counts = [path for files in self.files.values() for path in files if path.lower().endswith((".sql", ".csv", ".toml"))]
        key = key_of({path: seen for path, seen in self.digests.items() if path != FILE}, *counts)
        if sound and known is not None and known.key == key:
            self.bytes.clear()
            of_models = lazy_models({name: one.file for name, one in known.models.items()})
            return known, of_models, lazy_seeds({name: one.file for name, one in known.seeds.items()})
        models = self.models()
        seeds = self.seeds()
        sources = self.sources()
        pinned = self.pinned()
        macros = self.macros()
        self.between(models, seeds, sources)
        keeps = sound and self.memory.keeps
        rooms = Rooms(
            key=key,
            models={name: self.ones[name] for name in models} if keeps else {},
            seeds={name: self.ones[name] for name in seeds} if keeps else {},
            sources=sources,
            pinned=pinned,
            macros=macros,
            unread=self.unread,
            findings=(*self.findings, *(finding for each in self.documents for finding in each.findings)),
        )
        if keeps:
            self.memory.keep(rooms)
        return rooms, models, seeds

    def known(self, *paths: str) -> tuple[str, One | None]:
        """The digest of the files that a model or seed is made of, and what they were read as, if that is known."""
        key = key_of({path: self.digests[path] for path in paths if path in self.digests})
        one = self.memory.alone.get(paths[0])
        if one is None or one.key != key:
            return key, None
        for path in paths:
            self.bytes.pop(path, None)
        return key, one

    def is_alone(self, name: str) -> bool:
        """Whether a model or seed is known to name no other."""
        return name in self.ones and self.ones[name].alone

    def keep(self, file: ModelFile | SeedFile, key: str, *, alone: bool) -> None:
        """Keep a model or seed that was read."""
        if self.memory.keeps:
            alone = alone and file.renamed_from is None and not (isinstance(file, ModelFile) and file.restrict)
            self.ones[file.name] = One(key=key, path=file.path, alone=alone, file=memoryview(kept_file(file)))

    # --- reading ---

    def text(self, path: str) -> tuple[bytes, str]:
        data = self.bytes.pop(path, None)
        if data is None:
            data = self.read(path)
        return data, decode_text(path, data)

    def read(self, path: str) -> bytes:
        data = read_bytes(self.root, path)
        self.digests[path] = digest("file", data)
        return data

    def read_all(self) -> bool:
        """Read every file that counts, and say whether each could be read."""
        wanted = [path for path in (SOURCES, LOCK) if os.path.lexists(self.root / path)]
        for folder, main, side in (("models", ".sql", ".toml"), ("seeds", ".csv", ".toml"), ("macros", ".sql", "")):
            files = self.files[folder]
            mains = [path for path in files if path.lower().endswith(main)]
            sides = {f"{path[:-4]}{side}" for path in mains} if side else set()
            wanted += mains
            wanted += [path for path in files if path in sides or (folder == "models" and path.endswith(f"/{DEFAULTS}"))]
        sound = True
        for path in wanted:
            try:
                self.bytes[path] = self.read(path)
            except Refused:
                sound = False
        return sound

    def try_text(self, path: str) -> tuple[bytes, str] | None:
        try:
            return self.text(path)
        except Refused as error:
            self.findings.extend(error.findings)
            return None

    def toml(self, path: str, kind: type[S]) -> tuple[Document, S] | None:
        read = self.try_text(path)
        if read is None:
            return None
        try:
            document = Document.parse(path, read[1])
        except Refused as error:
            self.findings.extend(error.findings)
            return None
        self.documents.append(document)
        refuse_environment(document)
        file = decode(document, kind, document.tree)
        return None if file is None else (document, file)

    def report(self, code: str, path: str, summary: str, *, because: str = "", remedy: str = "", subject: str = "") -> None:
        at = Position(path=path)
        self.findings.append(Diagnostic(code=code, summary=summary, because=because, remedy=remedy, at=at, subject=subject))

    def name(self, kind: str, path: str) -> str | None:
        """The name of a model or seed by its file, or nothing after a finding."""
        stem = path.rsplit("/", 1)[1].rsplit(".", 1)[0]
        if not is_name(stem):
            remedy = f"call the file `{suggestion(stem)}`"
            self.report("S108", path, f"`{stem}` is no name for a {kind}", because=NAME_RULE, remedy=remedy, subject=stem)
            return None
        if stem in self.names:
            what, where = self.names[stem]
            because = f"{what} `{where}` has that name; folders do not tell them apart"
            self.report("S106", path, f"two things are called `{stem}`", because=because, remedy="give one another name", subject=stem)
            return None
        self.names[stem] = (kind, path)
        return stem

    # --- rooms of the project ---

    def models(self) -> Mapping[str, ModelFile]:
        files = self.files["models"]
        queries = [path for path in files if path.lower().endswith(".sql")]
        sidecars = {path for path in files if path.lower().endswith(".toml") and not path.endswith(f"/{DEFAULTS}")}
        defaults = self.defaults([path for path in files if path.endswith(f"/{DEFAULTS}")])
        found: dict[str, ModelFile | memoryview] = {}
        for path in queries:
            sidecar_path = f"{path[:-4]}.toml"
            has_sidecar = sidecar_path in sidecars
            sidecars.discard(sidecar_path)
            name = self.name("model", path)
            key, known = self.known(path, *([sidecar_path] if has_sidecar else []), *defaults_above(path))
            if name is not None and known is not None:
                found[name], self.ones[name] = known.file, known
                continue
            read = self.try_text(path)
            sidecar = self.toml(sidecar_path, ModelToml) if has_sidecar else None
            if name is None or read is None or (has_sidecar and sidecar is None):
                self.unread.update({name: path if read is None else sidecar_path} if name else {})
                continue
            above = _chain(defaults, path)
            before = self.count(above)
            found[name] = model = model_of(name, path, read[1], sidecar=sidecar, defaults=above, findings=self.findings)
            self.keep(model, key, alone=self.count(above) == before and not (sidecar and sidecar[0].findings))
        self.orphans(sidecars, queries, "model", ".sql")
        return lazy_models(dict(sorted(found.items())))

    def count(self, above: Iterable[Defaults] = ()) -> int:
        """How many findings there are, with those in some files of defaults."""
        return len(self.findings) + sum(len(document.findings) for document, _ in above)

    def defaults(self, paths: list[str]) -> dict[str, Defaults]:
        found: dict[str, Defaults] = {}
        for path in paths:
            read = self.toml(path, DefaultsToml)
            if read is None:
                continue
            document, file = read
            if isinstance(file.schema, str):
                check_relation(document, "schema", file.schema)
            if isinstance(file.tags, tuple):
                check_tags(document, file.tags)
            found[path.rsplit("/", 1)[0]] = read
        return found

    def seeds(self) -> Mapping[str, SeedFile]:
        files = self.files["seeds"]
        tables = [path for path in files if path.lower().endswith(".csv")]
        sidecars = {path for path in files if path.lower().endswith(".toml")}
        found: dict[str, SeedFile | memoryview] = {}
        for path in tables:
            sidecar_path = f"{path[:-4]}.toml"
            has_sidecar = sidecar_path in sidecars
            sidecars.discard(sidecar_path)
            name = self.name("seed", path)
            key, known = self.known(path, *([sidecar_path] if has_sidecar else []))
            if name is not None and known is not None:
                found[name], self.ones[name] = known.file, known
                continue
            read = self.try_text(path)
            sidecar = self.toml(sidecar_path, SeedToml) if has_sidecar else None
            if name is None or read is None or (has_sidecar and sidecar is None):
                self.unread.update({name: path if read is None else sidecar_path} if name else {})
                continue
            before = self.count()
            seed = seed_of(name, path, read[0], read[1], sidecar=sidecar, findings=self.findings)
            if seed is not None:
                found[name] = seed
                self.keep(seed, key, alone=self.count() == before and not (sidecar and sidecar[0].findings))
            else:
                self.unread[name] = path
        self.orphans(sidecars, tables, "seed", ".csv")
        return lazy_seeds(dict(sorted(found.items())))

    def orphans(self, sidecars: set[str], files: list[str], kind: str, extension: str) -> None:
        for path in sorted(sidecars):
            stem = path[: -len(".toml")]
            # By the last part of a path: two files of one folder are not alike because of the folder.
            named = {file[: -len(extension)].rpartition("/")[2]: file[: -len(extension)] for file in files}
            near = named.get(nearest(stem.rpartition("/")[2], named) or "")
            remedy = f"did you mean `{near}.toml`?" if near else f"write `{stem}{extension}`, or take it out"
            self.report("S112", path, f"`{path}` belongs to no {kind}", because=f"there is no `{stem}{extension}`", remedy=remedy)

    def sources(self) -> dict[str, Source]:
        if not os.path.lexists(self.root / SOURCES):
            return {}
        read = self.toml(SOURCES, SourcesToml)
        if read is None:
            self.unread[SOURCES] = SOURCES
            return {}
        document, file = read
        found = sources_of(document, file)
        for name in list(found):
            if name.lower() in self.names:
                what, where = self.names[name.lower()]
                because = f"{what} `{where}` has that name"
                remedy = f'call the source by its schema: [sources."raw.{name}"]'
                document.report("S106", ("sources", name), f"two things are called `{name}`", because=because, remedy=remedy, subject=name)
                del found[name]
        return dict(sorted(found.items()))

    def pinned(self) -> dict[str, dict[str, str]]:
        """Columns of sources as they were found, by the source's name."""
        read = self.toml(LOCK, SourcesLockToml) if os.path.lexists(self.root / LOCK) else None
        return {} if read is None else dict(sorted(read[1].sources.items()))

    def macros(self) -> tuple[MacroFile, ...]:
        found: list[MacroFile] = []
        for path in self.files["macros"]:
            if path.lower().endswith(".sql"):
                read = self.try_text(path)
                if read is not None:
                    found.append(MacroFile(path=path, text=read[1]))
        return tuple(found)

    def between(self, models: Mapping[str, ModelFile], seeds: Mapping[str, SeedFile], sources: Mapping[str, Source]) -> None:
        """Rules between files: renames and restrictions name what is there. What is taken by itself names nothing."""
        models = {name: models[name] for name in models if not self.is_alone(name)}
        seeds = {name: seeds[name] for name in seeds if not self.is_alone(name)}
        by_path = {document.path: document for document in self.documents}
        renamed: dict[str, str] = {}
        files: list[tuple[str, ModelFile | SeedFile]] = [*models.items(), *seeds.items()]
        for name, file in files:
            old = file.renamed_from
            if old is None or file.sidecar is None:
                continue
            document = by_path[file.sidecar]
            if old != name and old in self.names:
                because = f"{self.names[old][0]} `{self.names[old][1]}` is still there"
                document.report(
                    "S116",
                    ("renamed_from",),
                    f"`{name}` cannot be renamed from `{old}`",
                    because=because,
                    remedy="take one out",
                    subject=name,
                )
            elif old in renamed:
                because = f"`{renamed[old]}` is renamed from it too"
                document.report("S106", ("renamed_from",), f"two things were `{old}`", because=because, remedy="take one out", subject=name)
            renamed.setdefault(old, name)
        known = {*(name.lower() for name in sources), *self.names}
        for name, model in models.items():
            for index, pair in enumerate(model.restrict):
                relation = pair.rpartition(".")[0]
                if relation and relation.lower() not in known and model.sidecar is not None:
                    near = nearest(relation, known)
                    remedy = f"did you mean `{near}`?" if near else "name a source, model or seed that the model reads"
                    summary = f"nothing is called `{relation}`"
                    by_path[model.sidecar].report(
                        "S104", ("restrict", index), summary, because="restrict names source.column", remedy=remedy, subject=name
                    )


def defaults_above(path: str) -> list[str]:
    """Where the defaults of a file's folders would stand, nearest first."""
    parts = path.split("/")
    return ["/".join([*parts[:depth], DEFAULTS]) for depth in range(len(parts) - 1, 0, -1)]


def _chain(defaults: Mapping[str, Defaults], path: str) -> list[Defaults]:
    """The defaults of a file's folders, nearest first."""
    if not defaults:
        return []
    found: list[Defaults] = []
    folder = path
    while "/" in folder:
        folder = folder.rsplit("/", 1)[0]
        if folder in defaults:
            found.append(defaults[folder])
    return found
