"""What each guard and each check of the runner is good for: take it out, and a test that runs the whole product turns red.

All of them: `PYTHONPATH=.src:. python -m tests.faults.mutations` (`--share 2/5`, `--only NAME`). Each runs its tests in a copy
of the tree, which is changed in that one place. A mutation that no test notices is printed, and the command ends with 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
PARTS = ("engine", "machines", "specs", "tests", ".src", "pyproject.toml")
GUARDS = "tests/faults/test_guards.py"
LIE = f"{GUARDS}::test_a_guard_stops_what_the_rest_of_the_product_would_let_pass"
ROWS = "tests/faults/test_rows.py::test_a_row_of_the_authority_table_is_taken"
HISTORY = "tests/faults/test_histories.py::"
FAILED = 1
"""What pytest ends with where a test failed. Anything else, such as an error while collecting, proves nothing."""


class Mutation(msgspec.Struct, frozen=True):
    """One place, what stands there, what is put there, and the tests that must not pass then."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def scenario(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/scenarios/test_scenarios.py::test_scenario[{name}]" for name in names)


def holds(file: str, guard: str, *tests: str) -> Mutation:
    """The guard is content with everything."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf'def {guard}\(.*?\) -> Answer:\n    """[^"]*"""\n', text, re.DOTALL)
    assert found is not None, guard
    line = "    from interlock.machines.guards import HOLDS\n\n    return HOLDS\n"
    return Mutation(guard, file, found[0], found[0] + line, tests or (f"{LIE}[{guard}]",))


def of_runner(name: str, file: str, old: str, new: str, *tests: str) -> Mutation:
    return Mutation(name, f"engine/runner/{file}.py", old, new, tests)


MODEL, ROWS_OF, RUN, WRITE, SOURCE = (f"machines/guards_{part}.py" for part in ("model", "rows", "run", "write", "source"))

OF_GUARDS = (
    holds(MODEL, "plan_is_as_sealed", "tests/runner/test_doors.py::test_an_item_that_is_not_as_the_sealed_file_has_it_does_not_run"),
    holds(MODEL, "contract_is_proved"),
    holds(MODEL, "authority_is_known"),
    holds(MODEL, "upstreams_are_checkpointed"),
    holds(MODEL, "target_is_as_planned"),
    holds(MODEL, "write_is_permitted"),
    holds(MODEL, "checkpoint_equals_receipt", f"{GUARDS}::test_a_head_that_does_not_say_what_its_receipt_says_is_no_checkpoint"),
    holds(MODEL, "proof_says_nothing_was_written", f"{GUARDS}::test_a_refusal_without_proof_leaves_the_run_open"),
    holds(RUN, "authority_permits"),
    holds(RUN, "plan_is_current", *scenario("changed_between_plan_and_apply")),
    holds(RUN, "plan_is_unspent", *scenario("plan_is_applied_once", "plan_of_a_killed_run_is_spent")),
    holds(RUN, "tables_and_heads_exist", f"{GUARDS}::test_nothing_is_written_where_the_head_rows_are_not_there"),
    holds(RUN, "scope_is_as_planned"),
    holds(RUN, "seal_is_durable"),
    holds(RUN, "no_finding_is_an_error", f"{GUARDS}::test_a_project_with_an_error_makes_no_plan_even_if_nobody_stops_on_it"),
    holds(RUN, "every_observation_was_read", f"{GUARDS}::test_a_question_without_an_answer_makes_no_plan"),
    holds(WRITE, "head_is_as_expected"),
    holds(WRITE, "reads_are_as_pinned"),
    holds(WRITE, "target_was_as_planned", *scenario("rows_changed_in_place", "day_fix_rows_by_hand")),
    holds(WRITE, "receipt_is_durable"),
    holds(ROWS_OF, "delta_is_well_formed", *scenario("watermark_null", "merge_key_twice")),
    holds(ROWS_OF, "rows_meet_contract", *scenario("nulls_of_an_outer_join", "day_change_a_contract")),
    holds(ROWS_OF, "every_check_has_a_verdict", *scenario("checks_that_cannot_be_evaluated")),
    holds(ROWS_OF, "no_error_check_failed", *scenario("checks_gate_the_rows")),
    holds(SOURCE, "sources_are_fresh", *scenario("source_freshness")),
    holds(SOURCE, "source_promises_hold", *scenario("source_promises_are_asked")),
    holds(SOURCE, "source_cells_are_held", *scenario("file_sources_hold_their_cells")),
)

OF_STEPS = (
    Mutation(
        "no transition asks its guards",
        "machines/flat.py",
        "            if self._hanging.all(transition.cond.key, *positional, **named):",
        "            if True:",
        (f"{LIE}[contract_is_proved]", f"{LIE}[authority_permits]"),
    ),
    Mutation(
        "a machine moves before its record is written",
        "machines/flat.py",
        "        said = self._hanging.call(transition.on.key, *positional, **named)\n        target = transition.target\n        machine.current_state_value = target.value",
        "        target = transition.target\n        machine.current_state_value = target.value\n        said = self._hanging.call(transition.on.key, *positional, **named)",
        ("tests/machines/test_flat.py::test_after_a_writer_that_raised_the_same_event_is_taken",),
    ),
)

OF_AUTHORITY = (
    of_runner("a refusing row goes on", "authority", 'if finding.decision == "refuse":', "if False:", f"{ROWS}[A13]", f"{ROWS}[A3]"),
    of_runner(
        "an error is read as absent",
        "authority",
        "            trouble, helps = error.message, error.remedy\n        except",
        "            pass\n        except",
        f"{ROWS}[A4]",
    ),
    of_runner(
        "an altered receipt is read as absent",
        "authority",
        '            trouble, helps, unsound = str(error), UNSOUND, "yes"',
        "            pass",
        f"{HISTORY}test_resume_reads_no_receipt_that_was_altered_as_one_that_is_absent",
    ),
    of_runner(
        "a contradiction is not looked at",
        "heads",
        "    if fold.contradictions:\n        return",
        "    if False:\n        return",
        f"{ROWS}[A15]",
    ),
    of_runner(
        "any head may be newer",
        "heads",
        '    return "newer"\n\n\ndef _against',
        '    return "equal"\n\n\ndef _against',
        f"{HISTORY}test_a_ledger_of_before_a_run_that_was_killed_after_its_commit_is_older_than_the_warehouse",
    ),
    of_runner(
        "any head may be older",
        "heads",
        '        return "older"\n    return "newer"\n\n\ndef _against',
        '        return "equal"\n    return "newer"\n\n\ndef _against',
        f"{HISTORY}test_a_log_cut_by_its_last_bytes_after_the_checkpoint_is_an_older_warehouse",
    ),
    of_runner(
        "what a head says is not compared",
        "heads",
        "        if row is not None and any(_against(fold, row, unexpected.get(model))):\n            found",
        "        if False:\n            found",
        *scenario("head_token_changed_by_hand", "head_generation_set_back"),
    ),
    of_runner(
        "what the last seal says is not compared",
        "heads",
        "    if seal is not None and _seal_against(fold, heads, seal):\n",
        "    if False:\n",
        *scenario("last_seal_changed_by_hand"),
    ),
    of_runner(
        "the seals are not compared",
        "heads",
        "    found.add(_seal_state(fold, seal))\n",
        "",
        f"{HISTORY}test_a_ledger_that_lost_a_run_which_wrote_no_model_is_older_than_the_warehouse",
    ),
    of_runner(
        "any identity is ours",
        "authority",
        'return "ours" if (identity.ledger, identity.warehouse) == (fold.ledger, fold.warehouse) else "other"',
        'return "ours"',
        f"{ROWS}[A8]",
    ),
    of_runner(
        "any project's ledger is ours",
        "authority",
        '    if fold.genesis is not None and fold.project != project:\n        return "other"\n',
        "",
        f"{HISTORY}test_a_ledger_of_another_project_is_not_taken_for_ones_own",
    ),
    of_runner("a database that is gone is absent", "authority", '        return "gone"', '        return "absent"', f"{ROWS}[A9]"),
)

OF_WHAT_IS_BELIEVED = (
    Mutation(
        "control tables of any format are ours",
        "engine/warehouse/duckdb/reader.py",
        "        if form != FORMAT:\n",
        "        if False:\n",
        scenario("control_tables_of_another_format"),
    ),
    Mutation(
        "a machine lets go of a receipt",
        "engine/cases/acting.py",
        "    if unsound:\n        # To let go",
        "    if False:\n        # To let go",
        scenario("accept_warehouse_in_ci"),
    ),
    of_runner(
        "a source stays as it was planned",
        "writing",
        "attempt.bench.as_read(attempt.item.sources)",
        "attempt.item.sources",
        *scenario("source_that_went_back"),
    ),
    of_runner(
        "macros are those of the clock",
        "apply",
        "    place.use_macros(lambda: body.macros)\n",
        "",
        *scenario("macros_of_the_plan"),
    ),
    Mutation(
        "a protected column stays where it stood, or nowhere",
        "engine/planner/choose.py",
        "    if taken is not None:\n        return taken\n",
        "",
        scenario("protected_columns_stay_elsewhere"),
    ),
    Mutation(
        "rows at another place are other rows",
        "engine/planner/facts.py",
        ' or (action == "create" and body.kind == "table")',
        "",
        scenario("full_refresh_at_another_place"),
    ),
    Mutation(
        "fewer rows without their column are no cut",
        "machines/guards_rows.py",
        '            return "and it has no column any more that tells which"',
        '            return ""',
        scenario("another_materialization_that_shrinks"),
    ),
    Mutation(
        "fewer rows of a relation that cannot be asked are no cut",
        "machines/guards_rows.py",
        '            return "and what stood there cannot be asked, so that nothing tells which"',
        '            return ""',
        scenario("full_refresh_with_a_gap"),
    ),
    Mutation(
        "what the source lost of one day is no loss",
        "machines/guards_rows.py",
        'if shrink.definition == "same" and',
        'if shrink.definition == "neither" and',
        scenario("full_refresh_with_a_gap"),
    ),
    Mutation(
        "what is missing between the ends is not counted",
        "engine/runner/answers.py",
        'return by, int(found["rows"]), str(found["sample"] or "")',
        'return by, 0, str(found["sample"] or "")',
        scenario("full_refresh_with_a_gap"),
    ),
    Mutation(
        "a row of another type has the columns of the plan",
        "engine/warehouse/duckdb/row_type.py",
        "    return at == len(row_type)",
        "    return True",
        ("tests/warehouse/test_row_type.py",),
    ),
    Mutation(
        "a head whose receipt is gone is as one without",
        "engine/planner/observe.py",
        "        if head.receipt is not None and head.model not in bodies:\n            raise",
        "        if False:\n            raise",
        scenario("a_receipt_went_between_plan_and_apply"),
    ),
)

OF_BYSTANDERS = (
    Mutation(
        "a view behind another view reads nothing of ours",
        "engine/planner/bystanders.py",
        "        return behind(_place(model), readers)\n",
        "        pass\n",
        scenario("views_of_the_project_over_views", "views_over_views"),
    ),
    Mutation(
        "a view that was broken already is ours to mend",
        "engine/planner/bystanders.py",
        "    broken = frozenset(place_in(view) for view in foreign) - desk.bound(foreign)\n",
        "    broken: frozenset[Place] = frozenset()\n",
        scenario("views_outside_of_what_the_warehouse_has"),
    ),
    Mutation(
        "what no shadow can tell is not asked in the transaction",
        "engine/planner/statements.py",
        "    views = frame.readers.get(model.name, ())\n",
        "    views: tuple[RelationSeen, ...] = ()\n",
        scenario("views_outside_of_what_the_warehouse_has"),
    ),
    Mutation(
        "a column more breaks nobody",
        "engine/planner/bystanders.py",
        "    return choice.action in MAKES or bool(choice.add_columns)\n",
        "    return choice.action in MAKES\n",
        scenario("a_new_column_makes_a_view_ambiguous"),
    ),
    Mutation(
        "no view came before a drop",
        "engine/planner/differences.py",
        "    found += _views_since(body, now, own)\n",
        "",
        scenario("a_view_came_before_the_drop"),
    ),
)

OF_SETTLING = (
    of_runner(
        "an unread receipt is an absent one",
        "writing",
        'return InDoubt(because=f"the outcome of COMMIT is not known, and the receipt cannot be read: {unread}")',
        "return found_as(attempt, HeadRow(model=model, receipt=None, token=None, generation=None), None, error)",
        f"{HISTORY}test_receipts_that_cannot_be_read_leave_the_outcome_open_until_they_can",
    ),
    of_runner(
        "nothing is ever found",
        "writing",
        "if body is not None and body.anchor == anchor and row.receipt is not None:",
        "if False:",
        f"{HISTORY}test_a_failed_warn_check_survives_a_kill_between_commit_and_its_record",
    ),
    of_runner(
        "any receipt is ours",
        "writing",
        "if body is not None and body.anchor == anchor and row.receipt is not None:",
        "if body is not None and row.receipt is not None:",
        f"{HISTORY}test_a_log_cut_by_its_last_bytes_takes_a_write_back_that_was_not_on_record",
    ),
    of_runner(
        "a doubt is no end",
        "settle",
        "    if doubts:\n",
        "    if False:\n",
        f"{HISTORY}test_receipts_that_cannot_be_read_leave_the_outcome_open_until_they_can",
    ),
    of_runner(
        "what is open is left open",
        "apply",
        "        if sight.fold.open:\n            settled, sight = settle_open(place, sight, run_id, said)\n            demand_no_doubt(settled)\n            demand(sight, ground.target.name)\n        if saved is None:",
        "        if saved is None:",
        *scenario("killed_after_commit"),
    ),
    of_runner(
        "a doubt stops nobody",
        "apply",
        "    if not names:\n        return\n",
        "    return\n",
        f"{HISTORY}test_receipts_that_cannot_be_read_leave_the_outcome_open_until_they_can",
    ),
    of_runner(
        "the warehouse is not opened once more",
        "carry",
        "    if work.in_doubt():\n        _ask_again(order.session, work)\n",
        "",
        f"{HISTORY}test_a_warehouse_that_gives_no_answer_after_a_commit_is_opened_once_more",
    ),
)

OF_RESUMING = (
    of_runner(
        "resume does not look whether the plan holds",
        "resuming",
        "            _demand_holds(place, planned, sight, own, run)\n",
        "",
        *scenario("resume_refuses"),
    ),
    of_runner(
        "resume trusts everything",
        "resuming",
        "        sight = place.sight()\n        demand(sight, ground.target.name)\n",
        "        sight = place.sight()\n",
        f"{ROWS}[A13]",
    ),
    of_runner(
        "resume has always something to do",
        "resuming",
        "        if is_done and not any(each.is_open for each in sight.fold.runs_of(plan)):\n            raise _nothing(run)\n",
        "",
        *scenario("resume_refuses"),
    ),
    of_runner(
        "what the dead run wrote is somebody else's",
        "resuming",
        "            own[attempt.model] = heads[model].receipt\n",
        "            pass\n",
        *scenario("killed_beside_a_committed_sibling"),
        f"{HISTORY}test_a_failed_warn_check_survives_a_kill_between_commit_and_its_record",
    ),
    of_runner(
        "a resumed run does everything again", "carry", "if name not in order.done}", "}", *scenario("resume_does_the_rest_of_the_plan")
    ),
    of_runner(
        "an open target's run goes on in a protected one",
        "resuming",
        '    if target.protected and (run.authorize is None or run.authorize.review == "open"):',
        "    if False:",
        *scenario("resume_where_it_is_protected_now"),
    ),
)

OF_WRITING = (
    of_runner(
        "nobody is locked out",
        "ground",
        "        return acquire(lock_path(self.target), holder, self.wait_seconds)",
        "        import tempfile\n\n        return acquire(Path(tempfile.mkdtemp()) / 'lock', holder, self.wait_seconds)",
        *scenario("busy"),
    ),
    of_runner(
        "a plan file may say anything",
        "planning",
        '    if digest("plan", bytes(stored.body)) != stored.id or stored.id != path.stem:',
        "    if False:",
        *scenario("plan_was_altered"),
    ),
    of_runner(
        "another engine is no difference",
        "apply",
        "        engine=ENGINE,\n",
        "        engine=body.engine,\n",
        f"{GUARDS}::test_a_plan_of_another_engine_is_not_applied",
    ),
    of_runner(
        "nothing has changed since the plan",
        "apply",
        "        found = differences_now(place, planned, sight)\n        sight = _founded",
        "        found = ()\n        sight = _founded",
        *scenario("changed_between_plan_and_apply"),
    ),
    of_runner(
        "other variables are the same plan",
        "ground",
        "        if self.variables and dict(self.variables) != dict(values):",
        "        if False:",
        *scenario("variables"),
    ),
    of_runner(
        "the first write waits for no record",
        "attempt",
        "            attempt.bench.sync()\n        moved",
        "            pass\n        moved",
        "tests/runner/test_durable_order.py",
    ),
    of_runner(
        "the first write of several waits for no record",
        "together",
        "    writing[0].bench.sync()\n",
        "",
        "tests/runner/test_durable_order.py",
    ),
    Mutation(
        "an act waits for no record",
        "engine/cases/acts.py",
        "    place.ledger.sync()\n",
        "",
        ("tests/runner/test_durable_order.py",),
    ),
    Mutation(
        "receipts go without authority",
        "engine/cases/compacting.py",
        "        demand(sight, ground.target.name)\n",
        "",
        scenario("receipts_compacted"),
    ),
    of_runner(
        "a seal waits for no record",
        "seal",
        "    sync()\n    reader = session.reader()",
        "    reader = session.reader()",
        "tests/runner/test_durable_order.py",
    ),
    of_runner(
        "a seal is written twice",
        "seal",
        "    if seal is None:\n        bound",
        "    if True:\n        bound",
        f"{HISTORY}test_a_first_run_killed_between_two_of_its_steps_is_finished_once",
    ),
    of_runner(
        "the fence touches no row and nobody minds",
        "writing",
        "    if control.rows_touched(moved) != 1:",
        "    if False:",
        "tests/runner/test_doors.py",
    ),
    of_runner(
        "a plan's own refusal is passed over",
        "attempt",
        "    if item.refusal is not None:\n        refusal",
        "    if False:\n        refusal",
        *scenario("plan_with_refused_models"),
    ),
    of_runner(
        "a transient error is retried after a write",
        "writing",
        "and not _APPLIES & answers.keys()",
        "",
        f"{HISTORY}test_a_transient_error_is_retried_before_a_write_and_never_after_one",
    ),
    of_runner(
        "a transient error is retried for ever",
        "writing",
        "and tries < TRIES_MAX ",
        "",
        f"{HISTORY}test_a_transient_error_is_retried_before_a_write_and_never_after_one",
    ),
    of_runner(
        "the head moves by no checkpoint",
        "schedule",
        "            work.bench.heads[item.head_model] = attempt.row\n",
        "",
        HISTORY.removesuffix("::"),
    ),
    of_runner(
        "a refused model withholds nobody",
        "schedule",
        "            return upstream_refused(upstream, _root(work, upstream))\n",
        "            continue\n",
        *scenario("checks_gate_the_rows"),
    ),
    of_runner(
        "models begin before what they read",
        "schedule",
        '    return any(state in {"refused", "in_doubt"} for state in states) or all(state == "checkpointed" for state in states)',
        "    return True",
        *scenario("many_models_in_threads"),
        HISTORY.removesuffix("::"),
    ),
    of_runner(
        "fail-fast begins more",
        "schedule",
        "    failed = _first_failure(work) if work.fail_fast else None\n",
        "    failed = None\n",
        *scenario("fail_fast"),
    ),
    of_runner(
        "an interrupted run begins more",
        "schedule",
        "    if work.stop.is_set():\n        return RefuseEvidence(",
        "    if False:\n        return RefuseEvidence(",
        *scenario("interrupted_before_commit"),
    ),
    of_runner(
        "an unknown COMMIT of several wrote nothing",
        "together",
        '        if error.kind == "outcome_unknown":\n            return _found(attempts, error)\n        transaction.rollback()',
        "        transaction.rollback()",
        "tests/runner/test_together.py",
    ),
    of_runner(
        "an empty file beside writes is made anew",
        "ground",
        'not in ("missing", "empty")',
        '!= "missing"',
        f"{HISTORY}test_an_empty_file_that_stands_where_writes_are_on_record_is_not_removed",
        f"{HISTORY}test_a_kill_while_the_database_file_is_made_is_no_dead_end",
    ),
    of_runner(
        "a mistyped path gets a lock file",
        "door",
        '        if ground.database_state() == "missing" and not ground.directory.exists():',
        "        if False:",
        *scenario("mistyped_database"),
    ),
)

MUTATIONS = (*OF_GUARDS, *OF_STEPS, *OF_AUTHORITY, *OF_WHAT_IS_BELIEVED, *OF_BYSTANDERS, *OF_SETTLING, *OF_RESUMING, *OF_WRITING)


def play(mutation: Mutation, at: Path) -> str:
    """Run its tests in a changed copy of the tree: empty where they fail as they should, else what they came to."""
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, at / part, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / part, at / part)
    path = at / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        return f"what it replaces stands {text.count(mutation.old)} times in {mutation.file}"
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutation.tests],
        cwd=at,
        env={**os.environ, "PYTHONPATH": ".src"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return "" if done.returncode == FAILED else f"pytest ended with {done.returncode}: {done.stdout[-600:]}"


def green(mutations: Sequence[Mutation]) -> str:
    """Run their tests where nothing is changed: empty where all pass. What is red anyway notices nothing."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ".src"},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout[-2000:]


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", default="1/1", help="k/n: every n-th mutation, from the k-th on")
    parser.add_argument("--only", metavar="NAME")
    asked = parser.parse_args()
    first, every = (int(part) for part in asked.share.split("/"))
    chosen = [each for each in MUTATIONS if asked.only in (None, each.name)][first - 1 :: every]
    if (said := green(chosen)) != "":
        sys.stdout.write(f"without any mutation, these tests are not green, so nothing can be said: {said}\n")
        return 1
    unnoticed = 0
    for mutation in chosen:
        with tempfile.TemporaryDirectory() as directory:
            said = play(mutation, Path(directory))
        unnoticed += bool(said)
        sys.stdout.write(f"NOT NOTICED {mutation.name}: {said}\n" if said else f"noticed     {mutation.name}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - unnoticed} of {len(chosen)} mutations are noticed\n")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
