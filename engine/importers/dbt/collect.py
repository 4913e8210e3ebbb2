"""From a tree of files to nodes, sources and tests: what there is, before anything is converted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from interlock.engine.importers.dbt import sources, versions
from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt.checks import Test
from interlock.engine.importers.dbt.items import Item, Kind
from interlock.engine.importers.dbt.nodes import Node, Properties
from interlock.engine.importers.dbt.properties import unknown_properties
from interlock.engine.importers.dbt.reading import File, Package, Tree, yaml_file, yaml_text
from interlock.engine.importers.dbt.session import Session
from interlock.engine.importers.dbt.sources import SourceNode
from interlock.engine.importers.dbt.suggest import nearest
from interlock.engine.importers.dbt.yamls import Table, items, line_of, table

_DOCS: Final = re.compile(r"\{%-?\s*docs\s+(\w+)\s*-?%\}(.*?)\{%-?\s*enddocs\s*-?%\}", re.DOTALL)
SHADOWS: Final = frozenset({"ref", "source", "config", "var", "env_var", "is_incremental", "this", "return", "doc"})
DOCUMENTED: Final[dict[str, str]] = {
    "exposures": "exposure", "metrics": "metric", "semantic_models": "semantic model", "saved_queries": "saved query", "groups": "group", "unit_tests": "unit test",
}  # fmt: skip
SECTIONS: Final = frozenset(
    {"version", "anchors", "models", "seeds", "snapshots", "sources", "macros", "analyses", "tests", "data_tests", *DOCUMENTED}
)
"""What dbt reads of a file of properties."""


@dataclass
class Declared:
    """A test as YAML declares it, before it is converted."""

    entry: Any
    column: str | None
    line: int | None
    path: str
    package: str
    owner: tuple[str, str]
    """(`models`, name), (`sources`, `raw.orders`) and so on."""
    version: str = ""
    folders: list[str] = field(default_factory=list)


@dataclass
class Found:
    """All that a project has."""

    tree: Tree
    session: Session
    nodes: list[Node] = field(default_factory=list)
    sources: list[SourceNode] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    singular: list[tuple[File, Test]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    unit_tests: list[tuple[str, str, int | None, Table]] = field(default_factory=list)
    """Name, path, line and what it says."""
    documents: list[tuple[str, str, str]] = field(default_factory=list)
    """What is carried as documentation: kind, name, text."""
    properties: dict[tuple[str, str], list[Properties]] = field(default_factory=dict)
    test_properties: dict[tuple[str, str], Properties] = field(default_factory=dict)
    """What YAML says of tests that are files, by package and name."""
    versions: dict[tuple[str, str], tuple[Properties, str, str, bool]] = field(default_factory=dict)
    """By package and file: its properties, the model's name, the version, and whether it is the latest."""

    def refuse(self, kind: Kind, name: str, path: str, line: int | None, code: str, why: str, remedy: str) -> None:
        """Keep an item of something refused."""
        self.items.append(Item(kind=kind, name=name, status="refused", path=path, line=line, code=code, why=why, remedy=remedy))

    def document(self, kind: Kind, name: str, path: str, line: int | None, why: str, text: str = "") -> None:
        """Keep an item of something that is carried as documentation."""
        self.items.append(Item(kind=kind, name=name, status="documented", path=path, line=line, why=why, into="DOCUMENTATION.md"))
        self.documents.append((kind, name, text or why))


def collect(tree: Tree, environment: Mapping[str, str]) -> Found:
    """Everything in the files."""
    main = tree.packages[0]
    target = {
        "name": tree.profile.get("name", "dev"), "schema": tree.profile.get("schema") if isinstance(tree.profile.get("schema"), str) else "main",
        "type": "duckdb", "threads": tree.profile.get("threads", 1), "profile_name": tree.profile.get("profile_name", main.name), "target_name": tree.profile.get("name", "dev"),
    }  # fmt: skip
    path = tree.profile.get("path")
    if tree.profile.get("type") == "duckdb" and isinstance(path, str) and "{" not in path:
        named = tree.profile.get("database")
        target["database"] = target["dbname"] = named if isinstance(named, str) else PurePosixPath(path).stem
    if "{" in str(target["schema"]):
        target["schema"] = "main"
    session = Session(root=main.name, target=target, environment=environment)
    found = Found(tree, session, items=list(tree.items))
    session.packages = [package.name for package in tree.packages]
    _variables(found)
    _dispatch(found)
    for package in tree.packages:
        levels = [package, main] if package is not main else [main]
        session.configuration[package.name] = [(each.path, each.config) for each in levels]
        _macros(found, package)
    for package in tree.packages:
        _documentation(found, package)
    for package in tree.packages:
        _yaml(found, package)
    _versions(found)
    for package in tree.packages:
        _nodes(found, package)
    _orphans(found)
    _selectors(found)
    return found


def _variables(found: Found) -> None:
    session, packages = found.session, found.tree.packages
    names = {package.name for package in packages}
    root = table(packages[0].config.get("vars"))
    for package in packages:
        merged: dict[str, Any] = {}
        for tree in [table(package.config.get("vars")), root]:
            merged |= {str(key): value for key, value in tree.items() if not (isinstance(value, Table) and key in names)}
            merged |= {str(key): value for key, value in table(tree.get(package.name)).items()}
        session.variables[package.name] = merged


def _dispatch(found: Found) -> None:
    for entry in items(found.tree.packages[0].config.get("dispatch")):
        each = table(entry)
        found.session.dispatch_order[str(each.get("macro_namespace"))] = [str(name) for name in items(each.get("search_order"))]


def _macros(found: Found, package: Package) -> None:
    for file in package.files:
        is_generic = file.folder == "test" and file.inner.startswith("generic/")
        if file.extension == "sql" and (file.folder == "macro" or is_generic):
            try:
                found.session.add_macros(package.name, file.path, file.text)
            except t.EVALUATION as error:
                why, line = t.syntax_error(error)
                found.session.add_broken_macros(package.name, file.path, file.text)
                found.refuse(
                    "file",
                    file.path,
                    file.path,
                    line,
                    "D805",
                    f"the template does not parse: {why}",
                    "correct it; its macros are not known, and what calls them is refused",
                )


def _documentation(found: Found, package: Package) -> None:
    for file in package.files:
        if file.extension == "md":
            for name, text in _DOCS.findall(file.text):
                found.session.docs[name] = text.strip()
            found.items.append(
                Item(
                    kind="file", name=file.path, status="documented", path=file.path, why="its docs blocks stand where `doc` asks for them"
                )
            )


# --- YAML properties ----------------------------------------------------------------------------------------------------


def _yaml(found: Found, package: Package) -> None:
    seen: set[str] = set()
    for file in package.files:
        if file.extension not in {"yml", "yaml"} or file.path in seen:
            continue
        seen.add(file.path)
        before = len(found.items)
        value = yaml_text(file.path, file.text, found.items)
        if len(found.items) > before:
            continue
        if not isinstance(value, Table):
            found.items.append(Item(kind="file", name=file.path, status="converted", path=file.path, why="it is empty"))
            continue
        found.items.append(
            Item(kind="file", name=file.path, status="converted", path=file.path, why="what it says stands with what it is about")
        )
        _sections(found, package, file, value)


def _sections(found: Found, package: Package, file: File, value: Table) -> None:
    for section, entries in value.items():
        match section:
            case "version" | "anchors":
                pass
            case "models" | "seeds" | "snapshots":
                _resources(found, package, file, section, entries)
            case "sources":
                for entry in items(entries):
                    found.items += unknown_properties("sources", table(entry), file.path, str(table(entry).get("name")))
                for source in sources.found_in(entries, file, package.name):
                    found.items += unknown_properties("tables", source.entry, file.path, f"{source.source}.{source.name}")
                    found.sources.append(source)
                    _declared(found, source.entry, file, package, ("sources", f"{source.source}.{source.name}"), "")
            case "macros" | "analyses" | "tests" | "data_tests":
                for index, entry in enumerate(items(entries)):
                    each = table(entry)
                    if section in {"tests", "data_tests"} and isinstance(each.get("name"), str):
                        place = line_of(entries, index) or each.at("name")
                        found.test_properties.setdefault((package.name, each["name"]), Properties(file.path, place, each, package.name))
                    if each.get("description"):
                        found.document(
                            "documentation",
                            f"{section}.{each.get('name')}",
                            file.path,
                            line_of(entries, index),
                            "its description",
                            str(each["description"]),
                        )
            case _ if section in DOCUMENTED:
                for index, entry in enumerate(items(entries)):
                    each, line = table(entry), line_of(entries, index)
                    name = str(each.get("name") or each.get("model") or index + 1)
                    if section == "unit_tests":
                        found.unit_tests.append((name, file.path, line, each))
                    else:
                        found.document(
                            "documentation",
                            f"{DOCUMENTED[section]} {name}",
                            file.path,
                            line,
                            f"{'an' if section == 'exposures' else 'a'} {DOCUMENTED[section]}: nothing is run for it",
                            _plain(each),
                        )
            case _:
                _other(found, file, str(section), value.at(section))


def _other(found: Found, file: File, section: str, line: int) -> None:
    """A section that dbt does not have: one that was misspelt, or one that only holds what others repeat."""
    near = nearest(section, SECTIONS)
    if near is not None:
        found.refuse("config", section, file.path, line, "D809", "dbt has no such section", f"did you mean `{near}`?")
    else:
        why = "dbt has no such section, and passes over it; what others repeat of it stands with them"
        found.items.append(Item(kind="config", name=section, status="documented", path=file.path, line=line, why=why))


def _plain(entry: Table) -> str:
    return "\n".join(f"{key}: {value}" for key, value in entry.items())


def _resources(found: Found, package: Package, file: File, section: str, entries: Any) -> None:
    for index, entry in enumerate(items(entries)):
        each = table(entry)
        name = each.get("name")
        if not isinstance(name, str):
            found.refuse(
                "config", f"{section}[{index}]", file.path, line_of(entries, index), "D809", "it has no name", "name what it is about"
            )
            continue
        found.items += unknown_properties(section, each, file.path, name)
        properties = Properties(file.path, line_of(entries, index) or each.at("name"), each, package.name)
        found.properties.setdefault((section, name), []).append(properties)
        if section == "snapshots" and each.get("relation"):
            _yaml_snapshot(found, package, file, properties)
        for version in [str(table(one).get("v")) for one in items(each.get("versions"))] or [""]:
            _declared(found, each, file, package, (section, name), version)


def _declared(found: Found, entry: Table, file: File, package: Package, owner: tuple[str, str], version: str) -> None:
    def add(lists: Iterable[Any], column: str | None) -> None:
        for listed in lists:
            for index, each in enumerate(items(listed)):
                found.declared.append(Declared(each, column, line_of(listed, index), file.path, package.name, owner, version, file.folders))

    add(versions.tests_of(entry, version), None)
    for each, _ in versions.columns_of(entry, version):
        name = str(each["name"])
        add((each.get("tests"), each.get("data_tests")), '"' + name.replace('"', '""') + '"' if each.get("quote") is True else name)


# --- nodes --------------------------------------------------------------------------------------------------------------


def _nodes(found: Found, package: Package) -> None:
    for file in package.files:
        match file.folder, file.extension:
            case "model", "sql" | "py":
                found.nodes.append(_model(found, package, file))
            case "seed", "csv":
                found.nodes.append(_with_properties(found, Node("seed", package.name, file.stem, file, None)))
            case "snapshot", "sql":
                _snapshots(found, package, file)
            case "test", "sql" if not file.inner.startswith("generic/"):
                found.singular.append((file, Test(file.stem, file.path, 1, package.name, "", folders=tuple(file.folders))))
            case "analysis", "sql":
                found.document("file", file.path, file.path, None, "an analysis: it is never built", file.text)
            case "macro" | "test", "sql":
                found.items.append(
                    Item(
                        kind="file",
                        name=file.path,
                        status="converted",
                        path=file.path,
                        why="its macros were evaluated where they are called",
                    )
                )
            case _, "yml" | "yaml" | "md":
                pass
            case _:
                found.items.append(Item(kind="file", name=file.path, status="documented", path=file.path, why="no file that dbt reads"))


def _model(found: Found, package: Package, file: File) -> Node:
    node = Node("model", package.name, file.stem, file, 1)
    versioned = found.versions.get((package.name, file.stem))
    if versioned is not None:
        properties, node.base, node.version, node.is_latest = versioned
        node.properties, node.name = properties, f"{node.base}_v{node.version}"
        return node
    return _with_properties(found, node)


def _versions(found: Found) -> None:
    """Which file is which version of a model."""
    for (section, base), entries in found.properties.items():
        for properties in entries if section == "models" else ():
            listed = [table(each) for each in items(properties.entry.get("versions"))]
            numbers = [str(each.get("v")) for each in listed]
            named = properties.entry.get("latest_version")
            newest = str(named) if named is not None else versions.latest(numbers)
            for each, number in zip(listed, numbers, strict=True):
                stems = {str(each.get("defined_in") or f"{base}_v{number}"), *([base] if number == newest else [])}
                for stem in stems:
                    found.versions.setdefault((properties.package, stem), (properties, base, number, number == newest))


def _with_properties(found: Found, node: Node) -> Node:
    plural = {"model": "models", "seed": "seeds", "snapshot": "snapshots"}[node.kind]
    entries = [
        each for each in found.properties.get((plural, node.name), []) if each.package == node.package and not each.entry.get("versions")
    ]
    own = [each for each in found.properties.get((plural, node.name), []) if each.package == found.session.root]
    chosen = entries or own
    if chosen:
        node.properties = chosen[0]
        if len(chosen) > 1:
            node.notes.append(f"described twice; {chosen[1].path}:{chosen[1].line} was left out")
    return node


def _snapshots(found: Found, package: Package, file: File) -> None:
    try:
        macros = found.session.add_macros(package.name, file.path, file.text)
    except t.EVALUATION as error:
        why, line = t.syntax_error(error)
        found.refuse("file", file.path, file.path, line, "D805", f"the template does not parse: {why}", "correct it")
        return
    blocks = [macro for macro in macros if macro.name.startswith("snapshot_")]
    for macro in blocks:
        node = Node("snapshot", package.name, macro.name.removeprefix("snapshot_"), file, macro.line, body=macro)
        found.nodes.append(_with_properties(found, node))
    if not blocks:
        found.items.append(Item(kind="file", name=file.path, status="documented", path=file.path, why="it holds no snapshot"))


def _yaml_snapshot(found: Found, package: Package, file: File, properties: Properties) -> None:
    relation = str(properties.entry["relation"])
    inner = relation if relation.strip().startswith("{{") else "{{ " + relation + " }}"
    text = f"select * from {inner}\n"
    virtual = File(package.name, "snapshot", file.path, file.inner, text, text.encode(), file.root)
    found.nodes.append(Node("snapshot", package.name, str(properties.entry["name"]), virtual, properties.line, properties=properties))


def _orphans(found: Found) -> None:
    """Properties of something that is not there."""
    singular = {"models": "model", "seeds": "seed", "snapshots": "snapshot"}
    there = {(node.kind, node.base or node.name) for node in found.nodes} | {(node.kind, node.name) for node in found.nodes}
    tests = {(test.package, test.name) for _, test in found.singular}
    for (package, name), each in found.test_properties.items():
        if (package, name) not in tests and not found.session.macro(package, f"test_{name}"):
            why = f"no test is a file called `{name}`"
            found.refuse("config", f"tests.{name}", each.path, each.line, "D809", why, "take it out, or see to its spelling")
    for (section, name), entries in found.properties.items():
        if (singular[section], name) not in there:
            for each in entries:
                found.refuse(
                    "config",
                    f"{section}.{name}",
                    each.path,
                    each.line,
                    "D809",
                    f"no {singular[section]} is called `{name}`",
                    "take it out, or see to its spelling",
                )


def _selectors(found: Found) -> None:
    """What selectors.yml names, if it is there. A default one decides what `dbt build` builds, and nothing here goes by it."""
    path = "selectors.yml"
    if not (found.tree.root / path).is_file():
        return
    listed = items(table(yaml_file(found.tree.root, path, found.items)).get("selectors"))
    for index, entry in enumerate(listed):
        each, line = table(entry), line_of(listed, index)
        name = f"selector {each.get('name')}"
        if each.get("default"):
            why = "dbt builds what its default selector names, where nothing else is asked for; a run here builds everything"
            found.refuse(
                "config", name, path, line, "D810", why, "name the models with --select, and those that are left out with --exclude"
            )
        else:
            found.document(
                "config", name, path, line, "a selection that dbt is told by name; here it is written after --select", _plain(each)
            )


def shadowed(found: Found) -> None:
    """Say which of dbt's own names the project's macros take over."""
    for package in {found.session.root, *found.session.packages}:
        for name, macro in found.session.macros.get(package, {}).items():
            if name in SHADOWS and package == found.session.root and macro.path not in found.session.broken:
                why = f"it takes the place of dbt's `{name}`: it was evaluated in its place"
                found.items.append(
                    Item(kind="macro", name=f"{package}.{name}", status="converted", path=macro.path, line=macro.line, why=why)
                )
