"""Which model a test is a check of: the one that it is about, or the one furthest down of those that it reads."""

from __future__ import annotations

from interlock.engine.importers.dbt import checks, names
from interlock.engine.importers.dbt.checks import Test
from interlock.engine.importers.dbt.collect import Declared
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.nodes import Node
from interlock.engine.importers.dbt.objects import Relation
from interlock.engine.importers.dbt.yamls import table


class Attaching:
    """Makes checks of the tests of a conversion."""

    def __init__(self, conversion: Conversion) -> None:
        self.conversion = conversion
        self.found = conversion.found
        self.depth = _depth(conversion)
        self.children: dict[str, set[str]] = {}
        for node in self.found.nodes:
            if node.live:
                for parent in node.parents:
                    self.children.setdefault(parent, set()).add(node.into)
        self._below: dict[str, set[str]] = {}

    def run(self) -> None:
        """All tests."""
        for declared in self.found.declared:
            self._generic(declared)
        for file, test in self.found.singular:
            self.conversion.tests.append(test)
            properties = self.found.test_properties.get((test.package, test.name))
            checks.singular(self.conversion.session, test, file.text, table(None if properties is None else properties.entry))
            self._settle(test, None)

    def below(self, node: Node) -> set[str]:
        """The names of all that read a node, through others too."""
        if node.into not in self._below:
            found: set[str] = set()
            waiting = [node.into]
            while waiting:
                news = self.children.get(waiting.pop(), set()) - found
                found |= news
                waiting += sorted(news)
            self._below[node.into] = found
        return self._below[node.into]

    def _generic(self, declared: Declared) -> None:
        section, name = declared.owner
        source_name, _, table_name = name.partition(".")
        about = f"{name}.{declared.column}" if declared.column else name
        test = Test(checks.read(declared.entry)[0], declared.path, declared.line, declared.package, about, folders=tuple(declared.folders))
        self.conversion.tests.append(test)
        if section == "sources":
            source = self.conversion.source(declared.package, (source_name, table_name))
            if source is None or source.problem is not None or source.disabled:
                test.refuse("D808", f"source `{name}` is not converted", "see to the source first")
                return
            about_source = Relation(source.text, lambda: (source.schema, source.identifier))
            checks.generic(self.conversion.session, test, declared.entry, declared.column, about_source, native=False)
            self._settle(test, None, readers=source.readers, what=f"source `{name}`")
            return
        owner = self.conversion.target(declared.package, (None, name, declared.version or None))
        if owner is None:
            test.refuse("D807", f"nothing is called `{name}`", "take it out, or see to its spelling")
            return
        if owner.disabled:
            test.disabled = f"`{name}` is disabled, {owner.disabled}"
            return
        if not owner.live:
            test.refuse("D808", f"`{name}` is not converted", "see to that first")
            return
        is_ephemeral = owner.sidecar.get("materialized") == "ephemeral"
        about_owner = Relation(checks.own(owner), lambda: (self.conversion.schema(owner), owner.alias))
        checks.generic(self.conversion.session, test, declared.entry, declared.column, about_owner, native=not is_ephemeral)
        if is_ephemeral:
            readers = {
                node.into
                for node in self.found.nodes
                if node.live and owner.into in node.parents and node.sidecar.get("materialized") != "ephemeral"
            }
            self._settle(test, None, readers=readers, what=f"the ephemeral model `{name}`")
        else:
            self._settle(test, owner)

    def _settle(self, test: Test, owner: Node | None, *, readers: set[str] | None = None, what: str = "") -> None:
        """Find the model that a test is a check of, and put names for its marks."""
        if test.problem is not None or test.disabled or test.rendering is None:
            return
        marks: dict[str, str] = {}
        read: list[Node] = []
        source_readers: set[str] = set()
        for mark, reference in test.rendering.refs.items():
            target = self.conversion.target(test.package, reference)
            if target is None or target.disabled or not target.live:
                state = "nothing is called" if target is None else "it reads"
                code = "D807" if target is None else "D808"
                test.refuse(code, f"{state} `{reference[1]}`" + ("" if target is None else ", which is not converted"), "see to that first")
                return
            marks[mark] = names.quoted(target.into)
            read.append(target)
        for mark, key in test.rendering.sources.items():
            source = self.conversion.source(test.package, key)
            if source is None or source.problem is not None or source.disabled:
                test.refuse("D808", f"source `{'.'.join(key)}` is not converted", "see to the source first")
                return
            marks[mark] = source.text
            source_readers |= source.readers
        if owner is None:
            stored = [node for node in read if node.sidecar.get("materialized") != "ephemeral"]
            candidates = stored or [
                node
                for node in self.found.nodes
                if node.live
                and node.into in (readers if readers is not None else source_readers)
                and node.sidecar.get("materialized") != "ephemeral"
            ]
            # Of models that it reads, the one furthest down; of readers, the one furthest up.
            sign = -1 if stored else 1
            candidates = sorted(candidates, key=lambda node: (sign * self.depth.get(node.into, 0), node.into))
            if not candidates:
                test.refuse(
                    "D815",
                    f"no model that is converted reads {what or 'what it is about'}",
                    "write it as a check of the first model that reads it",
                )
                return
            owner = candidates[0]
            test.notes.append(f"a check of `{owner.into}`" + (", the first that reads it" if not stored else ""))
        test.owner = owner
        test.reads = {node.into for node in read}
        below = self.below(owner)
        later = sorted({node.into for node in read if node.into in below})
        taken = {str(check.get("name")) for check in owner.checks}
        for check in test.checks:
            if "sql" in check:
                check["sql"] = names.resolved(check["sql"], marks, self.conversion.qualified)
            if "relationships" in check:
                check["relationships"]["to"] = marks[check["relationships"]["to"]].replace('"', "")
            if later:
                check["after"] = "publication"
                test.notes.append(f"asked after publication: `{later[0]}` reads `{owner.into}`")
            stem, number = str(check["name"]), 1
            while check["name"] in taken:
                number += 1
                check["name"] = f"{stem}_{number}"
            taken.add(str(check["name"]))
            test.keys.append(str(check["name"]))
            owner.checks.append(check)


def _depth(conversion: Conversion) -> dict[str, int]:
    """How far below the sources each live node stands."""
    live = {node.into: node for node in conversion.found.nodes if node.live}
    found: dict[str, int] = {}
    waiting = list(live)
    while waiting:
        left = [name for name in waiting if any(parent in live and parent not in found for parent in live[name].parents)]
        for name in sorted(set(waiting) - set(left)):
            found[name] = 1 + max((found[parent] for parent in live[name].parents if parent in found), default=0)
        if len(left) == len(waiting):
            break  # a circle: the compiler says so
        waiting = left
    return found
