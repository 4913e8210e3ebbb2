"""Names of relations: what a path in a FROM clause means. Never a physical table that nobody declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from interlock.engine.diagnostics import did_you_mean
from interlock.engine.project.project import ModelFile, Project, SeedFile, Source
from interlock.engine.warehouse.protocol import ALIAS
from interlock.engine.warehouse.target import TargetConfig

_SOURCES: Final = "sources.toml"

Kind: TypeAlias = Literal["model", "seed", "source"]

_PARTS_MAX: Final = 3
"""Catalog, schema and name."""


class Node(NamedTuple):
    """Something that a name can mean: a model, a seed or a source, and where its relation stands."""

    kind: Kind
    name: str
    schema: str
    relation: str


class Unresolved(NamedTuple):
    """A name that means nothing, or more than one thing."""

    code: str
    summary: str
    because: str
    remedy: str


class Names:
    """Every name of a project, for one target. They match without regard to case, as in DuckDB."""

    def __init__(self, project: Project, target: TargetConfig) -> None:
        """Index the project."""
        self._unread = {name.lower(): path for name, path in project.unread.items()}
        self.sources: Mapping[str, Source] = project.sources
        self._catalogs = {ALIAS, target.location.stem.lower()}
        self.nodes: dict[str, Node] = {}
        """Models and seeds by name."""
        self._bare: dict[str, list[Node]] = {}
        self._qualified: dict[tuple[str, str], list[Node]] = {}
        files: list[tuple[Kind, ModelFile | SeedFile]] = [("model", model) for model in project.models.values()]
        files += [("seed", seed) for seed in project.seeds.values()]
        for kind, file in files:
            node = Node(kind, file.name, file.schema or target.schema, file.relation_name)
            self.nodes[file.name] = node
            self._bare.setdefault(file.name.lower(), []).append(node)
            for name in {file.name.lower(), node.relation.lower()}:
                self._qualified.setdefault((node.schema.lower(), name), []).append(node)
        self._made = {
            (node.schema.lower(), node.relation.lower()): node for node in self.nodes.values() if not _is_ephemeral(project, node)
        }
        self._ephemeral = frozenset(node.name for node in self.nodes.values() if _is_ephemeral(project, node))
        for source in project.sources.values():
            schema, _, name = source.name.rpartition(".")
            node = Node("source", source.name, *physical(source, target))
            if schema:
                self._qualified.setdefault((schema.lower(), name.lower()), []).append(node)
            else:
                self._bare.setdefault(name.lower(), []).append(node)

    def is_ephemeral(self, node: Node) -> bool:
        """Whether its text is put in where it is read."""
        return node.kind == "model" and node.name in self._ephemeral

    def resolve(self, path: tuple[str, ...], *, own: str | None = None) -> Node | Unresolved:
        """What a path means. `own` is the model that asks, which is no help to itself."""
        written = ".".join(path)
        if len(path) == 1:
            found = self._bare.get(path[0].lower(), [])
        elif len(path) == _PARTS_MAX and path[0].lower() not in self._catalogs:
            return Unresolved(
                "L204",
                f"nobody declared `{written}`",
                f"`{path[0]}` is not the target's database",
                "declare it in sources.toml with its `database`, and read it by the source's name",
            )
        elif len(path) > _PARTS_MAX:
            return Unresolved("L204", f"`{written}` is no name of a relation", "it has more than three parts", "write `schema.name`")
        else:
            found = self._qualified.get((path[-2].lower(), path[-1].lower()), [])
        if not found:
            return self._unknown(written, path, own)
        if len(found) > 1:
            return Unresolved(
                "L205",
                f"`{written}` can mean more than one relation",
                "it is " + " and ".join(f"{node.kind} `{node.name}`" for node in found),
                "rename one of them, or give the relation another schema",
            )
        return found[0]

    def maker(self, node: Node) -> Node | None:
        """The model or seed that makes the relation which a source names, if any does."""
        if node.kind != "source" or not node.schema:
            return None
        return self._made.get((node.schema.lower(), node.relation.lower()))

    def made_elsewhere(self, node: Node) -> Unresolved | None:
        """The finding for a source that a model or seed of the project makes."""
        maker = self.maker(node)
        if maker is None:
            return None
        return Unresolved(
            "L205",
            f"source `{node.name}` is the relation that {maker.kind} `{maker.name}` makes",
            "read as a source it would not wait for it",
            f"read `{maker.name}` by its own name, and take the source out of sources.toml",
        )

    def _unknown(self, written: str, path: tuple[str, ...], own: str | None) -> Unresolved:
        if path[-1].lower().endswith((".csv", ".parquet", ".json", ".ndjson", ".tsv", ".gz")):
            return outside_file(written)
        unread = self._unread.get(path[-1].lower())
        if unread is not None:
            return Unresolved("L220", f"it waits for `{written}`", f"`{unread}` could not be read", "correct that file first")
        names = [*self.nodes, *(node.name for nodes in self._bare.values() for node in nodes)]
        names += [".".join(key) for key, nodes in self._qualified.items() if any(node.kind == "source" for node in nodes)]
        names = [name for name in _unique(names) if name != own]
        tails = [name for name in names if name.rpartition(".")[2].lower() == path[-1].lower()]
        makes = f"the model that makes it, or `seeds/{path[0].lower()}.csv`" if len(path) == 1 else "the model that makes it"
        otherwise = f"declare it in sources.toml, or write {makes}"
        remedy = f"did you mean `{tails[0]}`?" if tails else did_you_mean(written, names, otherwise)
        because = "it is no CTE, model, seed or source of this project"
        if _SOURCES in self._unread:
            because, remedy = f"`{_SOURCES}` could not be read", "correct that file first"
        return Unresolved("L204", f"nobody declared `{written}`", because, remedy)


def outside_file(written: str) -> Unresolved:
    """The finding for a file name where a relation should be."""
    return Unresolved(
        "L208",
        f"a model does not read a file by itself: `{written}`",
        "what it reads would stand in no plan",
        "declare the file in sources.toml with its `path`, and read it by the source's name",
    )


def physical(source: Source, target: TargetConfig) -> tuple[str, str]:
    """Schema and name of a source's relation in the target's database; two empty texts for files and other databases."""
    if source.path is not None or source.database is not None:
        return "", ""
    schema, _, name = source.name.rpartition(".")
    return source.schema or schema or target.schema, source.identifier or name


def _is_ephemeral(project: Project, node: Node) -> bool:
    model = project.models.get(node.name)
    return node.kind == "model" and model is not None and model.materialized == "ephemeral"


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
