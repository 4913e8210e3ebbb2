"""What a text that does not parse most likely meant: DuckDB names the word at which it stopped, and no more."""

from __future__ import annotations

from typing import Final, NamedTuple

from interlock.engine.compiler.text import Text
from interlock.engine.diagnostics import nearest
from interlock.engine.warehouse.duckdb.parser import Token

_CLAUSES: Final = (  # noqa: SIM905 - many words are read as words
    "select from where group having order limit offset union intersect except with join left right full inner"
    " cross using distinct values qualify window case when then else between partition recursive materialized"
    " lateral exclude replace filter over"
).split()
"""Words of which a slip of the pen is read as a name."""
_BEGINNINGS: Final = ("select", "with", "from", "values", "pivot", "unpivot", "(")
_RESERVED: Final = frozenset(
    (  # noqa: SIM905
        "all analyse analyze and any array as asc both case cast check collate column constraint create default"
        " deferrable desc describe distinct do else end except false fetch for foreign from group having in"
        " initially intersect into lambda lateral leading limit not null offset on only or order pivot placing"
        " primary qualify references returning select show some summarize symmetric table then to trailing true"
        " union unique unpivot using variadic when where window with"
    ).split()
)
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}


class Meant(NamedTuple):
    """Why it does not parse, and what helps. `offset`: a better place than DuckDB's."""

    because: str
    remedy: str
    offset: int | None


def meant(text: Text, message: str, offset: int | None) -> Meant:
    """What is most likely wrong with a text."""
    words = text.words
    index = None if offset is None else text.word_at(offset)
    if "unterminated" in message:
        quote = '"' if "identifier" in message else "'"
        remedy = f"close it by {quote}; inside of it a {quote} is written {quote}{quote}"
        return Meant(message, remedy, offset)
    if index is None:
        return Meant(message, "correct the statement at the mark: a model is one SELECT in DuckDB's own SQL", offset)
    word, before = words[index], words[index - 1] if index else None
    found = _slip(words, index) or _comma(words, index) or _bracket(words, index, text) or _name(word, before, words[index + 1 : index + 2])
    if found is not None:
        return found
    if index == len(words) - 1 and word.text != ")":
        return Meant(
            f"the text ends after `{word.text}`, where more is expected", f"write what follows `{word.text}`, or take it out", offset
        )
    if word.text == ")" and index == len(words) - 1 and words[0].text.lower() == "with":
        return Meant("after the last CTE its SELECT is missing", "write the SELECT that reads it", offset)
    if before is None:
        return Meant(f"no statement begins with `{word.text}`", "a model is one SELECT: begin with SELECT, WITH, FROM or VALUES", offset)
    return Meant(
        f"`{word.text}` cannot follow `{before.text}`",
        f"look at what stands before `{word.text}`: a comma, an operator or a bracket may be missing, or one too many",
        offset,
    )


def _slip(words: list[Token], index: int) -> Meant | None:
    """A keyword that is misspelt, at the place or just before it, where it was read as a name."""
    if index == 0:
        near = nearest(words[0].text, _BEGINNINGS)
        return Meant(f"no statement begins with `{words[0].text}`", f"did you mean `{near}`?", words[0].start) if near else None
    for place in (index, index - 1, index - 2):
        if place < 1 or words[place].kind == "keyword" or not words[place].text.isalpha() or words[place - 1].text in {".", "$"}:
            continue
        small = words[place].text.lower()
        near = nearest(small, _CLAUSES) if small not in _CLAUSES and len(small) > 2 else None
        if near is not None and abs(len(near) - len(small)) < 3 and near[0] == small[0]:
            why = f"`{words[place].text}` is read as a name, so that `{words[index].text}` cannot follow" if place < index else ""
            return Meant(why or f"`{words[place].text}` cannot stand here", f"did you mean `{near}`?", words[place].start)
    return None


def _comma(words: list[Token], index: int) -> Meant | None:
    word, before = words[index], words[index - 1] if index else None
    if before is not None and before.text == ",":
        return Meant(f"after a comma stands `{word.text}`", "take the comma out, or write what is missing after it", before.start)
    if word.text == ",":
        return Meant(
            f"a comma cannot follow `{before.text if before else ''}`", "take the comma out, or write what is missing before it", word.start
        )
    return None


def _bracket(words: list[Token], index: int, text: Text) -> Meant | None:
    """A bracket that is not closed before a word that ends what is in it, or one that closes nothing."""
    opened: list[Token] = []
    for word in words[: index + 1]:
        if word.text in {"(", "[", "{"}:
            opened.append(word)
        elif word.text in _PAIRS:
            if not opened:
                return Meant(f"`{word.text}` closes nothing", "take it out, or open a bracket before it", word.start)
            opened.pop()
    left = list(opened)
    for word in words[index + 1 :]:
        if word.text in {"(", "[", "{"}:
            left.append(word)
        elif word.text in _PAIRS and left:
            left.pop()
    if not opened or opened[-1] not in left:
        return None
    at = text.at(opened[-1].start)
    return Meant(
        f"`{opened[-1].text}` at {at.line}:{at.column} is not closed", f"close it before `{words[index].text}`", words[index].start
    )


def _name(word: Token, before: Token | None, after: list[Token]) -> Meant | None:
    if before is not None and word.text.lower() in _RESERVED and before.text.lower() in {"as", ".", ",", "select", "by"}:
        if after and after[0].text.lower() in {"*", "distinct"}:
            return None
        return Meant(f"`{word.text}` is a reserved word", f'as a name it is written in double quotes: "{word.text}"', word.start)
    return None
