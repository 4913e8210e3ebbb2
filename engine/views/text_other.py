"""The smaller answers: init, compile, show, acts, compare, explain."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.engine.results import (
    ActResult,
    CompareResult,
    CompiledView,
    CompileResult,
    DoctorResult,
    ExplainResult,
    InitResult,
    ShowResult,
)
from interlock.engine.views.look import Ink, Look, counted, listed, number, one_line, printable, table
from interlock.engine.views.parts import column_list, headed, heading


def init_text(result: InitResult, look: Look) -> list[str]:
    """What was made, and how to go on."""
    lines = [f"made a project in {one_line(result.directory)}"]
    lines += [f"  {one_line(file)}" for file in result.files]
    return [*lines, "", "next:", *(f"  {look.ink(printable(command), 'bold')}" for command in result.next_commands)]


def compile_text(result: CompileResult, look: Look) -> list[str]:
    """Every model by layer, its columns and what it reads."""
    lines = headed(result, look)
    layers: dict[int, list[CompiledView]] = {}
    for model in result.models:
        layers.setdefault(model.layer, []).append(model)
    for layer in sorted(layers):
        lines += ["", look.ink(f"layer {layer}", "bold")]
        for model in layers[layer]:
            lines.append(one_line(f"  {model.model}  {model.kind}  {model.relation}  {model.path}").rstrip())
            lines.append(f"    {column_list(model.columns)}")
            reads = [*model.reads, *[f"source {source}" for source in model.sources]] if model.sources else model.reads
            if reads:
                lines.append(one_line(f"    reads {listed(reads)}"))
    return [*lines, "", f"{counted(len(result.models), 'model')} compiled; `interlock show MODEL` prints the SQL"]


def show_text(result: ShowResult, look: Look) -> list[str]:
    """The SQL as it runs, with the heading as a comment so that it can be piped on; or the rows that were asked for."""
    head = heading(result)
    if result.rows is None:
        return [*([look.ink(f"-- {head}", "dim")] if head else []), *printable_sql(result.sql)]
    names = [look.ink(one_line(column.name), "bold") for column in result.columns]
    types = [look.ink(column.type, "dim") for column in result.columns]
    right = frozenset(index for index, column in enumerate(result.columns) if _is_number(column.type))
    body = table([names, types, *_cells(result.rows)], right=right)
    return [*headed(result, look), *body, counted(len(result.rows), "row")]


def printable_sql(sql: str) -> list[str]:
    """A statement's lines; tabs stay."""
    return [printable(line) for line in sql.rstrip("\n").split("\n")]


def _is_number(type_: str) -> bool:
    return type_.upper().startswith(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "U", "DECIMAL", "DOUBLE", "FLOAT")
    ) and not type_.upper().startswith(("UUID", "UNION"))


def _cells(rows: Sequence[Sequence[str | None]]) -> list[list[str]]:
    return [["NULL" if cell is None else one_line(cell) for cell in row] for row in rows]


def act_text(result: ActResult, look: Look) -> list[str]:
    """What an act did, or would have done."""
    lines = headed(result, look)
    if result.done == "yes":
        run = f" (run {result.run})" if result.run else ""
        return [*lines, *map(printable, result.shown), f"{look.ink('done', 'green', 'bold')}: {result.act}{run}"]
    return [*lines, *map(printable, result.shown), f"{look.ink('not done', 'yellow', 'bold')}: {result.act}; nothing was changed"]


def compare_text(result: CompareResult, look: Look) -> list[str]:
    """An incremental table beside a full build of the same text."""
    lines = headed(result, look)
    lines.append(
        f"{one_line(result.model)}: {counted(result.rows_there, 'row')} there, {counted(result.rows_rebuilt, 'row')} when built as a whole"
    )
    if result.only_there == result.only_rebuilt == 0:
        return [*lines, look.ink("equal, row for row", "green", "bold")]
    for count, where, rows in (
        (result.only_there, "only in the table", result.first_only_there),
        (result.only_rebuilt, "only in the full build", result.first_only_rebuilt),
    ):
        if count:
            lines += ["", f"{number(count)} {where}", *table([list(result.columns), *_cells(rows)])]
            if len(rows) < count:
                lines.append(f"  … {number(count - len(rows))} more")
    return [*lines, "", look.ink("different", "red", "bold")]


def doctor_text(result: DoctorResult, look: Look) -> list[str]:
    """Each question and its answer; what helps stands below."""
    lines = headed(result, look)
    width = max((len(each.check) for each in result.checks), default=0)
    for each in result.checks:
        ink: Ink = "green" if each.answer == "pass" else "red" if each.answer == "fail" else "yellow"
        code = f" [{each.code}]" if each.code else ""
        lines.append(f"  {look.ink(each.answer.replace('_', ' '), ink)}  {each.check.ljust(width)}  {one_line(each.said)}{code}")
        if each.remedy:
            lines.append(f"    {look.ink('remedy:', 'green')}  {one_line(look.act(each.remedy))}")
    answers = [each.answer for each in result.checks]
    return [
        *lines,
        "",
        f"{answers.count('pass')} passed, {answers.count('fail')} failed, {answers.count('not_evaluated')} not evaluated; nothing was changed",
    ]


def explain_text(result: ExplainResult, look: Look) -> list[str]:
    """The page of a code."""
    page = result.page.strip("\n")
    lines = [printable(line) for line in page.split("\n")] if page else []
    return lines or [look.ink(f"{result.code}: {result.title}", "bold")]
