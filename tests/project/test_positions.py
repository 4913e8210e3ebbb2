from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.project.positions import KeyPath, key_path, locate

TEXT = """\
# a [comment] = 1
top = "a # no comment"   # but this is
[project]
  id = 'x'
multi = \"\"\"
key = "not a key"
\"\"\"\"
raw = '''
[not.a.table]
'''
a.b."c d" = 1

[sources."raw.orders".columns]
id = { type = "BIGINT", nullable = false }
list = [
  1, # one
  { deep = 2 },
]
[[checks]]
unique = ["a"]
[[checks]]
sql = "select '[x]'"
[checks.row_count]
min = 1
"""


def at(path: KeyPath) -> tuple[int, int, str]:
    offset, length = locate(TEXT)[path]
    line = TEXT.count("\n", 0, offset) + 1
    return line, offset - (TEXT.rfind("\n", 0, offset) + 1) + 1, TEXT[offset : offset + length]


def test_every_key_is_found_where_it_stands() -> None:
    assert at(("top",)) == (2, 1, "top")
    assert at(("project", "id")) == (4, 3, "id")
    assert at(("project", "a", "b", "c d")) == (11, 5, '"c d"')
    assert at(("sources", "raw.orders", "columns", "id", "nullable")) == (14, 25, "nullable")
    assert at(("sources", "raw.orders", "columns", "list", 1, "deep")) == (17, 5, "deep")
    assert at(("checks", 0, "unique")) == (20, 1, "unique")
    assert at(("checks", 1, "sql")) == (22, 1, "sql")
    assert at(("checks", 1, "row_count", "min")) == (24, 1, "min")


def test_text_that_looks_like_a_key_is_none() -> None:
    assert not [path for path in locate(TEXT) if "not" in path or "key" in path]


def paths(tree: Any, above: KeyPath = ()) -> set[KeyPath]:
    found: set[KeyPath] = {above} if above else set()
    if isinstance(tree, dict):
        for key, value in tree.items():
            found |= paths(value, (*above, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found |= paths(value, (*above, index))
    return found


def test_what_is_located_is_what_the_parser_reads() -> None:
    assert set(locate(TEXT)) >= paths(tomllib.loads(TEXT))
    assert set(locate(TEXT)) == set(locate(TEXT.replace("\n", "\r\n")))


KEYS = st.sampled_from(["a", "b-1", "c.d", "e f", 'g"h', "é"])
VALUES = st.recursive(
    st.sampled_from(["1", "true", '"x = 1"', "'[y]'", '"""\nz = 2\n"""', "2024-01-01", "1.5"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[ {', '.join(items)} ]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda items: "{ " + ", ".join(f"{quoted(key)} = {value}" for key, value in items.items()) + " }"
        )
    ),
    max_leaves=6,
)


def quoted(key: str) -> str:
    return key if key.replace("-", "").isascii() and key.replace("-", "").isalnum() else '"' + key.replace('"', '\\"') + '"'


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=4))
def test_every_key_of_any_document_is_located(tables: dict[str, dict[str, str]]) -> None:
    text = "\n".join(
        f"[{quoted(table)}] # c\n" + "\n".join(f"{quoted(key)} = {value} # c" for key, value in keys.items())
        for table, keys in tables.items()
    )
    tree = tomllib.loads(text)
    located = locate(text)
    assert set(located) == paths(tree)
    for path, (offset, length) in located.items():
        last = path[-1]
        if isinstance(last, str):
            assert text[offset : offset + length] == quoted(last)


def test_a_key_path_reads_as_in_the_file() -> None:
    assert key_path(("checks", 1, "unique")) == "checks[1].unique"
    assert key_path(("sources", "raw.orders", "path")) == 'sources."raw.orders".path'
