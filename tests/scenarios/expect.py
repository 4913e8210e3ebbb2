"""Take a step, then hold what the scenario says against the world."""

from __future__ import annotations

from tests.scenarios.scenario import Step
from tests.scenarios.stage import Rows, Said, Stage, written


def play(stage: Stage, step: Step, where: str) -> None:
    """Take one step on the stage and check all that it claims."""
    __tracebackhide__ = True
    before = {relation: stage.rows(relation, step.database) for relation in step.unchanged}
    bytes_before = stage.fingerprint() if step.writes_nothing else {}
    if step.clock is not None:
        stage.clock = step.clock
    if step.run is not None:
        heard(stage, stage.command(step), step, where)
    else:
        act(stage, step)
    if step.writes_nothing:
        assert stage.fingerprint() == bytes_before, f"{where}\nsomething was written"
    looked(stage, step, before, where)


def act(stage: Stage, step: Step) -> None:
    """What someone does between commands."""
    if step.sql is not None:
        stage.sql(step.sql, step.database)
    for path, content in (step.write or {}).items():
        stage.write(path, content)
    for path, (old, new) in (step.edit or {}).items():
        stage.edit(stage.filled(path), old, new)
    for path in step.delete or ():
        stage.remove(path)
    for origin, to in (step.move or {}).items():
        stage.copy(origin, to)
        stage.remove(origin)
    for origin, to in (step.copy or {}).items():
        stage.copy(origin, to)
    for path, count in (step.cut or {}).items():
        whole = (stage.root / path).read_bytes()
        (stage.root / path).write_bytes(whole[:-count])


def heard(stage: Stage, said: Said, step: Step, where: str) -> None:
    """What the command answered."""
    __tracebackhide__ = True
    where = f"{where}\n--- exit {said.exit}\n{brief(said)}\n{said.err}"
    if (step.fault or "").endswith(":kill"):
        assert said.exit < 0, f"{where}\nit was not killed"
        return
    assert said.exit == step.exit, f"{where}\nexit {said.exit}, not {step.exit}"
    if not step.text:
        errors = said.codes("error")
        missing, extra = set(step.codes) - errors, errors - set(step.codes) - set(step.also)
        assert not missing, f"{where}\nno {sorted(missing)} among {sorted(errors)}"
        assert not extra, f"{where}\nunexpected {sorted(extra)}"
        hints = said.codes("warning", "note")
        assert set(step.warnings) <= hints, f"{where}\nno warning {sorted(set(step.warnings) - hints)} among {sorted(hints)}"
    actions, states = said.actions, said.states
    if step.actions is not None:
        asked = {model: actions.get(model) for model in step.actions}
        assert asked == step.actions, f"{where}\nactions are {actions}"
    if step.only is not None:
        assert {model for model, action in actions.items() if action != "no_op"} == set(step.only), f"{where}\nactions are {actions}"
    if step.states is not None:
        assert {model: states.get(model) for model in step.states} == step.states, f"{where}\nstates are {states}"
    if step.outcome is not None:
        assert said.envelope.get("status") == step.outcome, where
    text = squeezed(said.out + "\n" + said.err)
    for part in step.says:
        assert squeezed(stage.filled(part)) in text, f"{where}\ndoes not say {part!r}"
    for part in step.says_not:
        assert squeezed(part) not in text, f"{where}\nsays {part!r}"


def looked(stage: Stage, step: Step, before: dict[str, Rows | None], where: str) -> None:
    """What stands in the database, and on disk."""
    __tracebackhide__ = True
    for relation, rows in before.items():
        assert stage.rows(relation, step.database) == rows, f"{where}\n{relation} changed"
    for relation, expected in step.tables.items():
        found = stage.rows(relation, step.database)
        assert found == written(expected), f"{where}\n{relation} is {found}"
    for relation, select in step.equal.items():
        found, wanted = stage.rows(relation, step.database), stage.query(select, step.database)
        assert found == wanted, f"{where}\n{relation} is {found}\nbut its independent SQL gives {wanted}"
    for relation, count in step.rows.items():
        found = stage.rows(relation, step.database)
        assert found is not None, f"{where}\n{relation} is not there"
        assert len(found) == count, f"{where}\n{relation} has {len(found)} rows, not {count}"
    for relation, columns in step.columns.items():
        described = tuple(f"{row[0]} {row[1]}" for row in stage.described(relation, step.database))
        assert described == columns, f"{where}\n{relation} has {described}"
    for relation in step.absent:
        assert relation not in stage.relations(step.database), f"{where}\n{relation} is there"
    if step.gives is not None:
        answer = stage.query(step.query or "", step.database)
        assert answer == written(step.gives), f"{where}\nthe query gives {answer}"
    for path in step.files:
        assert (stage.root / path).exists(), f"{where}\n{path} is not there"
    for path in step.no_files:
        assert not (stage.root / path).exists(), f"{where}\n{path} is there"


def squeezed(text: str) -> str:
    """Text without regard to case and white space."""
    return " ".join(text.lower().split())


def brief(said: Said) -> str:
    """What of the answer helps when a step fails."""
    if not said.envelope:
        return said.out
    lines = [
        f"{finding['code']} {finding.get('severity')}: {finding['summary']} | {finding.get('because', '')} | {finding.get('remedy', '')}"
        for finding in said.envelope.get("findings", [])
    ]
    lines += [
        f"{model['model']} {model['code']}: {model['because']} | {model['remedy']} | {model['detail']}"
        for model in said.models
        if model["code"]
    ]
    lines += [f"{item['model']} {item['refusal']}" for item in said.body.get("items", []) if item.get("refusal")]
    return "\n".join([*lines, f"actions {said.actions}", f"states {said.states}"])
