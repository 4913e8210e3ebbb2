"""What a person asks of a ledger, and what they are told: log, explain, replay at a moment, two runs, a bundle."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.audit.conftest import Command, segment_of
from tests.audit.forge import Forge, write
from tests.machines import sample

from interlock.engine.audit.bundle import WITHHELD, _body
from interlock.engine.cases.auditing import story_of
from interlock.engine.cli import main
from interlock.engine.results_audit import StoryResult
from interlock.engine.views.look import PLAIN
from interlock.engine.views.text_audit import story_text
from interlock.machines.evidence import RefuseEvidence, ScopeItem
from interlock.machines.records import canonical
from interlock.machines.refusals import CATALOGUE

GOLDEN = Path(__file__).parent / "golden"


def runs_of(books: Path, interlock: Command) -> list[str]:
    lines = interlock("audit", "log", "--project", str(books))["result"]["lines"]
    return [line["run"] for line in lines if line["event"] == "authorize"]


def test_the_log_has_a_line_for_each_transition_and_pages(books: Path, interlock: Command) -> None:
    at = ("--project", str(books))
    every = interlock("audit", "log", *at)["result"]["lines"]
    assert [line["sequence"] for line in every] == list(range(1, len(segment_of(books).read_bytes().splitlines()) + 1))
    first = interlock("audit", "log", *at, "--limit", "5")["result"]
    assert (len(first["lines"]), first["next_after"]) == (5, 5)
    rest = interlock("audit", "log", *at, "--limit", "0", "--after", "5")["result"]
    assert [*first["lines"], *rest["lines"]] == every
    assert rest["next_after"] is None


def test_a_whole_timeline_is_streamed_and_is_one_envelope_all_the_same(
    books: Path, interlock: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--project", str(books))
    streamed, paged = interlock("audit", "log", *at, "--limit", "0"), interlock("audit", "log", *at)
    assert streamed == paged
    main(["audit", "log", *at, "--limit", "0"])
    text = capsys.readouterr().out
    main(["audit", "log", *at])
    assert text == capsys.readouterr().out
    segment = segment_of(books)
    segment.write_bytes(segment.read_bytes().replace(b'"actor"', b'"actoR"', 1))
    broken = interlock("audit", "log", *at, "--limit", "0", exits=4)
    assert broken["findings"][0]["code"] == "K707"
    assert broken["result"]["lines"]


def test_the_log_is_narrowed_by_model_run_time_and_refusals(books: Path, interlock: Command) -> None:
    at = ("--project", str(books))
    runs = runs_of(books, interlock)
    of_model = interlock("audit", "log", *at, "--model", "sales")["result"]["lines"]
    assert {line["subject"].partition("#")[0] for line in of_model} == {"sales"}
    of_run = interlock("audit", "log", *at, "--run", runs[1])["result"]["lines"]
    assert {line["run"] for line in of_run} == {runs[1]}
    refused = interlock("audit", "log", *at, "--refused")["result"]["lines"]
    assert [(line["subject"], line["code"]) for line in refused] == [("sales#1", "G527"), ("by_day#1", "G561")]
    assert interlock("audit", "log", *at, "--since", "2100-01-01")["result"]["lines"] == []


def test_a_refusal_is_explained_with_evidence_bounds_and_what_was_missing(books: Path, interlock: Command) -> None:
    at = ("--project", str(books))
    for question in ("sales", "G527"):
        story = interlock("audit", "explain", question, *at)["result"]["story"]
        assert story["code"] == "G527"
        assert any("no_error_check_failed" in need for need in story["needed"])
        assert story["steps"][-1]["target"] == "refused"
        assert any("amounts_are_positive" in fact["name"] for fact in story["steps"][-1]["facts"])
        assert story["work"]["bounds"]
        assert story["work"]["statements"]


def test_a_skipped_model_names_the_one_that_was_refused(books: Path, interlock: Command) -> None:
    story = interlock("audit", "explain", "by_day", "--project", str(books))["result"]["story"]
    assert story["answer"] == "it was skipped: `sales` was refused [G527]"
    assert [(end["model"], end["code"]) for end in story["ends"]] == [("sales", "G527")]


def test_why_a_model_was_not_run_has_an_answer(books: Path, interlock: Command) -> None:
    story = interlock("audit", "explain", "stg_sales", "--project", str(books))["result"]["story"]
    assert any("had nothing to do for it" in said for said in story["said"])


def test_an_earlier_run_of_a_model_can_be_asked_for(books: Path, interlock: Command) -> None:
    runs = runs_of(books, interlock)
    story = interlock("audit", "explain", "sales", "--run", runs[1], "--project", str(books))["result"]["story"]
    assert story["answer"].startswith("it was built (append): 1 row")


def test_a_run_is_explained_with_the_end_of_each_of_its_models(books: Path, interlock: Command) -> None:
    run = runs_of(books, interlock)[2]
    story = interlock("audit", "explain", run, "--project", str(books))["result"]["story"]
    assert {end["model"]: end["state"] for end in story["ends"]} == {"sales": "refused", "by_day": "refused", "stg_sales": "no_op"}
    assert "partial" in story["answer"]


def test_what_nobody_knows_is_refused_with_where_to_look(books: Path, interlock: Command) -> None:
    for question in ("nothing", "K702", "99999"):
        answer = interlock("audit", "explain", question, "--project", str(books), exits=3)
        assert answer["findings"][0]["code"] == "S114"


@pytest.mark.parametrize("limit", ["0", "50"])
def test_a_log_of_what_nobody_knows_is_a_mistake_and_not_an_empty_answer(limit: str, books: Path, interlock: Command) -> None:
    for place in (("--project", str(books)), ("--ledger", str(segment_of(books)))):
        at = (*place, "--limit", limit)
        for asked in (("--model", "saels"), ("--run", "1999"), ("--model", "saels", "--refused")):
            told = interlock("audit", "log", *asked, *at, exits=3)["findings"][0]
            assert (told["code"], asked[1] in told["summary"]) == ("S114", True)
        for nothing_yet in (("--model", "sales", "--since", "2100-01-01"), ("--after", "99999"), ("--run", "2", "--after", "99999")):
            assert interlock("audit", "log", *nothing_yet, *at)["result"]["lines"] == []
    (books / "models" / "not_yet_run.sql").write_text("SELECT 1 AS one", encoding="utf-8")
    assert interlock("audit", "log", "--model", "not_yet_run", "--project", str(books), "--limit", limit)["result"]["lines"] == []


def test_a_run_that_is_not_there_is_what_is_told_and_not_the_model_that_is(books: Path, interlock: Command) -> None:
    at = ("--project", str(books))
    model = next(line["subject"] for line in interlock("audit", "log", *at)["result"]["lines"] if line["machine"] == "model_run")
    name = model.partition("#")[0]
    told = interlock("audit", "explain", name, "--run", "1999", *at, exits=3)["findings"][0]
    assert (told["code"], told["summary"]) == ("S114", f"`{name}` is in no run `1999`")


@pytest.mark.parametrize("command", [("report",), ("audit", "bundle", "2026")])
def test_a_file_that_cannot_be_made_says_nothing_against_the_ledger(command: tuple[str, ...], books: Path, interlock: Command) -> None:
    ran = runs_of(books, interlock)[0]
    line = [ran if word == "2026" else word for word in command]
    told = interlock(*line, "--project", str(books), "--out", str(books / "interlock.toml" / "a.zip"), exits=3)
    assert [finding["code"] for finding in told["findings"]] == ["W605"]


def test_the_state_at_a_moment_is_that_of_then(books: Path, interlock: Command) -> None:
    lines = interlock("audit", "log", "--project", str(books), "--model", "sales")["result"]["lines"]
    first = next(line for line in lines if line["target"] == "committed")
    for moment in (str(first["sequence"]), first["time"]):
        found = interlock("audit", "replay", "--at", moment, "--project", str(books))["result"]["replayed"]
        state = {model["model"]: (model["state"], model["rows"]) for model in found["models"]}
        assert state["sales"] == ("committed", None)
        assert "by_day" not in state
    end = interlock("audit", "replay", "--project", str(books))["result"]["replayed"]
    assert {model["model"]: model["rows"] for model in end["models"]} == {"stg_sales": None, "sales": 3, "by_day": 2}


def test_a_moment_of_the_timeline_is_named_as_the_timeline_shows_it(books: Path, interlock: Command) -> None:
    lines = interlock("audit", "log", "--project", str(books))["result"]["lines"]
    for line in lines:
        shown = line["time"].split(".")[0] + "Z"
        found = interlock("audit", "replay", "--at", shown, "--project", str(books))["result"]["replayed"]
        assert found["sequence"] == max(each["sequence"] for each in lines if each["time"].split(".")[0] + "Z" <= shown)


def test_a_moment_beyond_the_ledger_is_not_shown_as_if_it_were_known(books: Path, interlock: Command) -> None:
    at = ("--project", str(books))
    newest = interlock("audit", "replay", *at)["result"]["replayed"]
    told = interlock("audit", "replay", "--at", str(newest["sequence"] + 1), *at, exits=3)["findings"][0]
    assert (told["code"], told["summary"]) == ("S114", f"the ledger has no record {newest['sequence'] + 1}")
    assert told["because"] == f"its newest is record {newest['sequence']}, of {newest['last_time']}"
    later = interlock("audit", "replay", "--at", "2100-01-01", *at)["result"]["replayed"]
    assert later["stopped_at"] == f"record {newest['sequence']}, {newest['last_time']}, the newest"
    last = interlock("audit", "replay", "--at", str(newest["sequence"]), *at)["result"]["replayed"]
    assert last["sequence"] == newest["sequence"]


def test_before_the_first_record_nothing_is_said_to_hold(books: Path, interlock: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert interlock("audit", "replay", "--at", "0", "--project", str(books))["result"]["replayed"]["records"] == 0
    for moment in ("0", "2020-01-01"):
        assert main(["audit", "replay", "--at", moment, "--project", str(books)]) == 0
        said = capsys.readouterr().out
        assert "0 records, 0 runs, before the first record\n" in said
        assert said.endswith("\nno record was judged\n")


def test_two_runs_are_set_beside_each_other(books: Path, interlock: Command) -> None:
    runs = runs_of(books, interlock)
    found = interlock("audit", "replay", "--diff", runs[1], runs[2], "--project", str(books))["result"]["difference"]
    sides = {model["model"]: {side["what"]: (side["one"], side["other"]) for side in model["sides"]} for model in found["models"]}
    assert sides["sales"]["state"] == ("checkpointed", "refused")
    assert sides["sales"]["code"] == (None, "G527")
    assert main(["audit", "replay", "--diff", runs[1]]) == 2


def test_a_bundle_withholds_what_a_seeds_receipt_says_of_its_file_also_where_it_is_an_old_one() -> None:
    seed = sample.body(materialized="seed", text="id,name\n1,Ada\n", canonical="1 Ada")
    assert b"Ada" not in canonical(_body(seed))
    model = sample.body(materialized="table", text="SELECT 'Ada' AS name")
    assert _body(model).text == model.text


def test_a_bundle_replays_where_there_is_no_project_and_holds_no_rows(
    books: Path, tmp_path: Path, interlock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_of(books, interlock)
    out = tmp_path / "elsewhere" / "run.zip"
    out.parent.mkdir()
    made = interlock("audit", "bundle", runs[2], "--out", str(out), "--project", str(books))["result"]
    assert made["withheld"] == 1
    monkeypatch.chdir(out.parent)
    found = interlock("audit", "replay", "run.zip")["result"]
    assert (found["replayed"]["trust"], found["replayed"]["law"], found["withheld"]) == ("whole", "kept", 1)
    story = interlock("audit", "explain", "sales", "--ledger", "run.zip")["result"]["story"]
    assert story["work"]["statements"]
    with zipfile.ZipFile(out) as bundle:
        text = b"".join(bundle.read(name) for name in bundle.namelist()).decode()
        assert WITHHELD in text
        assert re.search(r"-40(?![0-9a-f])", text) is None, "a value of a row; a run's id may have these signs in it"
        spoilt = {name: bundle.read(name) for name in bundle.namelist()}
    spoilt["ledger.jsonl"] = spoilt["ledger.jsonl"].replace(b'"bootstrapping"', b'"bootstrappinG"', 1)
    with zipfile.ZipFile("spoilt.zip", "w") as bundle:
        for name, data in spoilt.items():
            bundle.writestr(name, data)
    interlock("audit", "replay", "spoilt.zip", exits=4)


def test_a_bundle_holds_no_cell_that_a_source_was_refused_for(books: Path, tmp_path: Path, interlock: Command) -> None:
    with (books / "sales.csv").open("a") as file:
        file.write("5,2026-03-05,73.25\n")
    at = ("--project", str(books))
    refused = interlock("run", *at, exits=3)["result"]
    assert [model["code"] for model in refused["models"] if model["model"] == "sales"] == ["G507"]
    out = tmp_path / "run.zip"
    made = interlock("audit", "bundle", refused["run"], "--out", str(out), *at)["result"]
    assert made["withheld"] >= 1
    with zipfile.ZipFile(out) as bundle:
        assert b"73.25" not in b"".join(bundle.read(name) for name in bundle.namelist())
    found = interlock("audit", "replay", str(out))["result"]["replayed"]
    assert (found["trust"], found["law"]) == ("whole", "kept")


def test_a_bundle_of_a_run_that_goes_on_with_another_s_plan_replays(tmp_path: Path, interlock: Command) -> None:
    forge = Forge()
    forge.genesis()
    first = forge.run(1, 2, refused=frozenset({0}))
    plan = f"{1:064x}"
    second = "20260309T000000-00000000000000000009"
    scope = (ScopeItem(model="m0", action="create"),)
    forge.add(
        "run", second, "authorize", "opened", sample.authorize(plan=plan, scope=scope, spent_by=(first,), continues=first), run=second
    )
    start = sample.start(relations_needed=(), relations_found=(), heads_needed=(), heads_found=())
    forge.add("run", second, "start", "authorized", start, run=second)
    forge.model(second, plan, scope[0])
    forge.close(second, scope, set())
    directory, out = write(tmp_path / "p1", forge.data), tmp_path / "run.zip"
    made = interlock("audit", "bundle", "2026030", "--ledger", str(directory), "--out", str(out))["result"]
    assert (made["run"], made["records"]) == (second, 7)
    found = interlock("audit", "replay", str(out))["result"]["replayed"]
    assert (found["trust"], found["law"], found["records"]) == ("whole", "kept", 7)


def test_a_run_is_found_by_how_it_begins_even_where_that_is_a_number(books: Path, interlock: Command) -> None:
    runs = runs_of(books, interlock)
    story = interlock("audit", "explain", runs[2][:8], "--project", str(books))["result"]["story"]
    assert (story["kind"], story["run"]) == ("run", runs[2])
    drawn = interlock("diagram", "--run", "2", "--format", "dot", "--project", str(books))["result"]["text"]
    assert "3. close" in drawn


def test_a_report_and_drawings_are_made_of_a_run_and_of_the_project(books: Path, tmp_path: Path, interlock: Command) -> None:
    at = ("--project", str(books))
    out = tmp_path / "night.html"
    made = interlock("report", "--out", str(out), *at)["result"]
    html = out.read_text(encoding="utf-8")
    assert (made["models"], made["bytes"]) == (3, len(html.encode()))
    assert "<b>remedy:</b>" in html
    assert "amounts_are_positive" in html
    assert '"name":"amount","value":"stg_sales.amount"' in html
    assert made["run"] == runs_of(books, interlock)[2]
    interlock("report", "nothing", "--out", str(out), *at, exits=3)
    interlock("report", "--out", str(tmp_path / "no" / "where.html"), *at, exits=3)
    svg = interlock("lineage", "--format", "svg", *at)["result"]["text"]
    assert svg.startswith("<svg")
    assert "sales" in svg
    way = interlock("diagram", "--run", made["run"], "--model", "sales", "--format", "txt", *at)["result"]["text"]
    assert "3. commit: no_error_check_failed [G527]" in way


def test_what_is_drawn_or_reported_from_a_broken_ledger_says_so(books: Path, tmp_path: Path, interlock: Command) -> None:
    at, out = ("--project", str(books)), tmp_path / "night.html"
    segment = segment_of(books)
    segment.write_bytes(segment.read_bytes()[:-7])
    for words in (("audit", "log"), ("report", "--out", str(out)), ("diagram", "--run", "2")):
        answer = interlock(*words, *at, exits=4)
        assert answer["status"] == "refused", words
        assert [finding["code"] for finding in answer["findings"]] == ["K707"], words
    assert "the ledger is broken at record" in out.read_text(encoding="utf-8")


def refusal(code: str, directory: Path) -> dict[str, Any]:
    """A ledger in which a model was refused with this code, and what is said of it."""
    forge = Forge()
    forge.genesis()
    forge.run(1, 1)
    lies = {"done": False}

    def with_code(entry: Any) -> Any:
        import msgspec  # noqa: PLC0415 - here alone

        if isinstance(entry.evidence, RefuseEvidence) and not lies["done"]:
            lies["done"] = True
            evidence = RefuseEvidence(
                cause="warehouse",
                code=code,
                because=f"what was seen: {CATALOGUE[code]}",
                remedy="the act that helps",
                proof=entry.evidence.proof,
            )
            return msgspec.structs.replace(entry, evidence=evidence)
        return entry

    forge.lie = with_code
    forge.run(2, 1, refused=frozenset({0}))
    write(directory, forge.data)
    return story_of(directory, code, None)


def test_every_code_that_exists_is_explained_with_its_evidence_and_remedy(tmp_path: Path) -> None:
    told = {}
    for code in CATALOGUE:
        found = refusal(code, tmp_path / code)
        lines = story_text(StoryResult(command="audit explain", **found), PLAIN)
        assert any(f"refused[{code}]" in line for line in lines), code
        assert any("remedy: the act that helps" in line for line in lines), code
        told[code] = "\n".join(lines[:6])
    golden = GOLDEN / "refusals.txt"
    if os.environ.get("INTERLOCK_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text("\n\n".join(told.values()) + "\n", encoding="utf-8")
    # A code that was added since stands in the catalogue and not yet in the golden text; what stands there is never told otherwise.
    before = golden.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    assert set(before) <= set(told.values())
