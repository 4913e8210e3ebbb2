"""From what a dbt project has to what an Interlock project says: each item converted, or refused with its reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.engine.importers.dbt import freshness, incremental, materialize, names, overrides, seeds, snapshots, sources, units, versions
from interlock.engine.importers.dbt import nodes as n
from interlock.engine.importers.dbt.checks import Test
from interlock.engine.importers.dbt.collect import Found
from interlock.engine.importers.dbt.databases import places_of
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.importers.dbt.session import Rendering
from interlock.engine.importers.dbt.settings import settings_of
from interlock.engine.importers.dbt.sources import SourceNode
from interlock.engine.importers.dbt.suggest import did_you_mean
from interlock.engine.importers.dbt.template import EVALUATION, CannotKeep, calls
from interlock.engine.importers.dbt.yamls import table


class Conversion:
    """One import, step by step."""

    def __init__(self, found: Found, out: Path, *, accept_proposals: bool) -> None:
        self.found = found
        self.session = found.session
        self.out = out
        self.accept_proposals = accept_proposals
        self.tests: list[Test] = []
        self.default_schema = str(found.tree.profile.get("schema") or "main")
        if not materialize.RELATION.fullmatch(self.default_schema):
            why = f"a schema cannot be called `{self.default_schema}` here; what dbt builds in it is built in main"
            found.refuse("config", "profile.schema", "", None, "D810", why, "use letters, digits and underscores in its name")
            self.default_schema = "main"
        self.places = places_of(found, out)
        self.settings = settings_of(found)
        self.by_name: dict[str, list[Node]] = {}
        self.sources: dict[tuple[str, str], list[SourceNode]] = {}
        """By source and table: those of all packages."""
        self.compiled: dict[str, Any] = {}
        """Of dbt's manifest, by file: nodes whose compiled text may be used."""
        self.relations: dict[str, tuple[str, str, str, str, str]] = {}
        """Of the manifest: a relation's name → package, name, kind, source and version."""

    def run(self) -> None:
        """Convert everything that can be."""
        found = self.found
        for node in found.nodes:
            n.parse(self.session, node)
        for node in found.nodes:
            self._evaluate(node)
        self._index()
        for node in found.nodes:
            self._name(node)
        relations = {(node.schema.lower(), node.alias.lower()) for node in found.nodes if node.live}
        self._sources(relations)
        self.session.parts_of = self._parts
        for node in found.nodes:
            if node.rendering is not None and node.rendering.is_early and not node.disabled:
                # It read names or configuration before they were final: now they are.
                self._evaluate(node)
                self._name(node)
        for node in found.nodes:
            if node.live or node.problem is not None:
                self._convert(node)
        self._resolve()
        units.refuse_all(found)
        self.block()

    def _use_compiled(self, node: Node) -> None:
        """Where a template cannot be evaluated here: dbt's compiled text, if it is the only one that the template can give."""
        known = self.compiled.get(node.file.path)
        if known is None or node.kind != "model" or node.problem is None or node.problem.code != "D806" or node.disabled:
            return
        rendering = Rendering(node.file.path, node.package)
        text = str(known["compiled_code"])
        for number, relation in enumerate(sorted(self.relations, key=len, reverse=True)):
            if relation in text:
                package, name, kind, source, version = self.relations[relation]
                mark = f"ilman_{number}_z"
                if kind == "source":
                    rendering.sources[mark] = (source, name)
                else:
                    rendering.refs[mark] = (package, name, version or None)
                text = text.replace(relation, mark)
        if "__dbt__cte__" in text:
            return  # an ephemeral model is written into it
        node.problem = None
        node.text, node.rendering = text, rendering
        # The manifest's configuration is the merged one, and what the template computes of it is not known here.
        node.config |= {key: value for key, value in table(known.get("config")).items() if value not in (None, [], {}, "")}
        node.notes.append("its text is dbt's compiled one, from target/manifest.json")

    def _evaluate(self, node: Node) -> None:
        n.evaluate(self.session, node, self.session.project_levels(node.package, n.PLURAL[node.kind]))
        self._use_compiled(node)

    # --- names ---

    def _index(self) -> None:
        live = [node for node in self.found.nodes if not node.disabled]
        names.name_all(live)
        for node in self.found.nodes:
            for name in dict.fromkeys([node.name, *([node.base] if node.base else [])]):
                self.by_name.setdefault(name, []).append(node)
        twice: dict[tuple[str, str], Node] = {}
        for node in live:
            if (node.package, node.name) in twice:
                other = twice[node.package, node.name]
                node.refuse("D823", f"{other.file.path} has the same name", "give one another name; dbt refuses it, too")
            twice.setdefault((node.package, node.name), node)

    def _name(self, node: Node) -> None:
        """Schema and name of a node's relation: dbt's rules, or the macros that take their place."""
        custom = node.config.get("schema")
        usual = self.default_schema if custom is None else f"{self.default_schema}_{str(custom).strip()}"
        if node.kind == "snapshot" and node.config.get("target_schema"):
            node.schema = str(node.config["target_schema"])
        else:
            node.schema = self._made(node, "schema", custom_schema_name=custom) or usual
        alias = self._made(node, "alias", custom_alias_name=node.config.get("alias"))
        if alias is not None:
            node.config["alias"] = alias or node.name

    def _made(self, node: Node, component: str, **given: Any) -> str | None:
        """What a project's own `generate_…_name` gives; nothing where dbt's own rule stands."""
        macro = self.session.names_macro(component, node.package)
        if macro is None:
            return None
        rendering = Rendering(macro.path, macro.package, config=node.config, is_parsing=True)
        try:
            return str(self.session.call(macro, rendering, node=node.view, **given)).strip() or None
        except (CannotKeep, *EVALUATION) as error:
            node.problem = node.problem or n.problem_of(error, node.file.path, node.line)
            return None

    def schema(self, node: Node) -> str:
        """The schema of a node's relation."""
        return node.schema or self.default_schema

    def _sources(self, relations: set[tuple[str, str]]) -> None:
        taken: dict[str, SourceNode] = {}
        sources.refuse_overridden(self.found.sources)
        for source in sorted(self.found.sources, key=lambda each: each.package != self.session.root):
            sources.convert(source, self.session, self.places, relations, taken)
            freshness.convert(self.session, source, accept=self.accept_proposals)
            self.sources.setdefault((source.source, source.name), []).append(source)

    def source(self, package: str, reference: tuple[str, str]) -> SourceNode | None:
        """The source that a package's `source` means: the project's own, then the package's, then any; one that is switched on before one that is not."""
        found = sorted(
            self.sources.get(reference, []),
            key=lambda each: (bool(each.disabled), each.package != self.session.root, each.package != package),
        )
        return found[0] if found else None

    def _parts(self, kind: str, reference: tuple[str, ...]) -> tuple[str, str]:
        """Schema and name of what a `ref` or a `source` means, as dbt calls it."""
        if kind == "source":
            source = self.source(reference[0], (reference[1], reference[2]))
            return (self.default_schema, reference[2]) if source is None else (source.schema, source.identifier)
        node = self.target(reference[0], (reference[1] or None, reference[2], reference[3] or None))
        return (self.default_schema, reference[2]) if node is None else (self.schema(node), node.alias)

    # --- nodes ---

    def _convert(self, node: Node) -> None:
        materialized = node.kind if node.kind != "model" else str(node.config.get("materialized", "view"))
        macro = overrides.overriding(self.session, materialized)
        if macro is not None:
            node.refuse(
                "D810",
                f"the project's own `{macro.name}` ({macro.path}:{macro.line}) takes part in how dbt builds it, and nothing here calls that",
                "write what it does into the model, or take the macro out",
            )
            return
        if node.problem is not None:
            if node.problem.code == "D803" and node.kind == "model" and not node.disabled:
                self._propose(node)
            return
        schema = self.schema(node)
        match node.kind:
            case "model":
                materialize.sidecar(node, schema, self.default_schema, self.found.items.append)
                if node.sidecar.get("materialized") != "ephemeral":
                    self._contract(node)
                if materialize.blocking(node, "incremental") is not None:
                    node.proposal = None
                if node.proposal is not None and self.accept_proposals:
                    self._accept(node)
            case "seed":
                seeds.convert(node, schema, self.default_schema)
                materialize.refuse_changes(node, "seed")
            case "snapshot":
                snapshots.convert(node, schema, self.default_schema)
                materialize.refuse_changes(node, "snapshot")
        self._frozen(node)
        self._describe(node)

    def _propose(self, node: Node) -> None:
        if materialize.blocking(node, "incremental") is None:
            node.proposal = incremental.propose(self.session, node)
        if node.proposal is not None and self.accept_proposals:
            self._accept(node)
            self._describe(node)

    def _accept(self, node: Node) -> None:
        proposal = node.proposal
        node.problem = None
        node.text, node.rendering = proposal.query, proposal.rendering
        node.sidecar = dict(proposal.sidecar)
        materialize.accepted(node, self.schema(node), self.default_schema, self.found.items.append)
        self._contract(node)

    def _contract(self, node: Node) -> None:
        rendering = Rendering(node.properties.path if node.properties is not None else "", node.package)
        try:
            materialize.contract(node, self.found.items.append, lambda value: self.session.value(value, rendering))
        except (CannotKeep, *EVALUATION) as error:
            node.problem = node.problem or n.problem_of(error, rendering.path, node.line)

    def _frozen(self, node: Node) -> None:
        rendering = node.rendering
        if rendering is None:
            return
        for said in sorted(rendering.targets):
            node.notes.append(f"{said} was evaluated")
        if rendering.variables:
            node.notes.append(f"values of {', '.join(sorted(rendering.variables))} were written in")
        if rendering.environment:
            node.notes.append(f"values of the environment variables {', '.join(sorted(rendering.environment))} were written in")

    def _describe(self, node: Node) -> None:
        if node.properties is None:
            return
        path = node.properties.path
        rendering = Rendering(path, node.package)
        described: list[str] = []
        for name, value in [
            ("", versions.said_of(node.properties.entry, node.version, "description")),
            *((name, entry.get("description")) for name, entry, _ in n.column_entries(node)),
        ]:
            if not isinstance(value, str) or not value.strip():
                continue
            try:
                text = str(self.session.value(value, rendering)).strip()
            except (CannotKeep, *EVALUATION) as error:
                problem = n.problem_of(error, path, node.properties.line)
                self.found.refuse(
                    "documentation",
                    f"{node.name}{'.' if name else ''}{name}",
                    path,
                    problem.line,
                    problem.code,
                    problem.why,
                    problem.remedy,
                )
                continue
            if name and name in node.contract:
                node.contract[name]["description"] = text
            elif name:
                described.append(f"- `{name}`: {text}")
            else:
                node.sidecar["description"] = text
        meta = node.config.get("meta")
        if meta:
            described.append(f"- meta: {meta}")
        if described:
            self.found.documents.append(("columns", node.into or node.name, "\n".join(described)))

    # --- references ---

    def target(self, node_package: str, reference: tuple[str | None, str, str | None]) -> Node | None:
        """The node that a `ref` means."""
        package, name, version = reference
        found = [node for node in self.by_name.get(name, []) if package in {None, node.package}]
        if version is not None:
            found = [node for node in found if node.version == version]
        elif any(node.base == name for node in found):
            found = [node for node in found if node.is_latest or node.name == name] or found
        # As dbt looks: the project's own first, whichever package asks.
        found.sort(key=lambda node: (bool(node.disabled), node.package != self.session.root, node.package != node_package))
        return found[0] if found else None

    def _resolve(self) -> None:
        for node in self.found.nodes:
            if not node.live:
                self._resolve_proposal(node)
            if not node.live or node.rendering is None or node.kind == "seed":
                continue
            marks = self._marks(node, node.rendering)
            if marks is None:
                continue
            for mark, line in names.in_comment(node.text, marks):
                name = (node.rendering.refs.get(mark) or (None, ".".join(node.rendering.sources.get(mark, ("?",))), None))[1]
                at = next(
                    (
                        number
                        for number, text in enumerate(node.file.text.splitlines(), 1)
                        if "{{" in text and name.rsplit(".", 1)[-1] in text and ("--" in text or "*" in text)
                    ),
                    line,
                )
                node.notes.append(
                    f"line {at}: `{name}` is referred to in an SQL comment, which dbt executes; write the comment as {{# … #}}"
                )
            self._not_taken(node, node.rendering)
            literal = names.in_literal(node.text, marks)
            if literal is not None:
                said = (node.rendering.refs.get(literal) or (None, ".".join(node.rendering.sources.get(literal, ())), None))[1]
                why = f"the name of `{said}` is used as a text: dbt's has its database in it"
                node.refuse("D805", why, "write the text that is meant", _line_of(node, said.rsplit(".", 1)[-1]))
                continue
            if node.config.get("incremental_strategy") == "microbatch":
                marks = self._batched(node, node.rendering, marks)
            node.text = names.resolved(node.text, marks, self.qualified)
            if node.proposal is not None:
                node.proposal = replace(node.proposal, query=node.text)

    def _resolve_proposal(self, node: Node) -> None:
        """Names for the marks of what is shown and not written; without them there is nothing to propose."""
        if node.proposal is None or node.disabled:
            return
        rendering = node.proposal.rendering
        marks = self._marks(node, rendering)
        if marks is not None and node.config.get("incremental_strategy") == "microbatch":
            marks = self._batched(node, rendering, marks)
        if marks is None or node.proposal is None:
            node.proposal = None
        else:
            node.proposal = replace(node.proposal, query=names.resolved(node.proposal.query, marks, self.qualified))

    def _not_taken(self, node: Node, rendering: Rendering) -> None:
        """Say what the branches refer to that the frozen values do not take; no other branch could be taken later."""
        tree = node.tree if node.tree is not None else node.body.tree if node.body is not None else None
        if tree is None:
            return
        taken = {name for _, name, _ in rendering.refs.values()} | {".".join(each) for each in rendering.sources.values()}
        called = [
            macro
            for name in sorted(rendering.macros)
            for macro in [self.session.macros.get(name.split(".")[0], {}).get(name.split(".", 1)[1])]
        ]
        found = [(call, f"line {call.line}") for call in calls(tree)]
        found += [(call, f"{macro.path}:{call.line}") for macro in called if macro is not None for call in calls(macro.tree)]
        for call, place in found:
            if call.path not in {("ref",), ("source",)} or not call.arguments or not all(isinstance(each, str) for each in call.arguments):
                continue
            if (call.arguments[-1] if call.path == ("ref",) else ".".join(call.arguments)) in taken:
                continue
            target = self.target(node.package, (None, call.arguments[-1], None)) if call.path == ("ref",) else None
            there = (target is not None and not target.disabled) if call.path == ("ref",) else call.arguments in self.sources
            node.notes.append(
                f"{place}: `{'.'.join(call.arguments)}` is referred to in a branch that was not taken; "
                + ("with these values it is never read" if there else "nothing that is enabled is called so, and nothing reads it")
            )

    def _marks(self, node: Node, rendering: Rendering) -> dict[str, str] | None:
        marks: dict[str, str] = {}
        for mark, reference in rendering.refs.items():
            target = self.target(node.package, reference)
            said = ".".join(part for part in reference[:2] if part)
            line = _line_of(node, reference[1])
            if target is None:
                near = did_you_mean(reference[1], self.by_name, "see to its spelling, or install its package with `dbt deps`")
                commented = (
                    " (an SQL comment does not hide it: dbt executes it)"
                    if any(mark == each for each, _ in names.in_comment(node.text, [mark]))
                    else ""
                )
                node.refuse("D807", f"nothing is called `{said}`{commented}", near, line)
                return None
            if target.disabled:
                node.refuse("D807", f"`{said}` is disabled, {target.disabled}", "enable it, or take the reference out", line)
                return None
            if target is not node:
                node.parents.add(target.into)
            marks[mark] = names.quoted(target.into)
        for mark, (source, name) in rendering.sources.items():
            found = self.source(node.package, (source, name))
            line = _line_of(node, name)
            if found is None:
                every = [f"{one}.{two}" for one, two in self.sources]
                node.refuse(
                    "D807",
                    f"no source is called `{source}.{name}`",
                    did_you_mean(f"{source}.{name}", every, "declare it under sources:"),
                    line,
                )
                return None
            if found.problem is not None or found.disabled:
                why = found.problem.why if found.problem is not None else f"disabled {found.disabled}"
                node.refuse("D808", f"source `{source}.{name}` is not there: {why}", "see to the source first", line)
                return None
            marks[mark] = found.text
            found.readers.add(node.into)
        return marks

    def qualified(self, name: str) -> str:
        """A bare name with its schema."""
        node = next((node for node in self.found.nodes if node.into and names.quoted(node.into) == name and not node.disabled), None)
        return name if node is None else f"{names.quoted(self.schema(node))}.{name}"

    def _batched(self, node: Node, rendering: Rendering, marks: dict[str, str]) -> dict[str, str]:
        """The inputs of a microbatch model begin where it begins, as dbt's do."""
        timed = []
        for mark, reference in rendering.refs.items():
            target = self.target(node.package, reference)
            if target is not None and target.config.get("event_time"):
                timed.append((mark, str(target.config["event_time"])))
        for mark, key in rendering.sources.items():
            source = self.source(node.package, key)
            column = table(source.entry.get("config")).get("event_time") if source is not None else None
            if column:
                timed.append((mark, str(column)))
        if len(timed) != 1 or node.text.count(timed[0][0]) != 1:
            node.problem = node.proposal = None
            node.refuse(
                "D811",
                f"{len(timed)} of the inputs of a microbatch model have an event_time: dbt filters each by itself",
                "write the full query in a sidecar's terms",
            )
            return marks
        mark, column = timed[0]
        begin = str(node.config["begin"])
        return {**marks, mark: f"(select * from {marks[mark]} where {names.quoted(column)} >= timestamp '{begin}')"}

    def block(self) -> None:
        """Refuse what reads something refused, and so on downwards."""
        by_into = {node.into: node for node in self.found.nodes if node.into and not node.disabled}
        changed = True
        while changed:
            changed = False
            for node in self.found.nodes:
                if not node.live:
                    continue
                gone = sorted(parent for parent in node.parents if parent in by_into and not by_into[parent].live)
                if gone:
                    node.refuse(
                        "D808",
                        f"it reads {', '.join(f'`{name}`' for name in gone)}, which {'is' if len(gone) == 1 else 'are'} not converted",
                        "see to that first",
                    )
                    changed = True
        for test in self.tests:
            if test.problem is None and test.owner is not None:
                gone = sorted(name for name in test.reads | {test.owner.into} if name in by_into and not by_into[name].live)
                if gone:
                    test.refuse(
                        "D808",
                        f"{', '.join(f'`{name}`' for name in gone)} {'is' if len(gone) == 1 else 'are'} not converted",
                        "see to that first",
                    )
                    test.owner.checks = [check for check in test.owner.checks if check.get("name") not in test.keys]


def _line_of(node: Node, name: str) -> int | None:
    for number, text in enumerate(node.file.text.splitlines(), 1):
        if name in text and "{" in text:
            return number
    return node.line
