"""What a source is asked, and what its answer is worth: against plain Python over the same rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interlock.engine.clock import stamp
from interlock.engine.compiler.compiled import CompiledSource
from interlock.engine.planner.plan import SourceQuestion
from interlock.engine.planner.sources import ask, freshness_checks, key_of, null_checks, question_of, reasons_against, warnings_of
from interlock.engine.project.project import Freshness, Source, SourceFreshness
from interlock.engine.warehouse.protocol import Row, WarehouseError
from interlock.machines.evidence import Column, SourceCheck, SourceVerdict

AS_OF = datetime(2024, 6, 1, 12, tzinfo=UTC)
HOUR = 3600


class Shelf:
    """One connection that answers, and counts how often it was asked."""

    def __init__(self, *statements: str) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        for statement in statements:
            self.connection.execute(statement)
        self.asked: list[str] = []

    def query(self, text: str, parameters: dict[str, str] | None = None) -> list[Row]:
        self.asked.append(text)
        try:
            return self.connection.execute(text, parameters).fetchall()
        except duckdb.Error as error:
            raise WarehouseError(str(error), kind="permanent", scope="statement", code="W608") from error


def source(*limits: SourceFreshness, sql: str = "t", columns: tuple[str, ...] = ("id", "ts")) -> CompiledSource:
    return CompiledSource(
        source=Source(name="raw.t", schema="raw", identifier="t", freshness=limits),
        sql=sql,
        columns=tuple(Column(name=name, type="ANY") for name in columns),
        origin="declared",
    )


def limit(seconds: int, *, zone: str | None = "UTC", severity: str = "error", no_rows: str = "refuse") -> SourceFreshness:
    question = Freshness(column="ts", max_age_seconds=seconds, zone=zone)
    return SourceFreshness(question=question, severity=severity, no_rows=no_rows)  # type: ignore[arg-type]


def told(shelf: Shelf, asked: CompiledSource, *columns: str, now: datetime = AS_OF) -> tuple[SourceVerdict, ...]:
    question = question_of(asked, (*freshness_checks(asked), *null_checks("raw.t", columns)), stamp(AS_OF))
    return ask(shelf, question, stamp(now))  # type: ignore[arg-type]


def expected(ages: list[int | None], allowed: int, later: int) -> str:
    """By hand: nothing there, no time there, too old, in the future, or fresh."""
    if not ages:
        return "no_rows"
    known = [age for age in ages if age is not None]
    if not known:
        return "not_evaluated"
    return "passed" if -300 - later <= min(known) <= allowed else "failed"


OFFSETS = {"UTC": 0, "Asia/Tokyo": 9, "America/Bogota": -5}


@settings(deadline=None, max_examples=60)
@given(
    ages=st.lists(st.none() | st.integers(-20 * HOUR, 60 * HOUR), max_size=5),
    allowed=st.integers(1, 48).map(lambda hours: hours * HOUR),
    zone=st.sampled_from([*OFFSETS, "with a zone"]),
    later=st.sampled_from([0, 0, HOUR, 100 * HOUR]),
)
@example(ages=[300, -300], allowed=HOUR, zone="UTC", later=0)
@example(ages=[-301], allowed=HOUR, zone="Asia/Tokyo", later=0)
@example(ages=[-301], allowed=HOUR, zone="Asia/Tokyo", later=1)
@example(ages=[HOUR], allowed=HOUR, zone="America/Bogota", later=0)
@example(ages=[HOUR + 1, None], allowed=HOUR, zone="with a zone", later=HOUR)
def test_freshness_is_what_it_is_by_hand(ages: list[int | None], allowed: int, zone: str, later: int) -> None:
    """Its age is told from the plan's time, the future from when it is asked."""
    kind = "TIMESTAMPTZ" if zone == "with a zone" else "TIMESTAMP"
    shelf = Shelf(f"CREATE TABLE t (id INTEGER, ts {kind})")
    for age in ages:
        moment = None if age is None else AS_OF - timedelta(seconds=age)
        if moment is not None and kind == "TIMESTAMP":
            moment = moment.astimezone(timezone(timedelta(hours=OFFSETS[zone]))).replace(tzinfo=None)
        shelf.connection.execute(f"INSERT INTO t VALUES (1, CAST(? AS {kind}))", [None if moment is None else moment.isoformat()])
    asked = source(limit(allowed, zone=None if zone == "with a zone" else zone))
    (verdict,) = told(shelf, asked, now=AS_OF + timedelta(seconds=later))
    assert verdict.outcome == expected(ages, allowed, later), verdict
    against = reasons_against(freshness_checks(asked), [verdict])
    assert bool(against) == (verdict.outcome != "passed")
    assert len(shelf.asked) == 1


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from(["a", "b"])), max_size=6))
def test_nulls_are_counted_in_one_question(rows: list[tuple[int | None, str | None]]) -> None:
    shelf = Shelf("CREATE TABLE t (id INTEGER, ts TIMESTAMP, note VARCHAR)")
    for number, note in rows:
        shelf.connection.execute("INSERT INTO t VALUES (?, TIMESTAMP '2024-06-01 11:00:00', ?)", [number, note])
    verdicts = {verdict.column: verdict for verdict in told(shelf, source(limit(2 * HOUR)), "id", "note")}
    for column, nulls in (("id", sum(number is None for number, _ in rows)), ("note", sum(note is None for _, note in rows))):
        assert (verdicts[column].outcome, verdicts[column].failing) == ("failed" if nulls else "passed", nulls)
    assert len(shelf.asked) == 1


@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_an_infinite_time_is_not_fresh(value: str) -> None:
    shelf = Shelf("CREATE TABLE t (id INTEGER, ts TIMESTAMP)", f"INSERT INTO t VALUES (1, CAST('{value}' AS TIMESTAMP))")
    (verdict,) = told(shelf, source(limit(HOUR)))
    assert verdict.outcome == "failed", verdict


def test_a_date_is_its_beginning() -> None:
    shelf = Shelf("CREATE TABLE t (id INTEGER, ts DATE)", "INSERT INTO t VALUES (1, DATE '2024-06-01')")
    assert [told(shelf, source(limit(hours * HOUR)))[0].outcome for hours in (11, 12)] == ["failed", "passed"]


@pytest.mark.parametrize("kind", ["TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMPTZ_NS", "TIMESTAMP_NS", "TIMESTAMP_S"])
def test_a_zone_is_for_times_without_one_whatever_the_session_says(kind: str) -> None:
    value = "2024-06-01 11:30:00+00" if "TZ" in kind else "2024-06-01 11:30:00"
    shelf = Shelf(
        "SET TimeZone = 'America/New_York'",
        f"CREATE TABLE t (id INTEGER, ts {kind})",
        f"INSERT INTO t VALUES (1, CAST('{value}' AS {kind}))",
    )
    assert told(shelf, source(limit(HOUR, zone="UTC")))[0].outcome == "passed"


def test_an_error_in_one_question_is_its_own() -> None:
    shelf = Shelf("CREATE TABLE t (id INTEGER, ts VARCHAR)", "INSERT INTO t VALUES (NULL, 'yesterday')")
    fresh, nulls = told(shelf, source(limit(HOUR)), "id")
    assert (fresh.outcome, nulls.outcome, nulls.failing) == ("not_evaluated", "failed", 1)
    assert "yesterday" in fresh.because
    assert [code for code, _, _ in reasons_against(null_checks("raw.t", ["id"]), [fresh, nulls])] == ["G505"]


def test_a_source_that_is_gone_has_answered_nothing() -> None:
    verdicts = told(Shelf(), source(limit(HOUR)), "id")
    assert [verdict.outcome for verdict in verdicts] == ["not_evaluated", "not_evaluated"]


@pytest.mark.parametrize(("answer", "outcome", "codes"), [("[]", "passed", []), ("NULL", "not_evaluated", ["G506"])])
def test_no_answer_about_cells_is_no_pass(answer: str, outcome: str, codes: list[str]) -> None:
    check = SourceCheck(source="raw.t", question="cells", column="", severity="error")
    question = SourceQuestion(checks=(check,), fields=(answer,), relation="t")
    said = ask(Shelf(), question, stamp(AS_OF))  # type: ignore[arg-type]
    assert [verdict.outcome for verdict in said] == [outcome]
    assert [code for code, _, _ in reasons_against([check], said)] == codes


def test_an_interrupt_is_no_answer() -> None:
    class Stopped(Shelf):
        def query(self, text: str, parameters: dict[str, str] | None = None) -> list[Row]:
            raise WarehouseError("stop", kind="permanent", scope="statement", code="G562")

    with pytest.raises(WarehouseError, match="stop"):
        told(Stopped(), source(limit(HOUR)), "id")


def test_two_limits_are_told_apart() -> None:
    shelf = Shelf("CREATE TABLE t (id INTEGER, ts TIMESTAMP)", "INSERT INTO t VALUES (1, TIMESTAMP '2024-06-01 10:30:00')")
    asked = source(limit(2 * HOUR), limit(HOUR, severity="warn", no_rows="warn"))
    checks = freshness_checks(asked)
    verdicts = told(shelf, asked)
    assert [verdict.outcome for verdict in verdicts] == ["passed", "failed"]
    assert [key_of(check) for check in checks] == [key_of(verdict) for verdict in verdicts]
    assert reasons_against(checks, verdicts) == []
    assert len(warnings_of(checks, verdicts)) == 1


@pytest.mark.parametrize(
    ("severity", "no_rows", "outcome", "code"),
    [
        ("error", "refuse", "no_rows", "G504"),
        ("error", "warn", "no_rows", ""),
        ("warn", "warn", "no_rows", ""),
        ("warn", "refuse", "no_rows", "G504"),
        ("error", "refuse", "failed", "G504"),
        ("warn", "refuse", "failed", ""),
        ("warn", "warn", "not_evaluated", "G506"),
        ("error", "warn", "not_evaluated", "G506"),
    ],
)
def test_what_stops_and_what_warns(severity: str, no_rows: str, outcome: str, code: str) -> None:
    (check,) = freshness_checks(source(limit(HOUR, severity=severity, no_rows=no_rows)))
    verdict = SourceVerdict(
        source="raw.t",
        question="freshness",
        column="ts",
        limit_seconds=HOUR,
        outcome=outcome,  # type: ignore[arg-type]
        failing=1 if outcome == "failed" else None,
        because="said",
    )
    assert [found for found, _, _ in reasons_against([check], [verdict])] == ([code] if code else [])
    assert warnings_of([check], [verdict]) == ([] if code else ["said"])
