"""What an import came to, for a person: counts, what was refused by reason, and what to do next."""

from __future__ import annotations

from collections import defaultdict

from interlock.engine.importers.dbt.items import Compared, Item
from interlock.engine.results_import import ImportResult
from interlock.engine.views.look import Look, counted, number, one_line, printable, table

SHOWN_MAX = 12
"""Places that are listed of one reason; IMPORT.md has all."""


def import_text(result: ImportResult, look: Look) -> list[str]:
    """The counts, the refusals, the comparison, and the next commands."""
    lines = [look.ink(f"imported {one_line(result.name)} into {one_line(result.directory)}", "bold")]
    lines += [f"  {one_line(said)}" for said in result.said]
    head = [look.ink(word, "bold") for word in ("", "converted", "proposed", "refused", "disabled", "documented")]
    rows = [
        [each.kind, *(number(count) for count in (each.converted, each.proposed, each.refused, each.disabled, each.documented))]
        for each in result.counts
    ]
    lines += ["", *table([head, *rows], right=frozenset(range(1, 6)))]
    for status, title in (("refused", "refused"), ("proposed", "proposed, for review")):
        lines += _reasons([item for item in result.items if item.status == status], title, look)
    lines += _compared(result.compared, look)
    return [
        *lines,
        "",
        "every item with its reason stands in IMPORT.md",
        "",
        "next:",
        *(f"  {look.ink(printable(one), 'bold')}" for one in result.next_commands),
    ]


def _reasons(items: list[Item], title: str, look: Look) -> list[str]:
    if not items:
        return []
    by_code: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_code[item.code].append(item)
    lines = ["", look.ink(f"{title}: {number(len(items))}", "bold")]
    for code, those in sorted(by_code.items()):
        for item in those[:SHOWN_MAX]:
            label = look.ink(f"[{code}]", "red" if item.status == "refused" else "yellow")
            lines.append(f"  {label} {item.kind} {one_line(item.name)}  {one_line(item.place)}: {one_line(item.why)}")
        if len(those) > SHOWN_MAX:
            lines.append(f"       … {number(len(those) - SHOWN_MAX)} more with {code}; `interlock explain {code}`")
    return lines


def _compared(compared: tuple[Compared, ...], look: Look) -> list[str]:
    if not compared:
        return []
    equal = [each for each in compared if each.outcome == "equal"]
    lines = [
        "",
        look.ink(f"beside dbt's warehouse: {counted(len(equal), 'relation')} of {number(len(compared))} equal, row for row", "bold"),
    ]
    for each in compared:
        if each.outcome == "equal":
            continue
        label = look.ink("different", "red") if each.outcome == "different" else look.ink("not compared", "yellow")
        lines.append(f"  {label}: {one_line(each.model)}: {one_line(each.because)}")
        for count, where, rows in (
            (each.only_here, "only here", each.first_only_here),
            (each.only_dbt, "only in dbt's", each.first_only_dbt),
        ):
            if count:
                cells = [["NULL" if cell is None else one_line(cell) for cell in row] for row in rows]
                lines += [f"    {number(count)} {where}", *(f"    {line}" for line in table([list(each.columns), *cells]))]
    return lines
