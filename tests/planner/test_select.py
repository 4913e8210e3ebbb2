from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.diagnostics import Refused
from interlock.engine.planner.select import Match, Node, Selected, select


def node(name: str, *parents: str, folder: str = "models", tags: tuple[str, ...] = ()) -> Node:
    return Node(name=name, path=f"{folder}/{name}.sql", tags=tags, parents=parents)


#   raw ─ stg_a ─┬─ mid ─┬─ fct ─ rep
#         stg_b ─┘       └─ dim        lone
NODES = {
    each.name: each
    for each in (
        node("raw", folder="seeds"),
        node("stg_a", "raw", folder="models/staging", tags=("staging", "daily")),
        node("stg_b", folder="models/staging", tags=("staging",)),
        node("mid", "stg_a", "stg_b", "a_source_that_is_no_node", folder="models/mid"),
        node("fct", "mid", folder="models/marts", tags=("daily",)),
        node("dim", "mid", folder="models/marts/small"),
        node("rep", "fct", folder="models/marts_old"),
        node("lone"),
    )
}
MODIFIED = frozenset({"stg_b", "dim"})


def chosen(
    terms: Sequence[str], exclude: Sequence[str] = (), modified: frozenset[str] = MODIFIED, new: frozenset[str] = frozenset({"dim"})
) -> Selected:
    return select(terms, exclude, nodes=NODES, modified=lambda: modified, new=lambda: new)


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([], "dim fct lone mid raw rep stg_a stg_b"),
        (["mid"], "mid"),
        (["+mid"], "mid raw stg_a stg_b"),
        (["mid+"], "dim fct mid rep"),
        (["+mid+"], "dim fct mid raw rep stg_a stg_b"),
        (["1+mid"], "mid stg_a stg_b"),
        (["2+mid"], "mid raw stg_a stg_b"),
        (["0+mid"], "mid"),
        (["mid+1"], "dim fct mid"),
        (["mid+0"], "mid"),
        (["1+mid+1"], "dim fct mid stg_a stg_b"),
        (["@stg_a"], "dim fct mid raw rep stg_a stg_b"),
        (["@rep"], "fct mid raw rep stg_a stg_b"),
        (["stg_*"], "stg_a stg_b"),
        (["*"], "dim fct lone mid raw rep stg_a stg_b"),
        (["stg_?+1"], "mid stg_a stg_b"),
        (["tag:daily"], "fct stg_a"),
        (["tag:d*"], "fct stg_a"),
        (["tag:daily+1"], "fct mid rep stg_a"),
        (["path:models/marts"], "dim fct"),
        (["path:./models/marts/"], "dim fct"),
        (["path:models/marts*"], "dim fct rep"),
        (["path:models/*/f*.sql"], "fct"),
        (["path:models/**/dim.sql"], "dim"),
        (["path:models/*.sql"], "lone"),
        (["path:models/lone.sql"], "lone"),
        (["models/staging"], "stg_a stg_b"),
        (["+path:models/mid"], "mid raw stg_a stg_b"),
        (["state:modified"], "dim stg_b"),
        (["state:new"], "dim"),
        (["state:modified+"], "dim fct mid rep stg_b"),
        (["1+state:new"], "dim mid"),
        (["raw lone"], "lone raw"),
        (["raw", "lone"], "lone raw"),
        (["tag:daily,tag:staging"], "stg_a"),
        (["+fct,path:models/staging lone"], "lone stg_a stg_b"),
        (["tag:daily,state:modified+"], "fct"),
    ],
)
def test_a_selector_means_what_dbt_users_expect(terms: list[str], names: str) -> None:
    assert chosen(terms).names == tuple(names.split())


@pytest.mark.parametrize(
    ("terms", "exclude", "names"),
    [
        (["+fct"], ["stg_*"], "fct mid raw"),
        ([], ["mid+", "raw"], "lone stg_a stg_b"),
        ([], ["tag:daily,tag:staging"], "dim fct lone mid raw rep stg_b"),
        (["lone"], ["state:new"], "lone"),
    ],
)
def test_what_is_excluded_is_taken_out_last(terms: list[str], exclude: list[str], names: str) -> None:
    assert chosen(terms, exclude).names == tuple(names.split())


@pytest.mark.parametrize(
    ("terms", "exclude", "remedy"),
    [
        (["fcts"], [], "did you mean `fct`?"),
        (["+stg_c+"], [], "did you mean `stg_b`?"),
        (["Raw"], [], "did you mean `raw`?"),
        (["zzzzzz"], [], "there are 8 models and seeds; see `interlock ls`"),
        (["x_*"], [], ""),
        (["tag:dayly"], [], "did you mean `daily`?"),
        (["path:models/stagin"], [], "did you mean `models/staging`?"),
        (["path:models/mart"], [], "did you mean `models/marts`?"),
        ([], ["fcts"], "did you mean `fct`?"),
        (["raw", "fcts"], [], "did you mean `fct`?"),
        (["raw,fcts"], [], "did you mean `fct`?"),
        (["raw,lone"], [], ""),
        (["raw"], ["raw"], ""),
        ([], ["*"], ""),
    ],
)
def test_what_matches_nothing_is_refused(terms: list[str], exclude: list[str], remedy: str) -> None:
    with pytest.raises(Refused) as caught:
        chosen(terms, exclude)
    (finding,) = caught.value.findings
    assert finding.code == "S114"
    assert finding.because
    assert finding.remedy.startswith(remedy)


def test_every_term_that_matches_nothing_is_named() -> None:
    with pytest.raises(Refused) as caught:
        chosen(["fcts tag:x", "lone"], ["midd"])
    assert [finding.summary for finding in caught.value.findings] == [
        "`fcts` matches nothing",
        "`tag:x` matches nothing",
        "`midd` matches nothing",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        ",",
        "a,,b",
        "raw,",
        "++mid",
        "mid++",
        "@mid+",
        "+@mid",
        "2mid+x",
        "tag:",
        "path:",
        "state:",
        "state:old",
        "tagg:x",
        "source:x",
        "+",
        "@",
        "1+2+mid",
    ],
)
@pytest.mark.parametrize("excluded", [False, True])
def test_what_is_no_selector_is_refused(text: str, excluded: bool) -> None:
    with pytest.raises(Refused) as caught:
        chosen([] if excluded else [text], [text] if excluded else [])
    assert "S115" in {finding.code for finding in caught.value.findings}


@pytest.mark.parametrize(
    "terms", [["state:modified"], ["state:modified+"], ["state:new,tag:daily"], ["@state:modified"], ["state:modified state:new"]]
)
def test_nothing_modified_is_an_answer_and_no_mistake(terms: list[str]) -> None:
    found = chosen(terms, modified=frozenset(), new=frozenset())
    assert (found.names, found.empty_because_state) == ((), True)


def test_a_selection_with_something_in_it_is_not_empty_for_its_state() -> None:
    assert not chosen(["state:modified lone"], modified=frozenset()).empty_because_state
    assert not chosen([]).empty_because_state


def test_states_are_asked_only_if_they_are_named_and_once() -> None:
    asked: list[str] = []

    def modified() -> frozenset[str]:
        asked.append("modified")
        return MODIFIED

    select(["raw"], [], nodes=NODES, modified=modified)
    assert asked == []
    select(["state:modified state:modified+"], ["lone,state:modified+"], nodes=NODES, modified=modified)
    assert asked == ["modified"]


def test_each_term_says_how_many_it_matched_and_reached() -> None:
    found = chosen(["stg_*+1 lone"], ["raw"])
    assert found.because == (Match(term="stg_*+1", matched=2, reached=3), Match(term="lone", matched=1, reached=1))
    assert found.excluded == (Match(term="raw", matched=1, reached=1),)


def test_an_unknown_state_of_a_model_that_is_gone_does_no_harm() -> None:
    assert chosen(["state:modified"], modified=frozenset({"gone", "mid"})).names == ("mid",)


def test_a_long_chain_is_walked_without_recursion() -> None:
    nodes = {f"m{index}": node(f"m{index}", *([f"m{index - 1}"] if index else [])) for index in range(5000)}
    assert len(select(["+m4999"], [], nodes=nodes, modified=frozenset).names) == 5000
    assert len(select(["m0+10"], [], nodes=nodes, modified=frozenset).names) == 11


GRAPHS = st.integers(1, 7).flatmap(
    lambda size: st.lists(st.sets(st.integers(0, size - 1)), min_size=size, max_size=size).map(
        lambda edges: {f"m{i}": node(f"m{i}", *(f"m{j}" for j in sorted(parents) if j < i)) for i, parents in enumerate(edges)}
    )
)


@given(GRAPHS, st.integers(0, 6), st.integers(0, 4))
def test_up_and_down_are_mirror_images(nodes: dict[str, Node], start: int, depth: int) -> None:
    one = f"m{start % len(nodes)}"
    for suffix in ("", str(depth)):
        above = select([f"{suffix}+{one}"], [], nodes=nodes, modified=frozenset).names
        for name in nodes:
            assert (one in select([f"{name}+{suffix}"], [], nodes=nodes, modified=frozenset).names) == (name in above)


@given(GRAPHS, st.permutations(["m0", "+m0", "m0+", "m*"]))
def test_the_order_of_terms_does_not_matter(nodes: dict[str, Node], terms: list[str]) -> None:
    assert (
        select(terms, [], nodes=nodes, modified=frozenset).names
        == select([" ".join(sorted(terms))], [], nodes=nodes, modified=frozenset).names
    )
