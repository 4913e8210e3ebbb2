"""The binder's refusals in words that say what is wrong, what there is, and what helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from interlock.engine.diagnostics import nearest
from interlock.engine.warehouse.duckdb.binder import NotBound

Relations: TypeAlias = Mapping[str, Sequence[str]]
"""Relations that the text names, by the name that they have in it, with their columns."""

_COLUMN: Final = re.compile(r'Referenced column "(.+?)" (?:was )?not found')
_OF_TABLE: Final = re.compile(r'(?:Values list|Table) "([^"]+)" does not have a column named "([^"]+)"')
_TABLE: Final = re.compile(r'Referenced table "([^"]+)" not found')
_AMBIGUOUS: Final = re.compile(r'Ambiguous reference to column name "([^"]+)" \(use: (.+)\)')
_FUNCTION: Final = re.compile(
    r"(?:Scalar |Aggregate |Table |Window )?(?:Function|Macro)(?: with name)? (\S+) (?:does not exist|is not in the catalog)", re.IGNORECASE
)
_ARGUMENTS: Final = re.compile(r"No function matches the given name and argument types '(\w+|[^'(]+)\((.*?)\)'")
_TYPE: Final = re.compile(r"Type with name (\S+) does not exist")
_GROUPED: Final = re.compile(r'column "([^"]+)" must appear in the GROUP BY clause')
_CAST: Final = re.compile(r"Cannot (?:compare|mix) values of type (.+?) and (?:type )?(.+?)(?: - | in |$)")
_ARROW: Final = re.compile(r"[Dd]eprecated lambda arrow")
_CANDIDATES_MAX: Final = 3
_COLUMNS_MAX: Final = 12


class Words(NamedTuple):
    """What a finding says."""

    summary: str
    because: str
    remedy: str
    length: int
    """Bytes to mark, where they are others than the binder's."""


def explained(found: NotBound, relations: Relations, *, alone: bool) -> Words:
    """Words for a refusal.

    Args:
        found: what the binder says.
        relations: that the text reads, where it is sure that a name can mean nothing else; none where there are CTEs or subqueries.
        alone: there is one relation.
    """
    for pattern, words in _WORDS:
        match = pattern.search(found.message)
        if match is not None:
            return words(match, found, relations, alone)
    summary, _, rest = found.message.partition("\n")
    near = ", ".join(f"`{name}`" for name in found.candidates)
    because = f"what is near: {near}" if near else rest.strip() or "DuckDB's binder does not take it"
    like = next((name for name in found.candidates if _alike(found.name, name)), None)
    remedy = f"did you mean `{like}`?" if like else _by_kind(summary, found)
    return Words(summary.rstrip("!."), because, remedy, 0)


def _by_kind(summary: str, found: NotBound) -> str:
    small = summary.lower()
    if "where clause cannot contain aggregate" in small:
        return "put it into HAVING, or into a SELECT around this one"
    if "window" in small and ("where" in small or "having" in small or "cannot contain" in small):
        return "put it into QUALIFY, or into a SELECT around this one"
    if "cast" in small or "convert" in small or "type" in small:
        return "cast one side: `CAST(… AS TYPE)`, or TRY_CAST where a value that does not fit shall be null"
    if "same number of result columns" in small:
        return "give both sides the same columns, or write BY NAME"
    where = "change it at the mark" if found.offset is not None else "change what this names"
    return f"{where}; `interlock explain L201` says what is bound and how"


def _column(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001 - one of a table
    name = match[1]
    there = [column for columns in relations.values() for column in columns]
    where = next(iter(relations)) if len(relations) == 1 and alone else ""
    summary = f"column `{name}` does not exist in `{where}`" if where else f"no relation that is read here has a column `{name}`"
    listed = [f"`{relation}` has {_listed(columns)}" for relation, columns in relations.items()][:_CANDIDATES_MAX]
    near = [each.rpartition(".")[2].strip('"') for each in found.candidates]
    like = _like(name, [*there, *near])
    because = "; ".join(listed) if listed else f"what is near: {', '.join(f'`{each}`' for each in near)}" if near else "there is none"
    return Words(summary, because, f"did you mean `{like}`?" if like else "name a column that is there, or select it upstream", 0)


def _of_table(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del alone
    relation, name = match[1], match[2]
    columns = next((there for each, there in relations.items() if each.lower() == relation.lower()), ())
    near = [each.rpartition(".")[2].strip('"') for each in found.candidates]
    like = _like(name, columns or near)
    because = f"it has {_listed(columns)}" if columns else f"what is near: {', '.join(near)}" if near else "it has others"
    return Words(f"`{relation}` has no column `{name}`", because, f"did you mean `{like}`?" if like else "name one of these", 0)


def _table(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del alone
    name = match[1]
    there = [*dict.fromkeys([*(each.strip('"') for each in found.candidates), *relations])]
    like = _like(name, there)
    remedy = f"did you mean `{like}`?" if like else f"write `{there[0]}.…`" if len(there) == 1 else "name one that stands in FROM"
    return Words(f"`{name}` is no relation of this FROM", f"there is {', '.join(f'`{each}`' for each in there) or 'none'}", remedy, 0)


def _ambiguous(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del found, relations, alone
    name = match[1]
    uses = [part.strip().strip("'\"") for part in re.split(r"\bor\b|,", match[2]) if part.strip()]
    holders = [f"`{use.rpartition('.')[0]}`" for use in uses]
    because = f"{' and '.join(holders)} have one" if len(uses) > 1 else "several relations have one"
    return Words(f"`{name}` may be a column of several relations", because, f"write {' or '.join(f'`{use}`' for use in uses)}", 0)


def _function(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del relations, alone
    name = match[1].strip('"')
    near = [each.rpartition(".")[2].strip('"') for each in found.candidates]
    like = _like(name, near)
    remedy = f"did you mean `{like}`?" if like else f"correct its name, or say what it is in macros/: `CREATE MACRO {name}(…) AS …`"
    because = f"what is near: {', '.join(f'`{each}`' for each in near[:_CANDIDATES_MAX])}" if near else "DuckDB has none of that name"
    return Words(f"there is no function `{name}`", because, remedy, len(name.encode()))


def _arguments(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del relations, alone
    name, kinds = match[1], match[2].replace("_LITERAL", "")
    given = {kind.strip() for kind in kinds.split(",")}
    forms = [_form(line, name) for line in found.message.splitlines()[1:] if "->" in line]
    forms.sort(key=lambda form: -len(given & set(re.split(r"[(), ]{1,2}(?=[A-Z(])|, |\)", form))))
    more = f" and {len(forms) - _CANDIDATES_MAX} more" if len(forms) > _CANDIDATES_MAX else ""
    because = f"there is {'; '.join(forms[:_CANDIDATES_MAX])}{more}" if forms else "no form of it takes these types"
    operator = not name[:1].isalpha()
    summary = f"`{name}` is not there for {kinds.replace(', ', ' and ')}" if operator else f"no `{name}` takes ({kinds})"
    length = len(name.encode())
    return Words(summary, because, "cast what it is given: `CAST(… AS TYPE)`", length)


def _form(line: str, name: str) -> str:
    """A form of a function: types in brackets, then what it gives."""
    head, _, rest = line.strip().partition("(")
    inner, _, gives = rest.rpartition(") -> ")
    kinds = [re.sub(r'^(?:"[^"]+"|[a-z_]\w*) ', "", part.strip()) for part in inner.split(",") if part.strip() not in {"/", ""}]
    return f"{name}({', '.join(kinds)}) -> {gives}" if head.strip('"') == name else line.strip()


def _type(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del relations, alone
    name = match[1].strip('"!')
    near = [each.rpartition(".")[2].strip('"') for each in found.candidates]
    like = _like(name, [*near, *_TYPES])
    remedy = f"did you mean `{like}`?" if like else "write a type of DuckDB, such as `BIGINT` or `DECIMAL(18,2)`"
    return Words(f"there is no type `{name}`", "DuckDB has none of that name", remedy, 0)


def _grouped(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del found, relations, alone
    name = match[1]
    return Words(
        f"`{name}` is neither grouped by nor in an aggregate",
        "beside an aggregate each row is a group, in which it may have several values",
        f"add it to GROUP BY (or write GROUP BY ALL), or say which value: `max({name})`",
        0,
    )


def _mixed(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del found, relations, alone
    one, other = (part.replace("_LITERAL", "") for part in (match[1], match[2]))
    return Words(
        f"{one} and {other} cannot be used together", "DuckDB casts none of them by itself", f"cast one side: `CAST(… AS {one})`", 0
    )


def _arrow(match: re.Match[str], found: NotBound, relations: Relations, alone: bool) -> Words:  # noqa: FBT001
    del match, found, relations, alone
    because = "this release of DuckDB reads `x -> …` as an operator only"
    return Words("a lambda is written with an arrow", because, "write `lambda x: …` instead of `x -> …`", 0)


_WORDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], NotBound, Relations, bool], Words]], ...]] = (
    (_COLUMN, _column),
    (_OF_TABLE, _of_table),
    (_TABLE, _table),
    (_AMBIGUOUS, _ambiguous),
    (_FUNCTION, _function),
    (_ARGUMENTS, _arguments),
    (_TYPE, _type),
    (_GROUPED, _grouped),
    (_CAST, _mixed),
    (_ARROW, _arrow),
)
_TYPES: Final = ("INTEGER", "BIGINT", "SMALLINT", "VARCHAR", "BOOLEAN", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "UUID", "JSON", "BLOB", "HUGEINT")  # fmt: skip


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _COLUMNS_MAX} more" if len(columns) > _COLUMNS_MAX else ""
    return ", ".join(f"`{column}`" for column in columns[:_COLUMNS_MAX]) + more


def _like(name: str, names: Sequence[str]) -> str | None:
    near = nearest(name, names) or next((each for each in names if len(name) > 2 and _alike(name, each)), None)
    return near or next((each for each in names if len(name) > 2 and nearest(name, each.split("_"))), None)


def _alike(written: str, near: str) -> bool:
    """Whether a slip of the pen is likely: DuckDB names what is nearest, however far that is."""
    one, other = written.lower(), near.lower().rpartition(".")[2]
    return not one or one in other or other in one or nearest(one, [other]) is not None
