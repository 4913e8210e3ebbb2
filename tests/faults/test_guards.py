"""Each guard stops a run by itself: the whole product runs, and one part of it, or of the world, says what is not so.

Where a history without any lie reaches a guard, its test is elsewhere; `tests/faults/mutations.py` knows which.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.faults import world
from tests.faults.test_histories import FILES, NEWS, ended_well, ledger, rows

from interlock.engine.ledger.reader import entries
from interlock.engine.planner.facts import Facts
from interlock.engine.runner import apply, carry, planning, schedule, seal, writing
from interlock.engine.runner.bench import Attempt, Bench, Refuse
from interlock.engine.runner.planning import Planned
from interlock.engine.warehouse.duckdb.reader import DuckDBReader
from interlock.engine.warehouse.duckdb.session import DuckDBSession
from interlock.engine.warehouse.duckdb.transaction import DuckDBTransaction
from interlock.engine.warehouse.protocol import Row, Statement
from interlock.machines.evidence import (
    CloseEvidence,
    CommitEvidence,
    ContractFinding,
    Observation,
    Present,
    RolledBack,
    SealRow,
    Unreadable,
)
from interlock.machines.records import digest_of

Lie = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After a first run, with news."""
    root = tmp_path_factory.mktemp("guarded") / "shop"
    world.lay(root, FILES)
    answer = world.command(root, "run")
    assert answer.exit == 0, answer.brief
    world.lay(root, {"landing/b.csv": NEWS})
    return root


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "shop")
    return tmp_path / "shop"


def bench_of(**lies: object) -> Lie:
    def lie(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(carry, "Bench", lambda **told: Bench(**{**told, **lies}))

    return lie


def of_an_unproved_contract(patch: pytest.MonkeyPatch) -> None:
    make = apply.make_plan

    def tampered(*given: Any) -> Planned:
        planned = make(*given)
        assert planned.body is not None
        unproved = (ContractFinding(column="id", proof="unproved", because="a lie"),)
        items = tuple(structs.replace(item, contract_findings=unproved) for item in planned.body.items)
        body = structs.replace(planned.body, items=items)
        return structs.replace(planned, id=digest_of("plan", body), body=body)

    patch.setattr(apply, "make_plan", tampered)


def of_an_authority_that_refuses(patch: pytest.MonkeyPatch) -> None:
    order = apply.Order

    def told(**given: Any) -> Any:
        return order(**{**given, "authority": structs.replace(given["authority"], decision="refuse", code="")})

    patch.setattr(apply, "Order", told)


def of_a_relation_that_nobody_planned(patch: pytest.MonkeyPatch) -> None:
    stranger = Present(kind="table", token=None, columns=())
    patch.setattr(carry, "Bench", lambda **told: Bench(**{**told, "targets": dict.fromkeys(told["targets"], stranger)}))


def of_a_scheduler_that_begins_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(schedule, "_may_start", lambda *_: True)
    # The last of the plan first: what reads comes before what is read.
    patch.setattr(carry, "keys", lambda items: dict(reversed(schedule.keys(items).items())))


def answered(role: str, change: Callable[[list[Row]], list[Row]]) -> Lie:
    def lie(patch: pytest.MonkeyPatch) -> None:
        run = DuckDBTransaction.run

        def told(self: DuckDBTransaction, statement: Statement, parameters: Mapping[str, Any] | None = None) -> list[Row]:
            answer = run(self, statement, parameters)
            return change(answer) if statement.role == role else answer

        patch.setattr(DuckDBTransaction, "run", told)

    return lie


def heads_moved(model: str) -> Callable[[list[Row]], list[Row]]:
    return lambda answer: [(row[0], "0" * 64, *row[2:]) if row[0] == model else row for row in answer]


def of_a_read_that_moved(patch: pytest.MonkeyPatch) -> None:
    def moved(answer: list[Row]) -> list[Row]:
        return heads_moved("a")(answer) if any(row[0] == "b" for row in answer) else answer

    answered("read_heads", moved)(patch)


def of_a_commit_that_was_never_seen(patch: pytest.MonkeyPatch) -> None:
    publish = writing._publish
    written: dict[str, Any] = {}

    def told(at: Attempt, transaction: Any, body: Any) -> Any:
        written[at.machine.subject] = body
        return publish(at, transaction, body)

    def trusting(at: Attempt, error: object = None) -> CommitEvidence:
        return CommitEvidence(anchor=at.machine.anchor or "", receipt=RolledBack(body=written[at.machine.subject]))

    patch.setattr(writing, "_publish", told)
    patch.setattr(writing, "find", trusting)


def of_nothing_prepared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DuckDBSession, "prepare", lambda *_: None)


def of_a_model_that_has_no_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(seal, "CloseEvidence", lambda **told: CloseEvidence(**{**told, "executed": told["executed"][:-1]}))


def of_another_seal(patch: pytest.MonkeyPatch) -> None:
    seal_of = DuckDBReader.seal_of

    def told(self: DuckDBReader, project: str, run: str) -> SealRow | None:
        found = seal_of(self, project, run)
        return structs.replace(found, heads="0" * 64) if found is not None else None

    patch.setattr(DuckDBReader, "seal_of", told)


LIES: dict[str, tuple[Lie, set[str]]] = {
    "contract_is_proved": (of_an_unproved_contract, {"G502"}),
    "authority_permits": (of_an_authority_that_refuses, {"G571"}),
    "authority_is_known": (bench_of(decision="refuse"), {"G503"}),
    "upstreams_are_checkpointed": (of_a_scheduler_that_begins_too_early, {"G511"}),
    "target_is_as_planned": (of_a_relation_that_nobody_planned, {"G512"}),
    "write_is_permitted": (bench_of(permission="refused"), {"G513"}),
    "head_is_as_expected": (answered("read_heads", heads_moved("b")), {"G521"}),
    "reads_are_as_pinned": (of_a_read_that_moved, {"G522"}),
    "receipt_is_durable": (of_a_commit_that_was_never_seen, {"G531"}),
    "scope_is_as_planned": (of_a_model_that_has_no_end, {"G575"}),
    "seal_is_durable": (of_another_seal, {"G576"}),
}


def said_codes(answer: world.Answer) -> set[str]:
    """Of findings, of models, and of the run itself."""
    found = msgspec.json.decode(answer.out)
    models = (found["result"] or {}).get("models", ())
    return {model["code"] for model in models if model.get("code")} | {finding["code"] for finding in found["findings"]}


@pytest.mark.parametrize("guard", LIES)
def test_a_guard_stops_what_the_rest_of_the_product_would_let_pass(guard: str, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lie, codes = LIES[guard]
    with monkeypatch.context() as patch:
        lie(patch)
        answer = world.command(shop, "run")
    assert answer.exit not in {0, 1}, answer.brief
    assert said_codes(answer) & codes, answer.brief
    found = [verdict.guard for entry in records(shop) for verdict in entry.verdicts if verdict.holds == "no"]
    assert guard in found
    if guard not in {"receipt_is_durable", "scope_is_as_planned", "seal_is_durable"}:
        # What was refused was not written. (Those three are asked after a COMMIT.)
        assert rows(shop, "SELECT n FROM main.b") == [(3,)]


def records(root: Path) -> list[Any]:
    return [each.entry for each in entries(root / "world.duckdb.interlock" / world.PROJECT)]


def test_nothing_is_written_where_the_head_rows_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tables_and_heads_exist."""
    root = tmp_path / "new"
    world.lay(root, FILES)
    with monkeypatch.context() as patch:
        of_nothing_prepared(patch)
        answer = world.command(root, "run")
    assert answer.exit not in {0, 1}, answer.brief
    assert "G574" in said_codes(answer)
    assert world.command(root, "run").exit == 0
    world.demand_sound(root)


def test_a_head_that_does_not_say_what_its_receipt_says_is_no_checkpoint(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """checkpoint_equals_receipt. (Where a head was changed before the ledger and the warehouse are looked at, authority says so.)"""
    read = DuckDBReader.published

    def lied(self: DuckDBReader, project: str, models: Any) -> Any:
        return tuple((structs.replace(head, token="0" * 64), row) for head, row in read(self, project, models))

    with monkeypatch.context() as patch:
        patch.setattr(DuckDBReader, "published", lied)
        answer = world.command(shop, "run")
    assert answer.exit == 4, answer.brief
    refused = [entry for entry in records(shop) if entry.event == "checkpoint" and entry.target == "refused"]
    assert refused
    assert [verdict.guard for verdict in refused[0].verdicts if verdict.holds == "no"] == [
        "receipt_and_guards_agree",
        "checkpoint_equals_receipt",
    ]
    assert ledger(shop).fold.contradictions


def test_a_refusal_without_proof_leaves_the_run_open(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """proof_says_nothing_was_written."""
    failed = writing._failed

    def unproved(*given: Any) -> Refuse:
        answer = failed(*given)
        return structs.replace(answer, evidence=structs.replace(answer.evidence, proof=None))

    world.lay(shop, {"models/b.sql": "SELECT count(*) AS n, CAST('x' || count(*) AS INTEGER) AS m FROM a"})
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_failed", unproved)
        assert world.command(shop, "run").exit == 1
    (run,) = ledger(shop).fold.open.values()
    assert {each.model: each.state for each in run.attempts.values()} == {"a": "checkpointed", "b": "bootstrapping"}
    world.lay(shop, {"models/b.sql": FILES["models/b.sql"]})
    assert world.command(shop, "run").exit == 0
    ended_well(shop)


def test_a_project_with_an_error_makes_no_plan_even_if_nobody_stops_on_it(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """no_finding_is_an_error."""
    world.lay(shop, {"models/b.toml": 'materialized = "table"\nmaterialised = "view"\n'})
    monkeypatch.setattr(planning, "stop_on_errors", lambda _: None)
    answer = world.command(shop, "plan")
    assert (answer.exit, answer.codes) == (3, {"S103"}), answer.brief
    assert not list((shop / "world.duckdb.interlock").rglob("plans/*.json.tmp"))


def test_a_question_without_an_answer_makes_no_plan(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """every_observation_was_read."""
    look = planning.look_at_world

    def told(*given: Any, **named: Any) -> Facts:
        facts = look(*given, **named)
        return structs.replace(facts, observations=(Observation(question="catalog", answer=Unreadable(because="the disk did not answer")),))

    monkeypatch.setattr(planning, "look_at_world", told)
    answer = world.command(shop, "plan")
    assert (answer.exit, answer.codes) == (3, {"P425"}), answer.brief


def test_a_plan_of_another_engine_is_not_applied(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = msgspec.json.decode(world.command(shop, "plan").out)["result"]["plan"]
    monkeypatch.setattr(apply, "ENGINE", "1.4.0")
    answer = world.command(shop, "apply", plan)
    assert answer.exit == 3, answer.brief
    assert "P423" in said_codes(answer)
    assert rows(shop, "SELECT n FROM main.b") == [(3,)]
