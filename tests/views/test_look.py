from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.diagnostics import Position
from interlock.engine.views.diagnostics import marked
from interlock.engine.views.look import (
    PLAIN,
    Look,
    counted,
    cut,
    duration,
    indented,
    listed,
    look_of,
    one_line,
    pad,
    printable,
    table,
    width_of,
)


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert width_of("\x1b[31mred\x1b[0m") == 3


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_a_cut_text_never_takes_more_room(text: str, width: int) -> None:
    assert width_of(cut(one_line(text), width)) <= width


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    assert not any(ord(character) < 32 and character not in "\n\t" for character in printable(text))
    assert "\n" not in one_line(text)


@given(st.text(), st.integers(min_value=0, max_value=30))
def test_padding_reaches_the_width(text: str, width: int) -> None:
    assert width_of(pad(text, width)) == max(width_of(text), width)


def test_table_leaves_out_empty_columns_and_aligns_numbers() -> None:
    assert table([("a", "", "1"), ("bbb", "", "100")], right=frozenset({2})) == ["  a      1", "  bbb  100"]


def test_durations_read_like_durations() -> None:
    assert [duration(each) for each in (0, 999, 1000, 59_949, 59_950, 61_000, 3_720_000)] == [
        "0 ms",
        "999 ms",
        "1.0 s",
        "59.9 s",
        "1 min 0 s",
        "1 min 1 s",
        "1 h 2 min",
    ]


def test_counts_and_lists() -> None:
    assert counted(1, "row") == "1 row"
    assert counted(1234, "row") == "1,234 rows"
    assert listed("abcdefghi") == "a, b, c, d, e, f, g, h, i"
    assert listed("abcdefghij") == "a, b, c, d, e, f, g, h and 2 more"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_only_on_a_terminal_and_not_under_no_color() -> None:
    assert look_of(io.StringIO(), {}).colour == "no"
    assert look_of(Terminal(), {"NO_COLOR": "1"}).colour == "no"
    assert look_of(Terminal(), {"NO_COLOR": ""}).colour == "yes"
    assert Look(colour="yes").ink("x", "red") == "\x1b[31mx\x1b[0m"
    assert PLAIN.ink("x", "red") == "x"


def test_a_dumb_terminal_is_none(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert look_of(Terminal(), {}) == PLAIN


@given(st.text(max_size=400), st.integers(min_value=1, max_value=450), st.integers(min_value=0, max_value=450))
def test_carets_stand_below_the_words_whatever_the_line_holds(line: str, column: int, length: int) -> None:
    text, carets = marked(Position(path="m.sql", line=1, column=column, length=length, excerpt=line.replace("\n", " ").replace("\r", " ")))
    assert carets.strip(" ") == "^" * carets.count("^")
    assert "^" in carets
    assert width_of(carets.split("^")[0]) <= width_of(text)


def test_of_a_long_line_the_part_around_the_carets_is_shown() -> None:
    line = "select " + "a, " * 200 + "wrong, " + "b, " * 200
    text, carets = marked(Position(path="m.sql", line=1, column=line.index("wrong") + 1, length=5, excerpt=line))
    assert len(text) < 160
    assert text[carets.index("^") : carets.rindex("^") + 1] == "wrong"


def test_a_tab_before_the_carets_is_measured_as_it_is_shown() -> None:
    text, carets = marked(Position(path="m.sql", line=1, column=3, length=1, excerpt="\t\tx\ty"))
    assert (text, carets) == ("        x    y", "        ^")


@given(
    st.lists(st.sampled_from(["a", "word", "`two words`", "日本", "x" * 30, "(`interlock run`)"]), min_size=1, max_size=40),
    st.integers(1, 120),
)
def test_prose_is_wrapped_at_words_within_the_width(words: list[str], width: int) -> None:
    lines = indented(" ".join(words), "    ", first="  why: ", width=width)
    assert " ".join(lines).split() == ["why:", *" ".join(words).split()]
    assert all(width_of(line) <= max(width, 4 + 24) or len(line.split("`")[0].split()) <= 2 for line in lines)
    assert all(line.count("`") % 2 == 0 for line in lines)


def test_without_a_terminal_nothing_is_wrapped() -> None:
    assert indented("word " * 100, "  ") == ["  " + "word " * 100]
