"""What a project says of itself: variables, environment, macros, hooks."""

from __future__ import annotations

from interlock.engine.importers.dbt.configs import listed
from interlock.engine.importers.dbt.convert import Conversion
from interlock.engine.importers.dbt.items import Item, Status
from interlock.engine.importers.dbt.suggest import did_you_mean
from interlock.engine.importers.dbt.yamls import table


def project_items(conversion: Conversion) -> list[Item]:
    """Items of dbt_project.yml: variables, environment, macros, hooks."""
    found: list[Item] = []
    main = conversion.found.tree.packages[0]
    declared = table(main.config.get("vars"))
    flat = {**{key: value for key, value in declared.items() if not isinstance(value, dict)}, **table(declared.get(main.name))}
    for name in sorted({*map(str, flat), *conversion.session.used_variables}):
        line = declared.at(name) if name in declared else None
        if name in conversion.session.used_variables:
            value, users = conversion.session.used_variables[name]
            why = f"its value {value!r} was written in where {len(users)} file{'s' if len(users) != 1 else ''} read it"
            found.append(Item(kind="var", name=name, status="converted", path=main.path, line=line, why=why))
        else:
            near = did_you_mean(name, conversion.session.used_variables.keys() - flat.keys(), "")
            why = "nothing that was evaluated reads it"
            found.append(Item(kind="var", name=name, status="documented", path=main.path, line=line, why=why, remedy=near))
    for name, paths in sorted(conversion.session.unseen_variables.items()):
        why = "dbt reads the configuration there before it knows `vars`: the default that stands beside the variable was taken"
        found += [Item(kind="var", name=f"{name} in {path}", status="documented", path=path, why=why) for path in sorted(paths)]
    for name, paths in sorted(conversion.session.used_environment.items()):
        shown = "its value was written in" if name in conversion.session.given else "it is not set"
        status: Status = "converted" if name in conversion.session.given else "documented"
        found.append(Item(kind="env_var", name=name, status=status, path=min(paths), why=f"{shown}; read by {len(paths)} file(s)"))
    for package, macros in sorted(conversion.session.macros.items()):
        for name, macro in sorted(macros.items()):
            if package != "dbt" and macro.path not in conversion.session.broken and not name.startswith(("snapshot_", "docs_")):
                why = f"evaluated where it is called, {macro.used} times" if macro.used else "nothing that was converted calls it"
                status = "converted" if macro.used else "documented"
                if name.startswith("materialization_"):
                    found.append(
                        Item(
                            kind="macro",
                            name=f"{package}.{name}",
                            status="refused",
                            path=macro.path,
                            line=macro.line,
                            code="D810",
                            why="a materialization of its own has no counterpart",
                            remedy="use one of those that are there",
                        )
                    )
                else:
                    found.append(Item(kind="macro", name=f"{package}.{name}", status=status, path=macro.path, line=macro.line, why=why))
    for name, won in sorted(conversion.session.resolved.items()):
        found.append(Item(kind="macro", name=f"dispatch {name}", status="converted", why=f"resolved to {won}"))
    for owner in conversion.found.tree.packages:
        for key in ("on-run-start", "on-run-end"):
            line = owner.config.at(key)
            remedy = "run it outside, before or after `interlock run`"
            found += [
                Item(
                    kind="hook", name=f"{owner.name}.{key}", status="refused", path=owner.path, line=line, code="D810",
                    why=f"nothing runs before or after a run here: {str(hook).strip()[:60]}", remedy=remedy,
                )
                for hook in listed(owner.config.get(key))
                if str(hook).strip()
            ]  # fmt: skip
    return found
