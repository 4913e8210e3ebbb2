"""The files of a dbt project and of the packages that lie in it. Reads only; nothing in them is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from interlock.engine.diagnostics import Position, refused
from interlock.engine.importers.dbt import yamls
from interlock.engine.importers.dbt.ignored import FILE as IGNORE
from interlock.engine.importers.dbt.ignored import ignoring
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.session import Rendering, Session
from interlock.engine.importers.dbt.template import EVALUATION, CannotKeep
from interlock.engine.importers.dbt.yamls import NotYaml, Table

PROJECT: Final = "dbt_project.yml"
LEFT_OUT: Final = frozenset({".git", ".venv", "node_modules", "__pycache__"})
"""Folders in which no program keeps files of a dbt project."""
OF_DBT: Final = frozenset({"target", "logs", "dbt_packages", "dbt_modules"})
"""Folders beside dbt_project.yml that dbt itself writes; below a folder of models they are folders like others."""
READ: Final = (".sql", ".py", ".csv", ".yml", ".yaml", ".md")
PASSED_OVER: Final = (".", "#", "~")
"""How names of files begin that dbt takes for an editor's."""

Folder: TypeAlias = Literal["model", "seed", "test", "macro", "snapshot", "analysis"]

FOLDERS: Final[dict[Folder, tuple[str, str, list[str]]]] = {
    "model": ("model-paths", "source-paths", ["models"]),
    "seed": ("seed-paths", "data-paths", ["seeds"]),
    "test": ("test-paths", "test-paths", ["tests"]),
    "macro": ("macro-paths", "macro-paths", ["macros"]),
    "snapshot": ("snapshot-paths", "snapshot-paths", ["snapshots"]),
    "analysis": ("analysis-paths", "analysis-paths", ["analyses"]),
}


@dataclass
class File:
    """A file of a package: its text, without a byte order mark."""

    package: str
    folder: Folder
    path: str
    """Relative to the dbt project, with forward slashes."""
    inner: str
    """Relative to the folder."""
    text: str
    data: bytes
    root: str = ""
    """Of its package, relative to the dbt project."""

    @property
    def original(self) -> str:
        """Its path as dbt says it: relative to its package."""
        return self.path.removeprefix(f"{self.root}/") if self.root else self.path

    @property
    def stem(self) -> str:
        """The file's name without its extension."""
        return self.inner.rsplit("/", 1)[-1].rsplit(".", 1)[0]

    @property
    def folders(self) -> list[str]:
        """Those that it lies in, below its kind's own."""
        return self.inner.split("/")[:-1]

    @property
    def extension(self) -> str:
        """The extension, in small letters."""
        return self.inner.rsplit(".", 1)[-1].lower() if "." in self.inner.rsplit("/", 1)[-1] else ""

    @property
    def crlf(self) -> bool:
        """Whether its lines end as Windows' do."""
        return "\r\n" in self.text


@dataclass
class Package:
    """A dbt project: the one that is imported, or a package in it."""

    name: str
    path: str
    """Of its dbt_project.yml."""
    config: Table
    files: list[File] = field(default_factory=list)


@dataclass
class Tree:
    """All that was read: the project's package first."""

    root: Path
    packages: list[Package]
    profile: dict[str, Any]
    """The chosen target of profiles.yml; empty where there is none."""
    profile_path: str
    items: list[Item]
    missing: list[str]
    """Packages that packages.yml names and that are not there."""


def read(root: Path, environment: Mapping[str, str]) -> Tree:
    """Read a project.

    Raises:
        Refused: D801, there is no dbt project; D802, its dbt_project.yml cannot be read.
    """
    if not (root / PROJECT).is_file():
        raise refused("D801", f"`{root}` is no dbt project", because=f"it has no {PROJECT}", remedy="name the directory that has it")
    items: list[Item] = []
    main = _package(root, "", items)
    if main is None:
        found = items[0]
        raise refused(
            "D802", f"`{PROJECT}` cannot be read", because=found.why, remedy=found.remedy, at=Position(path=PROJECT, line=found.line)
        )
    packages = [main]
    installed = str(main.config.get("packages-install-path") or main.config.get("modules-path") or "dbt_packages")
    places = [installed, *(place for place in ("dbt_packages", "dbt_modules") if place != installed)]
    for place in places:
        directory = root / place
        if directory.is_dir():
            for child in sorted(directory.iterdir()):
                if (child / PROJECT).is_file():
                    package = _package(root, f"{place}/{child.name}", items)
                    if package is not None:
                        packages.append(package)
            break
    missing = _missing(root, packages, items)
    profile, path = _profile(root, main.config, environment, items)
    return Tree(root, packages, profile, path, items, missing)


def _package(root: Path, prefix: str, items: list[Item]) -> Package | None:
    path = f"{prefix}/{PROJECT}" if prefix else PROJECT
    config = yaml_file(root, path, items)
    if not isinstance(config, Table) or not isinstance(config.get("name"), str):
        if config is not None:
            items.append(
                Item(kind="file", name=path, status="refused", path=path, code="D802", why="it names no project", remedy="write name: shop")
            )
        return None
    package = Package(config["name"], path, config)
    for folder, (key, old, default) in FOLDERS.items():
        wanted = config.get(key, config.get(old, default))
        for place in wanted if isinstance(wanted, list) else [wanted]:
            start = f"{prefix}/{place}".replace("\\", "/").strip("/").removeprefix("./")
            if wanted is not default and not (root / start).is_dir() and place not in default:
                named, line = (key if key in config else old), config.at(key if key in config else old)
                items.append(
                    Item(kind="config", name=f"{named}: {place}", status="documented", path=path, line=line, why="there is no such folder")
                )
            package.files += _files(root, start, package.name, folder, prefix, items)
    return package


def _files(root: Path, start: str, package: str, folder: Folder, prefix: str, items: list[Item]) -> Iterator[File]:
    ignored_by = f"{prefix}/{IGNORE}" if prefix else IGNORE
    ignored = ignoring(_text_of(root / ignored_by))
    paths, links = walk(root, start, prefix)
    items += [
        Item(kind="file", name=path, status="documented", path=path, why="a link to a folder: dbt does not follow it") for path in links
    ]
    for path in paths:
        if path.rsplit("/", 1)[-1].startswith(PASSED_OVER):
            if path.lower().endswith(READ):
                items.append(Item(kind="file", name=path, status="documented", path=path, why="dbt passes over files whose names begin so"))
            continue
        if ignored(path.removeprefix(f"{prefix}/") if prefix else path):
            items.append(Item(kind="file", name=path, status="documented", path=path, why=f"dbt passes over it, by {ignored_by}"))
            continue
        try:
            data = (root / path).read_bytes()
        except OSError as error:
            items.append(_unreadable(path, error.strerror or type(error).__name__))
            continue
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            items.append(_unreadable(path, f"byte {error.start} is no UTF-8"))
            continue
        yield File(package, folder, path, path.removeprefix(f"{start}/"), text, data, prefix)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def walk(root: Path, start: str, package: str = "") -> tuple[list[str], list[str]]:
    """Files below a folder and links to other folders, sorted, relative to the project. dbt follows no such link, so nothing does here."""
    found: list[str] = []
    links: list[str] = []
    for directory, folders, files in os.walk(root / start):
        below = Path(directory).relative_to(root).as_posix()
        inside = "" if below == "." else f"{below}/"
        out = LEFT_OUT | (OF_DBT if below == (package or ".") else frozenset())
        folders[:] = sorted(name for name in folders if name not in out)
        links += [f"{inside}{name}" for name in folders if (Path(directory) / name).is_symlink()]
        found += [f"{inside}{name}" for name in files]
    return sorted(found), sorted(links)


def _unreadable(path: str, why: str) -> Item:
    return Item(kind="file", name=path, status="refused", path=path, code="D802", why=why, remedy="save it as UTF-8, readable")


def yaml_file(root: Path, path: str, items: list[Item]) -> Any:
    """The value of a YAML file, or nothing after an item that says why."""
    try:
        text = (root / path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        items.append(_unreadable(path, str(error)))
        return None
    return yaml_text(path, text, items)


def yaml_text(path: str, text: str, items: list[Item]) -> Any:
    """The value of a YAML text, or nothing after an item that says why."""
    try:
        return yamls.load(text)
    except NotYaml as error:
        items.append(
            Item(
                kind="file", name=path, status="refused", path=path, line=error.line, code="D802", why=f"it is not valid YAML: {error.why}",
                remedy="correct it; all that it says is missing from the import",
            )
        )  # fmt: skip
        return None


def _missing(root: Path, packages: list[Package], items: list[Item]) -> list[str]:
    there = {package.name for package in packages} | {package.path.split("/")[-2] for package in packages[1:]}
    missing: list[str] = []
    for path in ("packages.yml", "dependencies.yml"):
        if not (root / path).is_file():
            continue
        read_ = yaml_file(root, path, items)
        listed = yamls.items(yamls.table(read_).get("packages"))
        for index, entry in enumerate(listed):
            each = yamls.table(entry)
            named = str(next((each[key] for key in ("package", "local", "git", "private", "name", "tarball") if each.get(key)), "?"))
            name = named.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1].replace("-", "_")
            local = each.get("local")
            local = local.replace("\\", "/") if isinstance(local, str) else local
            config = yaml_file(root, f"{local}/{PROJECT}", items) if isinstance(local, str) and (root / local / PROJECT).is_file() else None
            name = str(yamls.table(config).get("name", name))
            line = yamls.line_of(listed, index)
            if name in there:
                items.append(
                    Item(
                        kind="package",
                        name=name,
                        status="converted",
                        path=path,
                        line=line,
                        why="its models and macros are imported with the project",
                    )
                )
            elif isinstance(config, Table) and isinstance(local, str):
                package = _package(root, os.path.normpath(local), items)
                if package is not None:
                    packages.append(package)
                    there.add(package.name)
                    items.append(Item(kind="package", name=name, status="converted", path=path, line=line, why="read where it lies"))
            else:
                missing.append(name)
                items.append(
                    Item(
                        kind="package", name=name, status="refused", path=path, line=line, code="D806", why="the package is not in dbt_packages/",
                        remedy="run `dbt deps` in the dbt project, and import again",
                    )
                )  # fmt: skip
    return missing


def _profile(root: Path, config: Table, environment: Mapping[str, str], items: list[Item]) -> tuple[dict[str, Any], str]:
    session = Session(root=str(config.get("name")), target={}, environment=environment)
    said = Rendering("profiles.yml", session.root, of_project=True)
    name = _evaluated(session, said, "profile", config.get("profile"), items)
    # A folder that the environment names is where dbt looks, whatever stands beside the project.
    places = [*(Path(given) for given in (environment.get("DBT_PROFILES_DIR"),) if given), root]
    home = environment.get("HOME")
    places += [Path(home) / ".dbt"] if home else []
    for place in places:
        if not (place / "profiles.yml").is_file():
            continue
        read_ = yamls.table(yaml_file(place, "profiles.yml", items))
        chosen = yamls.table(read_.get(name))
        if not chosen:
            continue
        outputs = yamls.table(chosen.get("outputs"))
        wanted = _evaluated(session, said, "target", chosen.get("target", "default"), items)
        if not (isinstance(wanted, str) and wanted in outputs):
            if "target" in chosen and wanted is not None:
                why = f"profiles.yml has no target `{wanted}`; the first that it has was taken"
                items.append(
                    Item(kind="config", name="profile.target", status="refused", code="D810", why=why, remedy="name one that is there")
                )
            wanted = next(iter(outputs), "dev")
        output = yamls.table(outputs.get(wanted))
        read_out = {
            **output, **{key: _evaluated(session, said, key, output[key], items) for key in ("type", "schema", "database") if key in output}
        }  # fmt: skip
        if place == root:
            why = f"target `{wanted}` was read: type, schema and database; no user, no password"
            items.append(Item(kind="file", name="profiles.yml", status="converted", path="profiles.yml", why=why))
        return {**read_out, "name": wanted, "profile_name": name}, str(place / "profiles.yml")
    return {}, ""


def _evaluated(session: Session, rendering: Rendering, key: str, value: Any, items: list[Item]) -> Any:
    """A value of the profile, with its template evaluated; nothing after an item that says why it cannot be."""
    try:
        return session.value(value, rendering)
    except (CannotKeep, *EVALUATION) as error:
        code, remedy = (error.code, error.remedy) if isinstance(error, CannotKeep) else ("D805", "correct it; dbt refuses it, too")
        why = f"{error}; it is as if nothing were said"
        items.append(Item(kind="config", name=f"profile.{key}", status="refused", code=code, why=why, remedy=remedy))
        return None
