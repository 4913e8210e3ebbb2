"""Drawings say what the machine, the run or the project is, in every format; what they are given stays a name."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.engine.cases.drawing import changed_since
from interlock.engine.diagrams.difference import difference_of, page_of, read_page
from interlock.engine.diagrams.drawing import Drawing, Node, Taken, machine_drawing, models_drawing, path_drawing
from interlock.engine.diagrams.formats import dot_of, json_of, mermaid_of, text_of_drawing
from interlock.engine.diagrams.layout import layered, layers_of
from interlock.engine.diagrams.markdown import MACHINES, markdown
from interlock.engine.diagrams.svg import svg_of
from interlock.machines.machine import Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.table import compile_table

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
TABLE = compile_table(ModelRun)
REFUSED = (
    Taken(event="verify", source="planned", target="verified"),
    Taken(event="bootstrap", source="verified", target="bootstrapping"),
    Taken(event="commit", source="bootstrapping", target="refused", against=("no_error_check_failed [G527] one row",)),
)
HOSTILE = ("<script>", 'a"b', "x\\", "a-->b", "]]", "é", "end", "a;b", "a\nb")


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own


@pytest.mark.parametrize("machine", MACHINES)
def test_every_state_and_event_is_in_every_format(machine: type[Machine]) -> None:
    table = compile_table(machine)
    drawing = machine_drawing(table)
    for text in (mermaid_of(drawing), dot_of(drawing), svg_of(drawing), text_of_drawing(drawing), markdown(machine)):
        assert all(state in text for state in table.states)
        assert all(row.event in text for row in table.rows)


def test_a_refused_way_is_numbered_and_names_the_guard() -> None:
    drawing = path_drawing(TABLE, REFUSED, "sales#1")
    looks = {node.id: node.look for node in drawing.nodes}
    assert (looks["planned"], looks["bootstrapping"], looks["refused"], looks["committed"]) == ("visited", "visited", "refused", "faint")
    labels = {(edge.source, edge.target): edge.label for edge in drawing.edges}
    assert labels["bootstrapping", "refused"] == "3. commit"
    assert labels["bootstrapping", "committed"] == ""
    for text in (svg_of(drawing), text_of_drawing(drawing)):
        assert "no_error_check_failed [G527] one row" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_s_name_stays_a_name(name: str) -> None:
    drawing = models_drawing("p", [Node(id=name, label=name), Node(id="b", label="b")], [(name, "b")])
    assert name.replace("\n", " ") in [text.replace("\n", " ") for text in texts(svg_of(drawing))]
    assert json.loads(json_of(drawing))["edges"] == [{"from": name, "to": "b"}]
    assert len(mermaid_of(drawing).splitlines()) == 4
    assert dot_of(drawing).count("\n") == 7
    unquoted = dot_of(drawing).replace("\\\\", "").replace('\\"', "")
    assert unquoted.count('"') % 2 == 0


def page_before(**change: object) -> str:
    rows = tuple(replace(row, **change) if (row.source, row.event) == ("bootstrapping", "commit") else row for row in TABLE.rows)
    return difference_of("ModelRun", replace(page_of(TABLE), rows=page_of(replace(TABLE, rows=rows)).rows), page_of(TABLE), "main")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_generated_page_is_read_back_as_the_machine_that_it_is_of(machine: type[Machine]) -> None:
    assert read_page(markdown(machine)) == page_of(compile_table(machine))


def test_a_change_is_told_with_both_tables_and_a_diagram() -> None:
    text = page_before(target="checkpointed", guards=("another_guard",))
    assert "- `commit` from bootstrapping leads to committed, and led to checkpointed" in text
    assert "no longer asks `another_guard`" in text
    assert "asks `receipt_is_durable` now" in text
    assert "## Before" in text and "## After" in text and "```mermaid" in text  # noqa: PT018 - one claim
    assert "no change" in difference_of("ModelRun", page_of(TABLE), page_of(TABLE), "main")


def test_a_state_of_the_repository_is_compared_through_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    assert "ModelRun" in changed_since("ModelRun", "HEAD", ROOT)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40))
def test_no_two_boxes_overlap_and_arrows_lead_forwards(pairs: list[tuple[int, int]]) -> None:
    ids = [f"n{number}" for number in range(15)]
    edges = [(f"n{low}", f"n{high}") for low, high in pairs]
    widths = dict.fromkeys(ids, 60.0)
    found = layered(ids, edges, widths=widths, row_height=40.0, gap=50.0)
    for (_, (ax, ay)), (_, (bx, by)) in itertools.combinations(found.nodes.items(), 2):
        assert abs(ax - bx) >= 60.0 or abs(ay - by) >= 39.9
    assert all(0 <= x <= found.width and 0 <= y <= found.height for x, y in found.nodes.values())
    acyclic = [(f"n{low}", f"n{high}") for low, high in pairs if low < high]
    layers = layers_of(ids, acyclic)
    assert all(layers[source] < layers[target] for source, target in acyclic)


def test_two_thousand_models_are_laid_out() -> None:
    nodes = [Node(id=f"m{number}", label=f"model {number}") for number in range(2000)]
    reads = [(f"m{each}", f"m{number}") for number in range(2000) for each in {number // 3, number - 40} if 0 <= each < number]
    drawing = Drawing(title="large", nodes=tuple(nodes), edges=models_drawing("", nodes, reads).edges, kind="models")
    assert len(texts(svg_of(drawing))) == 2000
