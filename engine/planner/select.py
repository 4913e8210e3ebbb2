"""Selectors: which models are meant, in the words that dbt users know. Pure.

A term is `name`, `stg_*`, `tag:x`, `path:models/marts`, `state:modified` or `state:new`, with `+` or `2+` before it for what
it reads, `+` or `+3` after it for what reads it, or `@` for what reads it and all that those read. A space is a union, a
comma an intersection.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from interlock.engine.diagnostics import Diagnostic, Refused, did_you_mean
from interlock.machines.records import Record

_TERM = re.compile(r"(?P<around>@)?(?:(?P<up>[0-9]*)\+)?(?P<body>[^+@,\s]+)(?:\+(?P<down>[0-9]*))?")
_WILD = frozenset("*?[")
_METHODS = ("tag", "path", "state")
_STATES = ("modified", "new")
_ALL = -1


class Node(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a selector can see of a model or seed. `parents`: what it reads, ephemerals too."""

    name: str
    path: str
    tags: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


class Match(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A term as written, and how many it matched without its graph operators, and with them."""

    term: str
    matched: int
    reached: int


class Selected(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was selected, sorted by name."""

    names: tuple[str, ...]
    because: tuple[Match, ...] = ()
    excluded: tuple[Match, ...] = ()
    empty_because_state: bool = False
    """Nothing is selected since nothing is modified or new: that is an answer, not a mistake."""


def select(
    terms: Sequence[str],
    exclude: Sequence[str],
    *,
    nodes: Mapping[str, Node],
    modified: Callable[[], frozenset[str]],
    new: Callable[[], frozenset[str]] = frozenset,
) -> Selected:
    """The models that the terms name, without those that `exclude` names. No terms: all.

    Args:
        terms: `--select` as given, one or several; together they are a union.
        exclude: `--exclude` likewise.
        nodes: every model and seed of the project.
        modified: names of those whose definition, promise or place differs from the head, new ones among them. Asked at most once.
        new: names of those without a head.

    Raises:
        Refused: S115, a term cannot be read; S114, a name, tag or path matches nothing, or nothing is left of them together.
    """
    graph = _Graph(nodes, modified, new)
    chosen, because = graph.union(terms, "--select") if terms else (set(nodes), [])
    dropped, excluded = graph.union(exclude, "--exclude")
    if graph.findings:
        raise Refused(*graph.findings)
    names = tuple(sorted(chosen - dropped))
    if not names and nodes and not graph.asked:
        summary = "everything that is selected is excluded" if chosen else "nothing fits the selection as a whole"
        counts = ", ".join(f"`{match.term}`: {match.reached}" for match in (*because, *excluded))
        raise Refused(Diagnostic(code="S114", summary=summary, because=f"models by term: {counts}", remedy="see `interlock ls --select …`"))
    return Selected(names=names, because=tuple(because), excluded=tuple(excluded), empty_because_state=not names and graph.asked)


class _Graph:
    """The models, and who reads whom."""

    def __init__(self, nodes: Mapping[str, Node], modified: Callable[[], frozenset[str]], new: Callable[[], frozenset[str]]) -> None:
        self.nodes = nodes
        self.states = {"modified": modified, "new": new}
        self.known_states: dict[str, set[str]] = {}
        self.children: dict[str, list[str]] | None = None
        self.findings: list[Diagnostic] = []
        self.asked = False
        """Whether a term asked for state: then an empty answer is one."""

    def union(self, texts: Sequence[str], option: str) -> tuple[set[str], list[Match]]:
        chosen: set[str] = set()
        matches: list[Match] = []
        for text in texts:
            groups = text.split()
            if not groups:
                self.refuse(
                    "S115", f"{option} is empty", "an empty text selects nothing and is most likely a mistake", f"leave {option} out"
                )
            for group in groups:
                parts = [self.term(term, option, matches) for term in group.split(",")]
                chosen |= set[str].intersection(*parts)
        return chosen, matches

    def term(self, text: str, option: str, matches: list[Match]) -> set[str]:
        found = _TERM.fullmatch(text)
        if found is None or (found["around"] and (found["up"] is not None or found["down"] is not None)):
            remedy = "write name, +name, name+, 2+name, @name, tag:x, path:models/marts or state:modified; a comma means both"
            self.refuse("S115", f"`{text}` is no selector", f"it stands in {option}", remedy)
            return set()
        leaf = self.leaf(found["body"], text)
        if leaf is None:
            return set()
        reached = set(leaf)
        if found["around"]:
            reached |= self.walk(leaf, self.down(), _ALL)
            reached |= self.walk(reached, self.up(), _ALL)
        if found["up"] is not None:
            reached |= self.walk(leaf, self.up(), int(found["up"] or _ALL))
        if found["down"] is not None:
            reached |= self.walk(leaf, self.down(), int(found["down"] or _ALL))
        matches.append(Match(term=text, matched=len(leaf), reached=len(reached)))
        return reached

    def leaf(self, body: str, text: str) -> set[str] | None:
        method, colon, value = body.partition(":")
        if colon and method not in _METHODS:
            remedy = did_you_mean(method, _METHODS, f"write one of {', '.join(f'{known}:' for known in _METHODS)}")
            self.refuse("S115", f"`{text}` is no selector", f"nothing is selected by `{method}:`", remedy)
            return None
        if colon and not value:
            self.refuse("S115", f"`{text}` is no selector", f"nothing stands after `{method}:`", f"write {method}:…")
            return None
        if colon and method == "state":
            return self.state(value, text)
        if colon and method == "tag":
            return self.tag(value, text)
        if colon:
            return self.path(value, text)
        if "/" in body:
            return self.path(body, text)
        return self.name(body, text)

    def state(self, value: str, text: str) -> set[str] | None:
        if value not in _STATES:
            remedy = did_you_mean(value, _STATES, f"write state:{' or state:'.join(_STATES)}")
            self.refuse("S115", f"`{text}` is no selector", f"there is no state `{value}`", remedy)
            return None
        self.asked = True
        if value not in self.known_states:
            self.known_states[value] = set(self.states[value]()) & set(self.nodes)
        return self.known_states[value]

    def tag(self, value: str, text: str) -> set[str] | None:
        tags = {tag for node in self.nodes.values() for tag in node.tags}
        fitting = _fitting(value, tags)
        found = {name for name, node in self.nodes.items() if not fitting.isdisjoint(node.tags)}
        return self.some(found, text, value, tags, "tag")

    def path(self, value: str, text: str) -> set[str] | None:
        wanted = value.removeprefix("./").rstrip("/")
        if _WILD.isdisjoint(wanted):
            found = {name for name, node in self.nodes.items() if node.path == wanted or node.path.startswith(f"{wanted}/")}
        else:
            pattern = _glob(wanted)
            found = {name for name, node in self.nodes.items() if pattern.match(node.path)}
        folders = {folder for node in self.nodes.values() for folder in _folders(node.path)} if not found else ()
        ends = sorted(folder for folder in folders if folder.endswith(f"/{wanted}"))
        if ends:  # a path is one of the project's directory, wherever it is asked from
            self.refuse("S114", f"`{text}` matches nothing", f"paths are written from the project's directory on: `{ends[0]}`",
                        f"did you mean `path:{ends[0]}`?", subject=wanted)  # fmt: skip
            return None
        return self.some(found, text, wanted, folders, "path")

    def name(self, value: str, text: str) -> set[str] | None:
        return self.some(_fitting(value, self.nodes), text, value, self.nodes, "model or seed")

    def some(self, found: set[str], text: str, value: str, known: Iterable[str], what: str) -> set[str] | None:
        if found:
            return found
        otherwise = f"there are {len(self.nodes)} models and seeds; see `interlock ls`"
        near = did_you_mean(value, known, otherwise)
        self.refuse("S114", f"`{text}` matches nothing", f"no {what} is called `{value}`", near, subject=value)
        return None

    def refuse(self, code: str, summary: str, because: str, remedy: str, subject: str = "") -> None:
        self.findings.append(Diagnostic(code=code, summary=summary, because=because, remedy=remedy, subject=subject))

    # --- walking ---

    def up(self) -> Callable[[str], Iterable[str]]:
        return lambda name: self.nodes[name].parents

    def down(self) -> Callable[[str], Iterable[str]]:
        if self.children is None:
            self.children = {}
            for name, node in self.nodes.items():
                for parent in node.parents:
                    self.children.setdefault(parent, []).append(name)
        children = self.children
        return lambda name: children.get(name, ())

    def walk(self, start: Iterable[str], step: Callable[[str], Iterable[str]], depth: int) -> set[str]:
        """What is reached in at most `depth` steps; `_ALL`: however many."""
        seen: set[str] = set(start)
        edge = set(seen)
        while edge and depth != 0:
            edge = {near for name in edge for near in step(name) if near in self.nodes} - seen
            seen |= edge
            depth -= 1
        return seen


def _fitting(value: str, names: Iterable[str]) -> set[str]:
    if _WILD.isdisjoint(value):
        return {value} if value in names else set()
    return {name for name in names if fnmatch.fnmatchcase(name, value)}


def _glob(pattern: str) -> re.Pattern[str]:
    """A pattern of paths: `*` stays within a folder, `**` does not; what lies under a folder that fits, fits."""
    meaning = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile(f"{''.join(meaning.get(part) or re.escape(part) for part in parts)}(?:/.*)?\\Z")


def _folders(path: str) -> Iterable[str]:
    yield path
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        yield path
