"""One more day in the shop: writes the files that its systems would deliver next into `landing/`.

Run it, then run the project again: orders placed yesterday are shipped today, a customer has moved, and a phone that was
offline yesterday delivers its page views. The same day always brings the same rows.
"""

from __future__ import annotations

import csv
import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

LANDING = Path(__file__).parent / "landing"
OPENED = date(2026, 3, 2)
"""The shop's first day."""

NAMES = ("Ada", "Bo", "Chloe", "Dmitri", "Elif", "Femke", "Gustav", "Hana", "Ines", "Jonas", "Kaya", "Luca", "Mara", "Nils", "Oya", "Paul")
COUNTRIES = ("DE", "DE", "AT", "FR", "NL")
SKUS = ("ESP-250", "ESP-250", "FIL-250", "FIL-250", "ESP-1000", "FIL-1000", "DEC-250", "PAPER-100", "V60-02", "GRIND-M")
PAGES = ("/", "/", "/beans", "/beans", "/gear", "/cart", "/about")

Row = dict[str, str]


def read(pattern: str) -> list[Row]:
    """All rows of the files that match, oldest file first."""
    rows: list[Row] = []
    for path in sorted(LANDING.glob(pattern)):
        with path.open(newline="", encoding="utf-8") as file:
            rows.extend(csv.DictReader(file))
    return rows


def write(name: str, rows: list[Row]) -> None:
    """One file, whole."""
    with (LANDING / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def next_day() -> date:
    """The day after the newest that was delivered."""
    days = [path.stem.removeprefix("orders_") for path in LANDING.glob("orders_*.csv")]
    return date.fromisoformat(max(days)) + timedelta(days=1) if days else OPENED


def at(day: date, hour: int, minute: int, second: int = 0) -> str:
    """A time of that day, in UTC."""
    return datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def customers_of(day: date, dice: random.Random) -> list[Row]:
    """The whole list as it is that day: one is new, and now and then one moves."""
    customers = read("customers.csv")
    for _ in range(6 if not customers else 1):
        number = len(customers) + 1
        name = f"{NAMES[(number - 1) % len(NAMES)]} {chr(ord('A') + number % 26)}."
        customers.append(
            {"customer_id": str(number), "name": name, "country": dice.choice(COUNTRIES), "updated_at": at(day, 5, number % 60)},
        )
    if day > OPENED and day.toordinal() % 2:
        mover = dice.choice(customers[:-1])
        mover["country"] = dice.choice([code for code in sorted(set(COUNTRIES)) if code != mover["country"]])
        mover["updated_at"] = at(day, 6, 30)
    return customers


def orders_of(day: date, customers: list[Row], dice: random.Random) -> tuple[list[Row], list[Row]]:
    """That day's changes of older orders, then its new orders, and their lines."""
    newest: dict[str, Row] = {row["order_id"]: row for row in read("orders_*.csv")}
    changes: list[Row] = []
    lines: list[Row] = []
    for minute, order in enumerate(order for order in newest.values() if order["status"] == "placed"):
        changes.append(order | {"status": "shipped", "updated_at": at(day, 8, minute % 60)})
    recently = at(day - timedelta(days=5), 0, 0)
    shipped = [order for order in newest.values() if order["status"] == "shipped" and order["ordered_at"] > recently]
    for minute, order in enumerate(shipped):
        if dice.random() < 0.04:
            changes.append(order | {"status": "returned", "updated_at": at(day, 12, minute % 60)})
    for number in range(len(newest) + 1, len(newest) + 1 + dice.randint(5, 9)):
        when = at(day, 13 + (number % 7), dice.randrange(60), number % 60)
        buyer = dice.choice(customers)
        changes.append(
            {"order_id": str(number), "customer_id": buyer["customer_id"], "status": "placed", "ordered_at": when, "updated_at": when},
        )
        lines.extend(
            {"order_id": str(number), "line": str(line), "sku": dice.choice(SKUS), "quantity": str(dice.randint(1, 3))}
            for line in range(1, 1 + dice.randint(1, 3))
        )
    return changes, lines


def views_of(day: date, dice: random.Random) -> list[Row]:
    """That day's page views; the first few happened yesterday evening, on a phone that was offline."""
    known = len(read("page_views_*.csv"))
    views: list[Row] = []
    for number in range(known + 1, known + 1 + dice.randint(25, 40)):
        late = day > OPENED and number <= known + 3
        when = at(day - timedelta(days=1), 20, number % 60) if late else at(day, 7 + number % 13, dice.randrange(60))
        views.append(
            {
                "view_id": str(number),
                "visitor": f"v{dice.randint(1, 12):02}",
                "page": dice.choice(PAGES),
                "viewed_at": when,
                "received_at": at(day, 6, number % 60) if late else when,
            },
        )
    return views


def main() -> None:
    """Deliver the next day."""
    LANDING.mkdir(exist_ok=True)
    day = next_day()
    dice = random.Random(day.isoformat())  # noqa: S311 - the same day brings the same rows
    customers = customers_of(day, dice)
    orders, lines = orders_of(day, customers, dice)
    views = views_of(day, dice)
    write("customers.csv", customers)
    write(f"orders_{day}.csv", orders)
    write(f"order_lines_{day}.csv", lines)
    write(f"page_views_{day}.csv", views)
    print(f"{day}: {len(orders)} orders and changes, {len(lines)} lines, {len(views)} page views, {len(customers)} customers")


if __name__ == "__main__":
    main()
