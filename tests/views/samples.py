"""Results made by hand: small, and each with something of everything that a view must show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.views import audit_samples

from interlock.engine.diagnostics import Diagnostic, Position
from interlock.engine.importers.dbt.items import Compared, Counted
from interlock.engine.importers.dbt.items import Item as Imported
from interlock.engine.outcome import exit_of
from interlock.engine.planner.plan import Bounds, Item, Options, OrphanSeen, PlanBody, Refusal, Selection
from interlock.engine.results import (
    ActResult,
    CheckResult,
    CompareResult,
    CompiledView,
    CompileResult,
    Diagnosis,
    DiffResult,
    DoctorResult,
    ExplainResult,
    InitResult,
    Listed,
    ListResult,
    ModelChecks,
    ModelResult,
    ModelStatus,
    PlanResult,
    RunResult,
    RunStatus,
    ShowResult,
    SourceChecks,
    StatusResult,
)
from interlock.engine.results_import import ImportResult
from interlock.engine.warehouse.protocol import Statement
from interlock.machines.evidence import (
    AuthorityFinding,
    CheckPin,
    CheckVerdict,
    Column,
    ContractFinding,
    Difference,
    Digests,
    SourceCheck,
    SourceVerdict,
    Span,
    Watermark,
)

if TYPE_CHECKING:
    from interlock.engine.views.text import AnyResult

WHERE = {"project": "shop", "target": "dev", "location": "shop.duckdb"}
PLAN = "3f9c2a71" * 8
RECEIPT = "ab12cd34" * 8
DIGESTS = Digests(definition="d", promise="p", note="n", environment="e")
TO_THE_END = ("planned", "verified", "bootstrapping", "committed", "checkpointed")


def authority(decision: str = "proceed") -> AuthorityFinding:
    if decision == "refuse":
        return AuthorityFinding(
            row="k",
            ledger="absent",
            identity="ours",
            heads="newer",
            decision="refuse",
            code="K701",
            because="the warehouse has 12 receipts, and no ledger is there",
            remedy="restore the ledger, or `interlock ledger accept-warehouse --target dev`",
        )
    return AuthorityFinding(row="c", ledger="whole", identity="ours", heads="equal", decision=decision, code="", because="", remedy="")


def item(model: str, action: str, **more: object) -> Item:
    fields: dict[str, object] = {
        "kind": "table",
        "reasons": ("definition changed: query",),
        "schema": "main",
        "relation": model,
        "path": f"models/{model}.sql",
        "layer": 1,
        "digests": DIGESTS,
        "relation_kind": "table",
        "statements": (Statement(role="create", text=f"CREATE TABLE {model}"),),
    }
    return Item(model=model, action=action, **{**fields, **more})


def body(*items: Item, orphans: tuple[OrphanSeen, ...] = ()) -> PlanBody:
    return PlanBody(
        format=1,
        semantics_version=1,
        project="p1",
        ledger=None,
        warehouse=None,
        serial=3,
        target="dev",
        target_schema="main",
        as_of="2025-01-31T09:00:00.000000Z",
        engine="2.0.1",
        selection=Selection(models=tuple(each.model for each in items)),
        options=Options(),
        layers=(tuple(each.model for each in items),),
        closure={},
        variables={},
        sources=(),
        upstreams=(),
        items=items,
        orphans=orphans,
    )


def plan_result() -> PlanResult:
    items = (
        item("raw_orders", "create", kind="seed", reasons=("it was never built",)),
        item("stg_orders", "replace", kind="view", relation_kind="view", layer=2, checks=(CheckPin(check="unique(id)", severity="error"),)),
        item(
            "fct_events",
            "append",
            kind="incremental",
            strategy="append",
            layer=3,
            reasons=("new rows in stg_orders",),
            notes=("late rows (below the watermark) are not looked at", "reads all of raw_orders"),
            bounds=Bounds(column="happened_at", type="TIMESTAMP", low="2025-01-30 10:00:00", until="2025-02-01 09:00:00"),
            checks=(CheckPin(check="a", severity="error"), CheckPin(check="b", severity="warn")),
            contract_findings=(ContractFinding(column="id", proof="at_run_time", because="its source does not speak of nulls"),),
        ),
        item(
            "fct_daily",
            "replace_range",
            kind="incremental",
            strategy="partition",
            layer=3,
            reasons=("new rows in stg_orders",),
            bounds=Bounds(
                column="day",
                type="DATE",
                lookback="2 days",
                open_ended="until = none",
                ranges=tuple(Span(low=f"2025-01-{day:02}", high=f"2025-01-{day + 1:02}") for day in range(20, 29)),
            ),
        ),
        item(
            "dim_big",
            "create",
            kind="incremental",
            strategy="merge",
            layer=3,
            reasons=("--full-refresh",),
            full_refresh="asked",
            shrink="allowed",
            renamed_from="dim_old",
            bounds=Bounds(column="id", type="BIGINT"),
        ),
        *(item(f"dim_{number}", "no_op", reasons=("nothing changed",)) for number in range(12)),
        item("dim_text", "no_op", reasons=("only its description changed",), notes=("the comment follows the next write",)),
        item(
            "fct_orders",
            "refuse",
            reasons=(),
            refusal=Refusal(
                code="P412",
                because="the definition changed (query), and on_change = refuse",
                remedy="--on-change fct_orders=rebuild, or =continue",
            ),
        ),
    )
    return PlanResult(
        command="plan",
        outcome="partial",
        exit_code=exit_of("partial"),
        plan=PLAN,
        saved="yes",
        body=body(*items, orphans=(OrphanSeen(model="old_model", relation="main.old_model"),)),
        authority=authority(),
        open_runs=("20250130T090000Z-7f",),
        **WHERE,
    )


def nothing_planned() -> PlanResult:
    return PlanResult(
        command="plan",
        outcome="nothing",
        exit_code=0,
        plan=PLAN,
        saved="no",
        body=body(),
        authority=authority("fresh"),
        said=("state:modified matches nothing: every model is as it was built",),
        **WHERE,
    )


def unmade_plan() -> PlanResult:
    return PlanResult(
        command="plan", outcome="refused", exit_code=4, plan=None, saved="no", body=None, authority=authority("refuse"), **WHERE
    )


FAILED = CheckVerdict(check="unique(order_id)", severity="error", outcome="failed", failing=2, because="first: order_id = 7")
WARNED = CheckVerdict(check="row_count", severity="warn", outcome="failed", failing=None, because="0 rows, at least 1 expected")
PASSED = CheckVerdict(check="not_null(id)", severity="error", outcome="passed", failing=0, because="")
UNKNOWN = CheckVerdict(check="fresh", severity="warn", outcome="not_evaluated", failing=None, because="a conversion error")


def models() -> tuple[ModelResult, ...]:
    return (
        ModelResult(
            model="raw_orders",
            action="create",
            layer=1,
            state="checkpointed",
            path=TO_THE_END,
            rows_written=12345,
            rows_after=12345,
            milliseconds=12,
            receipt=RECEIPT,
        ),
        ModelResult(
            model="stg_orders",
            action="replace",
            layer=2,
            state="checkpointed",
            path=TO_THE_END,
            rows_written=0,
            milliseconds=3,
            verdicts=(PASSED,),
        ),
        ModelResult(
            model="fct_daily",
            action="replace_range",
            layer=3,
            state="checkpointed",
            path=TO_THE_END,
            rows_written=40,
            rows_deleted=38,
            rows_held=1,
            rows_after=1000,
            milliseconds=64_000,
            verdicts=(WARNED,),
        ),
        ModelResult(
            model="fct_orders",
            action="append",
            layer=3,
            state="refused",
            path=("planned", "verified", "bootstrapping", "refused"),
            milliseconds=1500,
            code="G527",
            cause="commit",
            because="a check of error severity failed; nothing was written",
            remedy="correct the rows or the check, then `interlock run`",
            verdicts=(PASSED, FAILED),
        ),
        ModelResult(
            model="fct_bad",
            action="replace",
            layer=3,
            state="refused",
            path=("planned", "verified", "bootstrapping", "refused"),
            code="W608",
            cause="warehouse",
            because="Conversion Error: 'abc' is no INT",
            remedy="correct the model",
            detail=" --> models/fct_bad.sql:1:8\n1 | select cast('abc' as int)\n  |        ^^^^",
        ),
        *(
            ModelResult(
                model=f"mart_{name}",
                action="replace",
                layer=4,
                state="refused",
                path=("planned", "refused"),
                code="G561",
                cause="upstream",
                because="`fct_orders` was refused",
                remedy="the remedy of `fct_orders`",
            )
            for name in ("a", "b")
        ),
        *(
            ModelResult(model=f"dim_{number}", action="no_op", layer=2, state="no_op", path=(), reason="nothing changed")
            for number in range(3)
        ),
    )


def run_result() -> RunResult:
    return RunResult(
        command="run",
        outcome="partial",
        exit_code=exit_of("partial"),
        run="20250131T090000Z-1b",
        plan=PLAN,
        models=models(),
        settled=("20250130T090000Z-7f",),
        milliseconds=65_200,
        authority=authority("settle"),
        **WHERE,
    )


def good_run() -> RunResult:
    return RunResult(
        command="run",
        outcome="succeeded",
        exit_code=0,
        run="r1",
        plan=PLAN,
        models=models()[:2],
        milliseconds=450,
        authority=authority(),
        **WHERE,
    )


def doubtful_run() -> RunResult:
    doubt = ModelResult(model="fct_orders", action="append", layer=1, state="bootstrapping", path=("planned", "verified", "bootstrapping"))
    return RunResult(command="apply", outcome="in_doubt", exit_code=3, run="r1", plan=PLAN, models=(doubt,), milliseconds=90_000, **WHERE)


def status_result() -> StatusResult:
    return StatusResult(
        command="status",
        outcome="done",
        exit_code=0,
        ledger="whole",
        models=(
            ModelStatus(
                model="fct_events",
                kind="incremental",
                last_state="checkpointed",
                last_run="r2",
                changed="unchanged",
                receipt=RECEIPT,
                rows=12345,
                watermark=Watermark(type="TIMESTAMP", low="2025-01-01 00:00:00", high="2025-01-30 10:00:00"),
                checkpointed_at="2025-01-31T09:00:01.123456Z",
            ),
            ModelStatus(
                model="fct_orders",
                kind="table",
                last_state="refused",
                last_run="r2",
                last_code="G527",
                last_because="a check failed",
                changed="modified",
            ),
            ModelStatus(model="new_one", kind="view", last_state="", last_run=None, changed="new"),
        ),
        runs=(
            RunStatus(
                run="r2",
                plan=PLAN,
                state="running",
                outcome="",
                started_at="2025-01-31T09:00:00.000000Z",
                models=2,
                in_doubt=("fct_events",),
                why_open="its process is gone",
            ),
            RunStatus(
                run="r1",
                plan=PLAN,
                state="closed",
                outcome="partial",
                started_at="2025-01-30T09:00:00.000000Z",
                models=3,
                refused=("fct_orders",),
            ),
        ),
        busy="process 4711 on build-1, since 2025-01-31 09:00:00Z",
        leftovers=("plans/aa.json was never applied",),
        **WHERE,
    )


def others() -> dict[str, AnyResult]:
    columns = (Column(name="id", type="BIGINT"), Column(name="name", type="VARCHAR"))
    return {
        "init": InitResult(
            command="init",
            outcome="done",
            exit_code=0,
            directory="shop",
            files=("interlock.toml", "models/example.sql"),
            next_commands=("cd shop", "interlock plan", "interlock run"),
        ),
        "compile": CompileResult(
            command="compile",
            outcome="done",
            exit_code=0,
            models=(
                CompiledView(
                    model="a",
                    kind="view",
                    relation="main.a",
                    path="models/a.sql",
                    columns=columns,
                    reads=(),
                    sources=("raw.a",),
                    layer=1,
                    sql="select 1",
                ),
                CompiledView(
                    model="b",
                    kind="table",
                    relation="main.b",
                    path="models/b.sql",
                    columns=columns,
                    reads=("a",),
                    sources=(),
                    layer=2,
                    sql="select 1",
                ),
            ),
            **WHERE,
        ),
        "show": ShowResult(
            command="show",
            outcome="done",
            exit_code=0,
            model="a",
            sql='select *\nfrom "warehouse"."main"."a" -- é\n',
            columns=columns,
            **WHERE,
        ),
        "show_rows": ShowResult(
            command="show",
            outcome="done",
            exit_code=0,
            model="a",
            sql="select 1",
            columns=columns,
            rows=(("1", "Ann"), ("20", None), ("300", "日本\n\x1b[31m")),
            **WHERE,
        ),
        "ls": ListResult(
            command="ls",
            outcome="done",
            exit_code=0,
            nodes=(
                Listed(name="raw", kind="seed", path="seeds/raw.csv", relation="main.raw", tags=(), parents=()),
                Listed(
                    name="fct_orders",
                    kind="table",
                    path="models/fct_orders.sql",
                    relation="main.fct_orders",
                    tags=("finance", "daily"),
                    parents=("raw",),
                    description="one row per order",
                ),
            ),
            **WHERE,
        ),
        "check": CheckResult(
            command="check",
            outcome="refused",
            exit_code=3,
            models=(
                ModelChecks(model="a", verdicts=(PASSED, FAILED, WARNED, UNKNOWN), ranges="all rows"),
                ModelChecks(model="b", verdicts=()),
            ),
            sources=(
                SourceChecks(
                    source="raw.o",
                    checks=(
                        SourceCheck(source="raw.o", question="freshness", column="at", severity="warn"),
                        SourceCheck(source="raw.o", question="not_null", column="id", severity="error"),
                    ),
                    verdicts=(
                        SourceVerdict(
                            source="raw.o", question="freshness", column="at", outcome="no_rows", failing=None, because="it has no rows"
                        ),
                        SourceVerdict(source="raw.o", question="not_null", column="id", outcome="passed", failing=0, because=""),
                    ),
                ),
            ),
            evaluated=5,
            failed=1,
            warned=2,
            not_evaluated=1,
            **WHERE,
        ),
        "check_nothing": CheckResult(
            command="check", outcome="nothing", exit_code=0, models=(), evaluated=0, failed=0, warned=0, not_evaluated=0, **WHERE
        ),
        "diff": DiffResult(
            command="diff",
            outcome="refused",
            exit_code=3,
            plan=PLAN,
            differences=(
                Difference(code="P409", subject="fct_orders", planned="receipt ab12", found="receipt cd34", remedy="make a new plan"),
                Difference(code="P406", subject="models/a.sql", planned="aaaa", found="bbbb", remedy=""),
            ),
            **WHERE,
        ),
        "diff_none": DiffResult(command="diff", outcome="done", exit_code=0, plan=PLAN, differences=(), **WHERE),
        "act": ActResult(command="reset", outcome="done", exit_code=0, act="reset", shown=("drops main.a (5 rows)",), done="yes", **WHERE),
        "act_declined": ActResult(
            command="adopt", outcome="refused", exit_code=3, act="adopt a", shown=("takes main.a",), done="no", **WHERE
        ),
        "import_dbt": ImportResult(
            command="import dbt",
            outcome="refused",
            exit_code=3,
            name="shop",
            directory="new",
            counts=(Counted(kind="model", converted=2, proposed=1, refused=1), Counted(kind="test", converted=1)),
            items=(
                Imported(
                    kind="model", name="orders", status="converted", path="models/orders.sql", into="models/orders.sql", written="yes"
                ),
                Imported(
                    kind="model", name="runs", status="refused", path="models/runs.sql", line=2, code="D804", why="`run_query`", remedy="x"
                ),
                Imported(kind="model", name="news", status="proposed", path="models/news.sql", line=3, code="D803", why="one filter"),
            ),
            files=("IMPORT.md", "interlock.toml"),
            said=("2 of 4 models are in the new project",),
            compared=(
                Compared(model="orders", outcome="equal", rows_here=2, rows_dbt=2, columns=("id",)),
                Compared(
                    model="fct",
                    outcome="different",
                    because="1 row only here, 0 only there",
                    only_here=1,
                    columns=("id", "name"),
                    first_only_here=(("1", None),),
                ),
                Compared(model="gone", outcome="not_compared", because="dbt's warehouse has no such relation"),
            ),
            next_commands=("cd new", "interlock run"),
        ),
        "compare": CompareResult(
            command="audit compare",
            outcome="refused",
            exit_code=3,
            model="fct",
            rows_there=10,
            rows_rebuilt=9,
            only_there=2,
            only_rebuilt=1,
            columns=("id", "name"),
            first_only_there=(("1", None),),
            first_only_rebuilt=(("2", "x"),),
            **WHERE,
        ),
        "compare_equal": CompareResult(
            command="audit compare",
            outcome="done",
            exit_code=0,
            model="fct",
            rows_there=1,
            rows_rebuilt=1,
            only_there=0,
            only_rebuilt=0,
            columns=("id",),
            **WHERE,
        ),
        "doctor": DoctorResult(
            command="doctor",
            outcome="refused",
            exit_code=3,
            checks=(
                Diagnosis(check="project", answer="pass", said="3 models and seeds compile"),
                Diagnosis(check="warehouse", answer="not_evaluated", said="another program has it open", remedy="wait until it is done"),
                Diagnosis(
                    check="open runs", answer="fail", said="r1: its process is gone", code="G563", remedy="`interlock resume` ends it"
                ),
            ),
            **WHERE,
        ),
        "explain": ExplainResult(
            command="explain", outcome="done", exit_code=0, code="P412", title="definition changed", page="# P412\n\nThe definition …\n"
        ),
        "explain_without_page": ExplainResult(
            command="explain", outcome="done", exit_code=0, code="P412", title="definition changed", page=""
        ),
    }


def every_result() -> dict[str, AnyResult]:
    return {
        "plan": plan_result(),
        "plan_nothing": nothing_planned(),
        "plan_unmade": unmade_plan(),
        "run": run_result(),
        "run_good": good_run(),
        "run_in_doubt": doubtful_run(),
        "status": status_result(),
        **others(),
        **audit_samples.results(),
    }


def findings() -> tuple[Diagnostic, ...]:
    return (
        Diagnostic(
            code="L201",
            summary="column `ammount` does not exist in `raw.orders`",
            because="raw.orders has amount, id, ordered_at",
            remedy="did you mean `amount`?",
            at=Position(path="models/orders.sql", line=2, column=8, length=7, excerpt="select ammount from raw.orders"),
        ),
        Diagnostic(
            code="L201",
            severity="warning",
            summary="two lines\nof summary",
            because="one\ntwo",
            at=Position(path="models/wide.sql", line=12, column=11, length=2, excerpt="\tselect '日本', né from t"),
            invariant="I4",
        ),
        Diagnostic(
            code="C303",
            summary="type differs from the contract",
            at=Position(path="models/orders.toml", key="contract.columns.id.type"),
            compiled="select *\nfrom x",
        ),
        Diagnostic(code="S113", severity="note", summary="the project is empty", remedy="add models/first.sql"),
    )
