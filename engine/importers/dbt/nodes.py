"""Models, seeds and snapshots as dbt sees them: file, properties, merged configuration, evaluated text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from jinja2 import TemplateSyntaxError, nodes

from interlock.engine.importers.dbt import template as t
from interlock.engine.importers.dbt import versions
from interlock.engine.importers.dbt.configs import HOOKS, clean, levels, listed, merged
from interlock.engine.importers.dbt.given import DEFAULTS
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.objects import Parts, This
from interlock.engine.importers.dbt.reading import File
from interlock.engine.importers.dbt.session import Macro, Rendering, Session, late, parse_error
from interlock.engine.importers.dbt.template import CannotKeep
from interlock.engine.importers.dbt.yamls import Table, table

NodeKind: TypeAlias = Literal["model", "seed", "snapshot"]
PLURAL: Final[dict[NodeKind, str]] = {"model": "models", "seed": "seeds", "snapshot": "snapshots"}
BY_VARIABLE: Final = "by the variable "
BY_DEFAULT: Final = "by the default, in dbt_project.yml, of the variable "
"""What switches a node off; dbt reads that file before it knows the file's own variables."""
INCREMENTAL: Final = frozenset({"is_incremental", "should_full_refresh"})


@dataclass
class Properties:
    """What a YAML file says of a resource."""

    path: str
    line: int
    entry: Table
    package: str


@dataclass
class Problem:
    """Why a node is refused."""

    code: str
    why: str
    remedy: str
    line: int | None = None
    path: str = ""


@dataclass
class Node:
    """A model, seed or snapshot."""

    kind: NodeKind
    package: str
    name: str
    file: File
    line: int | None
    properties: Properties | None = None
    base: str = ""
    """Of a versioned model: its name without the version."""
    version: str = ""
    is_latest: bool = False
    config: dict[str, Any] = field(default_factory=dict)
    rendering: Rendering | None = None
    text: str = ""
    """The evaluated text, with marks for what it refers to."""
    tree: nodes.Template | None = None
    body: Macro | None = None
    """Of a snapshot: its block."""
    problem: Problem | None = None
    disabled: str = ""
    into: str = ""
    """Its name in the new project."""
    proposal: Any = None
    sidecar: dict[str, Any] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)
    contract: dict[str, Any] = field(default_factory=dict)
    contract_rule: str = ""
    parents: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    text_of_view: str = ""
    """Of a snapshot: the view that has its name."""
    extra: dict[str, str] = field(default_factory=dict)
    """More files that stand for it: path → text."""

    @property
    def live(self) -> bool:
        """Whether it is going to be in the new project."""
        return self.problem is None and not self.disabled

    schema: str = ""
    """Of its relation, once the names are known."""

    @property
    def alias(self) -> str:
        """The relation's name."""
        return str(self.config.get("alias") or self.name)

    @property
    def view(self) -> Parts:
        """What templates may read of it: `model`, and the `node` of the macros that make names."""
        config = {**DEFAULTS, "materialized": "view" if self.kind == "model" else self.kind, **self.config}
        version = int(self.version) if self.version.isdigit() else self.version or None
        name = self.base or self.name
        identifier = f"{self.kind}.{self.package}.{name}" + (f".v{self.version}" if self.version else "")
        return Parts(
            name=name, alias=self.alias, resource_type=self.kind, package_name=self.package, path=self.file.inner, original_file_path=self.file.original,
            fqn=[*self.fqn, *([f"v{self.version}"] if self.version else [])], unique_id=identifier, config=config, tags=listed(config["tags"]),
            meta=config["meta"] or {}, group=config["group"], version=version, language="sql", raw_code=self.file.text, raw_sql=self.file.text,
        )  # fmt: skip

    def refuse(self, code: str, why: str, remedy: str, line: int | None = None, path: str = "") -> None:
        """Refuse it, unless it is already; the first reason is the one that helps."""
        if self.problem is None:
            self.problem = Problem(code, why, remedy, line if line is not None else self.line, path or self.file.path)

    @property
    def fqn(self) -> list[str]:
        """Package, folders and name, as configuration levels go."""
        return [self.package, *self.file.folders, self.base or self.name]


def problem_of(error: BaseException, node_path: str, fallback_line: int | None) -> Problem:
    """An error in evaluating as a problem with its place: the line of the node, and where in a macro it happened."""
    places = t.places(error.__traceback__)
    mine = [place for place in places if place.path == node_path]
    line = mine[0].line if mine else fallback_line
    inner = places[-1] if places and places[-1].path != node_path else None
    where = f" (in {inner.path}:{inner.line})" if inner else ""
    if isinstance(error, TemplateSyntaxError):
        made = parse_error(error)
        return Problem(made.code, made.why, made.remedy, error.lineno, node_path)
    if isinstance(error, CannotKeep):
        return Problem(error.code, error.why + where, error.remedy, line, node_path)
    text = str(error) or type(error).__name__
    missing = re.fullmatch(r"'?([\w.]+)'? is undefined", text)
    if missing:
        name = missing[1]
        return Problem(
            "D806", f"nothing is called `{name}`{where}", "install its package with `dbt deps`, or write it out", line, node_path
        )
    no_attribute = re.search(r"has no attribute '(\w+)'", text)
    if no_attribute:
        return Problem("D806", f"nothing is called `{no_attribute[1]}` here{where}", "write it out, or define the macro", line, node_path)
    return Problem("D805", f"the template cannot be evaluated: {text}{where}", "correct it; dbt would meet the same", line, node_path)


def parse(session: Session, node: Node) -> None:
    """Parse the node's template, and refuse what can be told without evaluating it."""
    if node.kind == "seed":
        return
    if node.file.extension == "py":
        node.refuse("D816", "a Python model", "write it as SQL, or declare its table as a source")
        return
    try:
        tree = node.body.tree if node.body is not None else session.env.parse(node.file.text, filename=node.file.path)
        t.assign(session.env, tree)
    except t.EVALUATION as error:
        node.problem = problem_of(error, node.file.path, getattr(error, "lineno", None) or node.line)
        return
    if isinstance(tree, nodes.Template):
        node.tree = tree
    found = t.mentions(tree, INCREMENTAL)
    if found:
        name, line = found[0]
        node.refuse(
            "D803",
            f"the model calls `{name}()`",
            "write the full query, and a sidecar with the watermark: the engine restricts to new rows by itself",
            line,
        )
    for macro in session.reached(t.read_names(tree), node.package):
        within = t.mentions(macro.tree, INCREMENTAL)
        if within:
            called = next((call.line for call in t.calls(tree) if call.path[-1] == macro.name), node.line)
            why = f"macro `{macro.name}`, which the model may call, asks `{within[0][0]}()` ({macro.path}:{within[0][1]})"
            node.refuse("D803", why, "write the full query, and a sidecar with the watermark", called)
    asked = t.mentions(tree, t.RUN_TIME)
    if asked:
        name, line = asked[0]
        why = f"`{name}`: what the template is depends on the database, or on when it is asked"
        node.refuse("D804", why, "write what it answers into the model, or make it a join", line)


def evaluate(session: Session, node: Node, project_levels: list[tuple[str, Any]]) -> None:
    """Evaluate the node's template and merge its configuration; problems are kept on the node."""
    rendering = Rendering(node.file.path, node.package)
    lower = configured(session, node, project_levels[:1])
    # What the imported project says of a package's resources stands above what those say of themselves, as in dbt.
    upper = _of_levels(session, node, project_levels[1:])
    rendering.config, rendering.above = lower, upper
    if not node.config:
        node.config = merged(lower, upper)
    rendering.this = This(lambda: (node.schema or str(session.target_schema), node.alias))
    rendering.model = Parts({**node.view, "schema": node.schema})
    node.rendering = rendering
    if node.kind == "seed" or (node.tree is None and node.body is None) or node.problem is not None:
        node.config = merged(merged(lower, _literal_config(node)) if node.problem is not None else lower, upper)
        _finish_config(session, node)
        return
    try:
        node.text = _text(session, node, rendering)
        configs = _parsed(session, node, rendering) if rendering.phase_read else rendering.configs
        if rendering.config_read:
            rendering = node.rendering = _fresh(rendering, config=merged(lower, configs), is_settled=True)
            node.text = _text(session, node, rendering)
        rendering.configs = configs
    except (CannotKeep, *t.EVALUATION) as error:
        node.problem = _with_call(node, problem_of(error, node.file.path, node.line))
    node.config = merged(merged(lower, rendering.configs), upper)
    _finish_config(session, node)


def _fresh(rendering: Rendering, **changed: Any) -> Rendering:
    """The same template, before it has asked for anything."""
    kept = {name: getattr(rendering, name) for name in ("config", "above", "this", "model")}
    return Rendering(rendering.path, rendering.package, **{**kept, **changed})


def _parsed(session: Session, node: Node, running: Rendering) -> dict[str, Any]:
    """The configuration of a template that asks for `execute`: dbt takes what it finds before it runs anything.

    Raises:
        CannotKeep: it refers to something only when it runs.
    """
    parsing = _fresh(running, is_parsing=True)
    _text(session, node, parsing)
    refusal = late(running, parsing)
    if refusal is not None:
        raise refusal
    return parsing.configs


def _with_call(node: Node, problem: Problem) -> Problem:
    """Where a name is missing, the whole call: `dbt_utils.star` and how often it stands there."""
    missing = re.match(r"nothing is called `(\w+)`", problem.why)
    tree = node.tree if node.tree is not None else node.body.tree if node.body is not None else None
    if problem.code != "D806" or missing is None or tree is None:
        return problem
    made = [call for call in t.calls(tree) if missing[1] in call.path[:-1]]
    here = next((call for call in made if call.line == problem.line), made[0] if made else None)
    if here is None:
        return problem
    name = ".".join(here.path)
    times = sum(call.path == here.path for call in made)
    count = f", called {times} times here" if times > 1 else ""
    problem.why = problem.why.replace(missing[0], f"nothing is called `{name}`: package `{missing[1]}` is not there{count}", 1)
    return problem


def _text(session: Session, node: Node, rendering: Rendering) -> str:
    if node.body is not None:
        return str(session.call(node.body, rendering))
    return session.render(node.file.text, rendering)


def configured(session: Session, node: Node, project_levels: list[tuple[str, Any]]) -> dict[str, Any]:
    """What the node's own dbt_project.yml and the YAML properties say, the latter on top."""
    found = _of_levels(session, node, project_levels)
    if node.properties is not None:
        entry = node.properties.entry
        upper = {clean(str(key)): value for key, value in versions.config_of(entry, node.version).items()}
        for key in ("meta", "docs", "group", "access", "tags"):
            if key in entry and key not in upper:
                upper[key] = entry[key]
        rendering = Rendering(node.properties.path, node.package)
        given = (table(entry.get("config")), table(versions.version_of(entry, node.version).get("config")))
        at = {clean(str(key)): each.at(key) for each in given for key in each}
        lines = {key: at.get(key, entry.at(key) if key in entry else node.properties.line) for key in upper}
        found = merged(found, _evaluated(session, node, upper, rendering, lines))
    return found


def _of_levels(session: Session, node: Node, project_levels: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, tree in project_levels:
        rendering = Rendering(path, node.package, of_project=True)
        for level, lines in levels(tree, node.fqn):
            found = merged(found, _evaluated(session, node, level, rendering, dict(lines)))
    return found


def _evaluated(session: Session, node: Node, level: dict[str, Any], rendering: Rendering, lines: dict[str, int]) -> dict[str, Any]:
    """A level of configuration; hooks stay as they are written, since dbt evaluates them when they run.

    The name of a database is of no use here, so that not knowing it is no reason to refuse.
    """
    made: dict[str, Any] = {}
    for key, value in level.items():
        try:
            made[key] = value if key in HOOKS else session.value(value, rendering)
        except (CannotKeep, *t.EVALUATION) as error:
            if key in {"database", "target_database"}:
                made[key] = str(value)
            else:
                # Lines of the value's own template are not those of the file.
                node.problem = node.problem or replace(problem_of(error, rendering.path, None), line=lines.get(key))
    return made


def _literal_config(node: Node) -> dict[str, Any]:
    """Of a template that is not evaluated: what its config call says literally."""
    tree = node.tree if node.tree is not None else node.body.tree if node.body is not None else None
    if tree is None:
        return {}
    found: dict[str, Any] = {}
    for call in t.calls(tree):
        if call.path in {("config",), ("builtins", "config")}:
            found |= {clean(key): value for key, value in call.keywords.items() if value is not None}
    return found


def _finish_config(session: Session, node: Node) -> None:
    enabled = node.config.get("enabled", True)
    if isinstance(enabled, str):
        enabled = enabled.strip().lower() not in {"false", "0", "no", "none", ""}
    if not enabled:
        node.disabled = _deciding(session, node)


def _deciding(session: Session, node: Node) -> str:
    """Which variable switches a node off, as far as that can be told."""
    names: list[str] = []
    tree = node.tree if node.tree is not None else node.body.tree if node.body is not None else None
    for call in tree.find_all(nodes.Call) if tree is not None else ():
        if t.path_of(call.node)[-1:] == ("config",):
            for each in call.kwargs:
                if each.key == "enabled":
                    names += [str(c.arguments[0]) for c in t.calls(each.value) if c.path == ("var",) and c.arguments and c.arguments[0]]
    names = names or _variables_in(table(node.properties.entry.get("config")).get("enabled") if node.properties is not None else None)
    if names:
        return BY_VARIABLE + _listed(names)
    for _, tree_ in session.project_levels(node.package, PLURAL[node.kind]):
        for level, _ in levels(tree_, node.fqn):
            names += _variables_in(level.get("enabled"))
    if names:
        return BY_DEFAULT + _listed(names)
    names = sorted(node.rendering.variables) if node.rendering is not None else []
    return BY_VARIABLE + _listed(names) if names else "by `enabled: false`"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _variables_in(value: Any) -> list[str]:
    return re.findall(r"""var\(\s*['"](\w+)['"]""", value) if isinstance(value, str) else []


def column_entries(node: Node) -> list[tuple[str, Table, int | None]]:
    """The columns that a node's properties describe."""
    if node.properties is None:
        return []
    return [(str(each.get("name")), each, line) for each, line in versions.columns_of(node.properties.entry, node.version)]


def item_of(node: Node) -> Item:
    """What became of a node."""
    common: dict[str, Any] = {"kind": node.kind, "name": node.name, "path": node.file.path, "line": node.line}
    if node.disabled:
        what = "give the variable another value in dbt_project.yml" if node.disabled.startswith(BY_VARIABLE) else "enable it there"
        what = "give the variable another default there" if node.disabled.startswith(BY_DEFAULT) else what
        return Item(status="disabled", why=node.disabled, remedy=f"{what}, and import again", **common)
    if node.problem is not None:
        problem = node.problem
        common |= {"path": problem.path or node.file.path, "line": problem.line}
        proposal = node.proposal.text if node.proposal is not None and problem.code in {"D803", "D811"} else ""
        return Item(
            status="proposed" if proposal else "refused",
            code=problem.code,
            why=problem.why,
            remedy=problem.remedy,
            proposal=proposal,
            **common,
        )
    into = node.written[0] if node.written else ""
    if node.proposal is not None:
        return Item(
            status="proposed", code=node.proposal.code, why=node.proposal.why, remedy="review it: it was accepted by --accept-proposals",
            into=into, written="yes", proposal=node.proposal.text, **common,
        )  # fmt: skip
    return Item(status="converted", why="; ".join(dict.fromkeys(node.notes)), into=into, written="yes", **common)
