"""The rules for the library hold for each class, and a raise means: not advanced."""

from __future__ import annotations

import ast
import inspect
import types
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from tests.machines import cases, sample
from tests.machines.stand import Book, stand

from interlock.machines import evidence as evidence_module
from interlock.machines.evidence import ReceiptBody
from interlock.machines.guards import INVARIANTS
from interlock.machines.machine import RESERVED, Machine
from interlock.machines.model_run import ModelRun
from interlock.machines.publication import PUBLICATION, REGISTRY
from interlock.machines.records import Record, canonical, digest
from interlock.machines.refusals import CATALOGUE
from interlock.machines.run import Run
from interlock.machines.table import compile_table, guards_of

MACHINES = tuple(cases.STATES)
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_librarys_lax_defaults_are_off(machine: type[Machine]) -> None:
    assert machine.allow_event_without_transition is False
    assert machine.catch_errors_as_events is False
    assert machine.atomic_configuration_update is True
    assert machine.__bases__ == (Machine,)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_state_that_is_not_final_has_a_way_to_refused(machine: type[Machine]) -> None:
    table = compile_table(machine)
    assert "refused" in table.final
    for state in table.states:
        leaving = [row for row in table.rows if row.source == state]
        if state in table.final:
            assert leaving == []
        else:
            assert any("refused" in (row.target, row.fallback) for row in leaving), state


@pytest.mark.parametrize("machine", MACHINES)
def test_every_guarded_event_but_refuse_falls_back_to_refused(machine: type[Machine]) -> None:
    for row in compile_table(machine).rows:
        if row.event == "refuse":
            assert row.target == "refused"
            assert row.fallback is None
        else:
            assert row.requirement is not None, row
            assert row.fallback == "refused", row
            assert row.target != "refused", row


@pytest.mark.parametrize("machine", MACHINES)
def test_a_transition_has_one_composite_guard_and_nothing_else_hangs_on_it(machine: type[Machine]) -> None:
    for state in machine.states_map.values():
        for transition in state.transitions:
            assert len(list(transition.cond)) <= 1
            assert not list(transition.validators)
            assert transition.target is not None
            assert not transition.is_eventless
            assert not transition.internal
            assert all(condition.expected_value is True for condition in transition.cond), "`unless` hides a guard"
            for conventional in (transition.before, transition.on, transition.after):
                assert all(spec.is_convention for spec in conventional)
        assert all(spec.is_convention for spec in (*state.enter, *state.exit))
        assert not list(state.invoke) or all(spec.is_convention for spec in state.invoke)


@pytest.mark.parametrize("machine", MACHINES)
def test_guards_are_methods_and_no_callback_but_the_record_is_named_by_convention(machine: type[Machine]) -> None:
    for row in compile_table(machine).rows:
        if row.requirement is not None:
            assert isinstance(vars(machine)[row.requirement], types.FunctionType)
            assert guards_of(machine, row)
    names = [
        name for name in dir(machine) if name.startswith(("on_", "before_", "after_", "prepare_")) and callable(getattr(machine, name))
    ]
    assert names == (["on_transition", "prepare_permit"] if machine is Run else ["on_transition"])
    assert not any(inspect.iscoroutinefunction(getattr(machine, name)) for name in dir(machine) if name.startswith("may_"))


def test_no_reserved_keyword_is_ever_passed() -> None:
    tree = ast.parse((ROOT / "machines" / "machine.py").read_text(encoding="utf-8"))
    sends = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send"
    ]
    assert len(sends) == 1
    assert not RESERVED & {str(keyword.arg) for keyword in sends[0].keywords}


def test_the_library_is_imported_where_its_defaults_are_off() -> None:
    for path in [*(ROOT / "machines").rglob("*.py"), *(ROOT / "engine").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            if any(name.split(".")[0] == "statemachine" for name in names):
                assert path in (ROOT / "machines" / "machine.py", ROOT / "machines" / "flat.py")


def test_machines_import_neither_the_engine_nor_the_world() -> None:
    allowed = {"__future__", "collections", "dataclasses", "hashlib", "interlock", "msgspec", "statemachine", "typing"}
    for path in (ROOT / "machines").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            for name in names:
                assert name.split(".")[0] in allowed, (path.name, name)
                assert not name.startswith("interlock.engine"), (path.name, name)


def _mentions_bool(annotation: Any) -> bool:
    return annotation is bool or any(_mentions_bool(part) for part in get_args(annotation))


def test_evidence_has_no_bool_fields_and_is_closed() -> None:
    records = [
        each for each in vars(evidence_module).values() if isinstance(each, type) and issubclass(each, Record) and each is not Record
    ]
    assert len(records) > 40
    for record in records:
        for field, annotation in get_type_hints(record).items():
            assert not _mentions_bool(annotation), f"{record.__name__}.{field}"
        assert record.__struct_config__.frozen
        assert record.__struct_config__.forbid_unknown_fields


def test_every_kind_of_evidence_has_its_own_permanent_tag() -> None:
    tags = [each.__struct_config__.tag for each in get_args(evidence_module.Evidence)]
    assert all(isinstance(tag, str) for tag in tags)
    assert len(set(tags)) == len(tags)


def test_a_receipt_that_still_holds_the_canonical_form_is_read_and_keeps_its_id() -> None:
    old = sample.body(canonical='{"node":1}')
    data = canonical(old)
    again = msgspec.json.decode(data, type=ReceiptBody)
    assert again == old
    assert digest("receipt", canonical(again)) == digest("receipt", data)


def test_evidence_survives_the_ledger() -> None:
    for make in cases.HOLDS.values():
        one = make()
        assert msgspec.json.decode(msgspec.json.encode(one), type=evidence_module.Evidence) == one
    for each in cases.BREAKS:
        assert msgspec.json.decode(msgspec.json.encode(each.evidence), type=evidence_module.Evidence) == each.evidence


@pytest.mark.parametrize(("machine", "state", "event"), list(cases.TABLE))
def test_if_the_record_cannot_be_written_the_machine_has_not_moved(machine: type[Machine], state: str, event: str) -> None:
    book = Book()
    one = stand(machine, state, book)
    book.full = True
    with pytest.raises(OSError, match="no space left"):
        one.step(event, cases.HOLDS[machine, event]())
    assert one.state_name == state
    book.full = False
    assert one.step(event, cases.HOLDS[machine, event]()).transition.target == cases.TABLE[machine, state, event][0]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_restored_machine_stands_where_it_was_left_and_writes_nothing(machine: type[Machine]) -> None:
    final = compile_table(machine).final
    for state in cases.STATES[machine]:
        book = Book()
        one = stand(machine, state, book)
        assert one.state_name == state
        assert one.is_final == (state in final)
        assert book.lines == []


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("state", ["", "no_such_state", "Planned", "refuse"])
def test_a_state_that_the_class_does_not_have_is_not_restored(machine: type[Machine], state: str) -> None:
    with pytest.raises(ValueError, match="has no state"):
        machine("subject", Book(), state=state)


@pytest.mark.parametrize("state", ["bootstrapping", "committed"])
def test_an_attempt_is_restored_with_all_that_its_guards_need_or_not_at_all(state: str) -> None:
    pinned, commit = sample.bootstrap(), sample.found()
    with pytest.raises(ValueError, match="cannot be restored"):
        ModelRun("orders#1", Book(), state=state, anchor=sample.ANCHOR, commit=commit)
    with pytest.raises(ValueError, match="cannot be restored"):
        ModelRun("orders#1", Book(), state=state, bootstrap=pinned, commit=commit)
    with pytest.raises(ValueError, match="cannot be restored"):
        ModelRun("orders#1", Book(), state="committed", bootstrap=pinned, anchor=sample.ANCHOR)
    with pytest.raises(ValueError, match="cannot be restored"):
        Run("run-1", Book(), state="running")


def test_every_guard_has_one_name_a_known_code_and_words() -> None:
    seen: dict[str, object] = {}
    for machine in MACHINES:
        for row in compile_table(machine).rows:
            for each in guards_of(machine, row):
                assert seen.setdefault(each.name, each) is each
                assert each.code in CATALOGUE
                assert each.invariant in INVARIANTS
                assert each.says.endswith(".")
                assert each.reads
    assert {each.code for each in cases.BREAKS} <= set(CATALOGUE)


def test_every_publication_guard_can_be_found_by_the_name_in_a_ledger() -> None:
    assert {name: REGISTRY[name] for name in REGISTRY} == {each.name: each for each in PUBLICATION}
    assert set(REGISTRY) >= {
        "head_is_as_expected",
        "reads_are_as_pinned",
        "target_was_as_planned",
        "delta_is_well_formed",
        "rows_meet_contract",
        "every_check_has_a_verdict",
        "no_error_check_failed",
    }, "a name that stands in ledgers was taken away"


class Heard:
    """Something that would listen to a machine."""

    def on_transition(self) -> None:
        raise AssertionError


def test_no_machine_takes_listeners_since_its_callbacks_are_those_of_all_its_class() -> None:
    first = ModelRun("orders#1", Book())
    with pytest.raises(TypeError, match="takes no listeners"):
        first.add_listener(Heard())
    with pytest.raises(TypeError, match="takes no listeners"):
        type("Listened", (ModelRun,), {"listeners": [Heard()]})("orders#1", Book())


def test_two_machines_of_a_class_write_to_their_own_books() -> None:
    books = [Book(), Book()]
    runs = [ModelRun(f"orders#{number}", book) for number, book in enumerate(books, start=1)]
    runs[1].step("refuse", sample.refuse(cause="interrupt"))
    assert [run.state_name for run in runs] == ["planned", "refused"]
    assert [[line.subject for line in book.lines] for book in books] == [[], ["orders#2"]]
    runs[0].step("refuse", sample.refuse(cause="interrupt"))
    assert [[line.subject for line in book.lines] for book in books] == [["orders#1"], ["orders#2"]]
