"""The sources of a run are asked once, whoever reads them; an answer that does not come is not a pass."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from interlock.engine.planner.plan import SourcePin, SourceQuestion
from interlock.engine.runner.sources import Sources
from interlock.engine.warehouse.protocol import Row, WarehouseError
from interlock.machines.evidence import SourceCheck

CHECK = SourceCheck(source="raw.t", question="not_null", column="id", severity="error")
PIN = SourcePin(
    source="raw.t", columns=(), question=SourceQuestion(checks=(CHECK,), fields=("count(*) FILTER (WHERE id IS NULL)",), relation="t")
)


class Warehouse:
    """Readers over one table; it counts questions, and can be told what to raise."""

    def __init__(self, *, opening: str = "", asking: str = "") -> None:
        self.connection = duckdb.connect()
        self.connection.execute("CREATE TABLE t AS SELECT NULL::INTEGER AS id")
        self.opening, self.asking = opening, asking
        self.questions = 0
        self.closed = 0
        self.first = threading.Event()

    def reader(self) -> Warehouse:
        if self.opening:
            raise WarehouseError("secret: no cursor", kind="permanent", scope="connection", code=self.opening)
        return self

    def query(self, text: str, parameters: None) -> list[Row]:
        self.questions += 1
        self.first.wait(timeout=0.05)
        if self.asking:
            raise WarehouseError("secret: no answer", kind="permanent", scope="statement", code=self.asking)
        return self.connection.execute(text).fetchall()

    def close(self) -> None:
        self.closed += 1


def sources(warehouse: Warehouse) -> Sources:
    return Sources(
        [PIN, SourcePin(source="raw.other", columns=())], warehouse, "2024-06-01T00:00:00Z", lambda text: text.replace("secret", "•")
    )  # type: ignore[arg-type]


def test_many_readers_are_one_question() -> None:
    warehouse = Warehouse()
    asked = sources(warehouse)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(asked.said, ["raw.t"] * 20))
    assert warehouse.questions == warehouse.closed == 1
    assert {answer[0].failing for answer in answers} == {1}


def test_a_source_without_a_question_is_not_asked() -> None:
    warehouse = Warehouse()
    assert sources(warehouse).said("raw.other") == sources(warehouse).said("raw.nobody") == ()
    assert warehouse.questions == 0


@pytest.mark.parametrize("where", ["opening", "asking"])
def test_an_answer_that_does_not_come_is_a_verdict_without_secrets(where: str) -> None:
    warehouse = Warehouse(**{where: "W608"})
    (verdict,) = sources(warehouse).said("raw.t")
    assert (verdict.outcome, verdict.failing) == ("not_evaluated", None)
    assert verdict.because.startswith("•")


@pytest.mark.parametrize("where", ["opening", "asking"])
def test_an_interrupt_is_raised_and_not_kept(where: str) -> None:
    warehouse = Warehouse(**{where: "G562"})
    asked = sources(warehouse)
    with pytest.raises(WarehouseError):
        asked.said("raw.t")
    warehouse.opening = warehouse.asking = ""
    assert asked.said("raw.t")[0].failing == 1
