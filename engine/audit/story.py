"""Why a model, a run or a refusal ended where it did: its transitions, what each guard saw and decided, and what would have had to be true."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from interlock.engine.audit.facts import CAUSES
from interlock.engine.audit.tape import Flaw, Read
from interlock.engine.audit.timeline import model_of, reason_of
from interlock.engine.audit.told import GUARDS, End, Story, told, work_of
from interlock.engine.diagnostics import rows_in_words
from interlock.engine.planner.plan import Item, PlanBody
from interlock.machines.evidence import AuthorizeEvidence, BootstrapEvidence, CloseEvidence, CommitEvidence, Entry, Found, RefuseEvidence

Tapes: TypeAlias = Callable[[], Iterable[Read | Flaw]]
"""Makes a new pass over the ledger."""

Plans: TypeAlias = Callable[[str], "PlanBody | str"]
"""A plan by its id; in words why it cannot be had."""

RUN_LETTERS_MIN: Final = 4
"""Of a run's id, so that a short word is taken for a model."""
_CODE: Final = re.compile(r"[A-Za-z][0-9]{3}\Z")


def explain(question: str, tapes: Tapes, plans: Plans, *, run: str | None = None) -> Story | None:
    """The story of a model, a run (or how its id begins), a record (its number) or the newest refusal with a code.

    Args:
        question: what is asked about.
        tapes: makes a pass over the ledger.
        plans: gives a plan by its id.
        run: for a model, which of its runs; the newest if not given.

    Returns:
        `None` where neither ledger nor last plan knows of it.
    """
    if _CODE.match(question):
        found = _newest(tapes(), lambda entry: entry.target == "refused" and question.upper() in _codes(entry))
        return _of_record(found, tapes, plans) if found is not None else None
    if question.isascii() and question.isdecimal():
        found = _newest(tapes(), lambda entry: entry.sequence == int(question))
        if found is not None:
            return _of_record(found, tapes, plans)
    if len(question) >= RUN_LETTERS_MIN and (story := explain_run(question, tapes, plans)) is not None:
        return story
    return _of_model(question, tapes, plans, run=run)


def explain_run(question: str, tapes: Tapes, plans: Plans) -> Story | None:
    """The story of the newest run whose id begins like this."""
    opened = _newest(tapes(), lambda entry: entry.machine == "run" and entry.subject.startswith(question))
    return _of_run(opened.subject, tapes, plans) if opened is not None else None


def _codes(entry: Entry) -> set[str]:
    found = {verdict.code for verdict in entry.verdicts}
    return found | {entry.evidence.code} if isinstance(entry.evidence, RefuseEvidence) else found


def _newest(tape: Iterable[Read | Flaw], fits: Callable[[Entry], bool]) -> Entry | None:
    found = None
    for each in tape:
        if isinstance(each, Read) and fits(each.numbered.entry):
            found = each.numbered.entry
    return found


def _of_record(entry: Entry, tapes: Tapes, plans: Plans) -> Story:
    if entry.machine == "model_run":
        return _of_attempt(entry.subject, entry.run, tapes, plans)
    if entry.machine == "run":
        return _of_run(entry.subject, tapes, plans)
    return Story(
        kind="ledger", subject=entry.subject, answer=f"record {entry.sequence} is the ledger's own: {entry.event}", steps=(told(entry),)
    )


# --- a run --------------------------------------------------------------------------------------------------------------


def _of_run(run: str, tapes: Tapes, plans: Plans) -> Story:
    own: list[Entry] = []
    last: dict[str, Entry] = {}
    actions: dict[str, str] = {}
    for each in tapes():
        if not isinstance(each, Read) or each.numbered.entry.run != run:
            continue
        entry = each.numbered.entry
        if entry.machine == "run":
            own.append(entry)
        elif entry.machine == "model_run":
            last[entry.subject.rpartition("#")[0]] = entry
    authorized = next((entry.evidence for entry in own if isinstance(entry.evidence, AuthorizeEvidence)), None)
    plan = authorized.plan if authorized is not None else None
    scope = authorized.scope if authorized is not None else ()
    actions = {item.model: item.action for item in scope}
    ends = [_end(model, actions.get(model, ""), last.get(model)) for model in dict.fromkeys((*actions, *last))]
    body = plans(plan) if plan is not None else "it was refused before a plan was authorized"
    if isinstance(body, PlanBody):
        ends += [_unrun(item) for item in body.items if item.action in ("no_op", "refuse")]
    code, because = reason_of(own[-1]) if own[-1].target == "refused" else ("", "")
    refused = [end for end in ends if end.state == "refused"]
    return Story(
        kind="run",
        subject=run,
        run=run,
        plan=plan,
        answer=_run_in_words(own[-1], ends),
        code=code,
        because=because,
        remedy=remedy_of(own[-1]),
        needed=needed_for(own[-1])
        if own[-1].target == "refused"
        else tuple(f"`{end.model}`: {end.because}" for end in refused if end.code != "G561"),
        steps=tuple(told(entry) for entry in own),
        ends=tuple(ends),
        said=(body,) if isinstance(body, str) else (),
    )


def _end(model: str, action: str, entry: Entry | None) -> End:
    if entry is None:
        return End(model=model, action=action, state="planned", because="it was not begun")
    code, because = reason_of(entry)
    return End(model=model, action=action, state=entry.target, code=code, because=because, remedy=remedy_of(entry))


def _unrun(item: Item) -> End:
    if item.refusal is not None:
        return End(
            model=item.model,
            action="refuse",
            state="refused by the plan",
            code=item.refusal.code,
            because=item.refusal.because,
            remedy=item.refusal.remedy,
        )
    return End(model=item.model, action=item.action, state="no_op", because="; ".join(item.reasons))


def _run_in_words(entry: Entry, ends: list[End]) -> str:
    count = {state: sum(end.state == state for end in ends) for state in ("checkpointed", "refused", "planned", "no_op")}
    open_ = [end.model for end in ends if end.state in ("verified", "bootstrapping", "committed")]
    parts = [f"{number} {state.replace('_', '-')}" for state, number in count.items() if number and state != "planned"]
    if entry.target == "closed" and isinstance(entry.evidence, CloseEvidence):
        return f"it was closed as {entry.evidence.outcome}: {', '.join(parts)}"
    if entry.target == "refused":
        return "it was refused before anything was written"
    doubt = f"; in doubt: {', '.join(open_)}" if open_ else ""
    return f"it has no end: its process is at work, or gone (then the next run settles it){doubt}"


# --- a model ------------------------------------------------------------------------------------------------------------


def _of_model(model: str, tapes: Tapes, plans: Plans, *, run: str | None) -> Story | None:
    newest: Entry | None = None
    last_run: AuthorizeEvidence | None = None
    last_run_id = ""
    for each in tapes():
        if not isinstance(each, Read):
            continue
        entry = each.numbered.entry
        if run is not None and not (entry.run or "").startswith(run):
            continue
        if isinstance(entry.evidence, AuthorizeEvidence):
            last_run, last_run_id = entry.evidence, entry.subject
        if entry.machine == "model_run" and model_of(entry) == model:
            newest = entry
    if newest is not None and newest.run == last_run_id:
        return _of_attempt(newest.subject, newest.run, tapes, plans)
    # Its last word is older than the last run (or there is none): why was it not run?
    said = _why_not(model, last_run, last_run_id, plans)
    if newest is None:
        if said is None:
            return None
        return Story(kind="model", subject=model, answer=said.answer, run=last_run_id, plan=last_run.plan if last_run else None,
                     code=said.code, because=said.because, remedy=said.remedy, needed=said.needed, work=said.work)  # fmt: skip
    story = _of_attempt(newest.subject, newest.run, tapes, plans)
    more = said.answer if said is not None else f"the last run, {last_run_id}, did not have it in its plan: it was not selected"
    return _with_said(story, more)


def _with_said(story: Story, *more: str) -> Story:
    return Story(
        kind=story.kind, subject=story.subject, answer=story.answer, run=story.run, plan=story.plan, code=story.code, because=story.because,
        remedy=story.remedy, needed=story.needed, steps=story.steps, work=story.work, ends=story.ends, said=(*story.said, *more),
    )  # fmt: skip


def _why_not(model: str, authorized: AuthorizeEvidence | None, run: str, plans: Plans) -> Story | None:
    if authorized is None:
        return None
    body = plans(authorized.plan)
    if isinstance(body, str):
        return None
    item = next((each for each in body.items if each.model == model), None)
    if item is None:
        return None
    work = work_of(item)
    if item.refusal is not None:
        return Story(kind="model", subject=model, answer=f"run {run} did not begin it: its plan refuses it", code=item.refusal.code,
                     because=item.refusal.because, remedy=item.refusal.remedy, needed=(item.refusal.remedy,), work=work)  # fmt: skip
    if item.action == "no_op":
        reasons = "; ".join(item.reasons) or "nothing is to be done"
        return Story(kind="model", subject=model, answer=f"run {run} had nothing to do for it: {reasons}", needed=(
            "its definition, what it reads or a source would have had to change (`--force` builds it all the same)",), work=work)  # fmt: skip
    return Story(kind="model", subject=model, answer=f"run {run} planned it ({item.action}) and did not begin it", work=work)


def _of_attempt(subject: str, run: str | None, tapes: Tapes, plans: Plans) -> Story:
    entries: list[Entry] = []
    by_model: dict[str, Entry] = {}
    authorized: AuthorizeEvidence | None = None
    for each in tapes():
        if not isinstance(each, Read) or each.numbered.entry.run != run:
            continue
        entry = each.numbered.entry
        if entry.machine == "model_run":
            by_model[model_of(entry)] = entry
            if entry.subject == subject:
                entries.append(entry)
        elif isinstance(entry.evidence, AuthorizeEvidence):
            authorized = entry.evidence
    model = subject.rpartition("#")[0]
    last = entries[-1]
    code, because = reason_of(last)
    plan = authorized.plan if authorized is not None else None
    body = plans(plan) if plan is not None else "its run's plan is not known"
    item = next((each for each in body.items if each.model == model), None) if isinstance(body, PlanBody) else None
    roots = _roots(last, by_model)
    return Story(
        kind="model",
        subject=subject,
        answer=_attempt_in_words(last, entries, roots),
        run=run,
        plan=plan,
        code=code,
        because=because,
        remedy=remedy_of(last),
        needed=needed_for(last),
        steps=tuple(told(entry) for entry in entries),
        work=work_of(item) if item is not None else None,
        ends=tuple(_end(model_of(entry), "", entry) for entry in roots),
        said=(body,) if isinstance(body, str) else (),
    )


def _roots(last: Entry, by_model: Mapping[str, Entry]) -> list[Entry]:
    """For a model that was withheld: the refusals that caused it."""
    if not isinstance(last.evidence, RefuseEvidence) or last.evidence.cause != "upstream":
        return []
    named = re.findall(r"`([^`]+)`", last.evidence.because)
    found = [by_model[name] for name in dict.fromkeys(named) if name in by_model]
    return [entry for entry in found if entry.target == "refused" and reason_of(entry)[0] != "G561"] or found


def _attempt_in_words(last: Entry, entries: list[Entry], roots: list[Entry]) -> str:
    match last.target:
        case "checkpointed":
            found = next((each.evidence.receipt for each in reversed(entries) if isinstance(each.evidence, CommitEvidence)), None)
            action = next((each.evidence.action for each in entries if isinstance(each.evidence, BootstrapEvidence)), "")
            rows = rows_in_words(found.body.rows_written) if isinstance(found, Found) else "its rows"
            return f"it was built ({action}): {rows} committed, seen and checkpointed"
        case "refused" if roots:
            return f"it was skipped: {', '.join(f'`{model_of(entry)}` was refused [{reason_of(entry)[0]}]' for entry in roots)}"
        case "refused" if last.source == "planned":
            return "it was refused before it asked for the target: nothing was written"
        case "refused" if isinstance(last.evidence, CommitEvidence) and isinstance(last.evidence.receipt, Found):
            return "it was refused although its receipt is in the warehouse: ledger and warehouse contradict each other"
        case "refused":
            return "it was refused: nothing was written, and the relation is as before"
        case "bootstrapping":
            return "it is not known yet whether it wrote: the next run looks and settles it"
        case _:
            return f"it stands at `{last.target}` and has no end yet: the next run settles it"


def remedy_of(entry: Entry) -> str:
    """The act that helps against a refusal."""
    if isinstance(entry.evidence, RefuseEvidence):
        return entry.evidence.remedy
    return next((verdict.remedy for verdict in entry.verdicts if verdict.holds != "yes" and verdict.remedy), "")


def needed_for(entry: Entry) -> tuple[str, ...]:
    """What would have had to be true for it to go on."""
    if entry.target != "refused":
        return ()
    found = []
    for verdict in entry.verdicts:
        known = GUARDS.get(verdict.guard)
        if verdict.holds != "yes" and known is not None and verdict.guard != "receipt_is_durable":
            found.append(f"{known.says.rstrip('.')} ({verdict.guard}, {known.invariant})")
    if isinstance(entry.evidence, RefuseEvidence):
        found.append(CAUSES[entry.evidence.cause])
    return tuple(dict.fromkeys(found))
