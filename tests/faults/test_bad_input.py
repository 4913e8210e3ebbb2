"""Every public file, damaged in every way that files are: always a refusal with a code; never a traceback, a hang, or a write.

`INTERLOCK_EXAMPLES=1000` plays more of them than a usual run does.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import msgspec
import pytest
from tests.faults import world
from tests.faults.test_histories import FILES, NEWS

from interlock.machines.records import digest

EXAMPLES = int(os.environ.get("INTERLOCK_EXAMPLES", "2"))
DEEP = 100_000

Damage = Callable[[bytes, random.Random], bytes]


def truncated(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 5))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def shuffled(data: bytes, draw: random.Random) -> bytes:
    start = draw.randrange(len(data))
    length = draw.randrange(1, 200)
    piece, rest = data[start : start + length], data[:start] + data[start + length :]
    at = draw.randrange(len(rest) + 1)
    return rest[:at] + piece + rest[at:]


def doubled(data: bytes, draw: random.Random) -> bytes:
    return data + data


def deep(data: bytes, draw: random.Random) -> bytes:
    opening = draw.choice((b"[", b'{"a":', b"("))
    at = draw.randrange(len(data) + 1)
    return data[:at] + opening * DEEP + data[at:]


def huge(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + b"9" * (3_000_000 if EXAMPLES > 10 else 300_000) + data[at:]


def in_another_encoding(data: bytes, draw: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return draw.choice((text.encode("utf-16"), b"\xef\xbb\xbf" + data, data.replace(b"e", b"\xe9"), b"\x00" + data))


def of_another_type(data: bytes, draw: random.Random) -> bytes:
    old, new = draw.choice(((b'"', b""), (b":", b"="), (b"=", b":"), (b"1", b'"x"'), (b"a", b"[]"), (b"true", b"7"), (b",", b",,")))
    places = [at for at in range(len(data)) if data.startswith(old, at)]
    if not places:
        return b"[]"
    at = draw.choice(places)
    return data[:at] + new + data[at + len(old) :]


def nothing_left(data: bytes, draw: random.Random) -> bytes:
    return draw.choice((b"", b"\n", b"null", b"[]", b"{}", b"0"))


DAMAGES: tuple[Damage, ...] = (
    truncated,
    flipped,
    shuffled,
    doubled,
    deep,
    huge,
    in_another_encoding,
    of_another_type,
    nothing_left,
)
REFUSED = {0, 3, 4}
"""What a command may come to. 0: what was changed did not matter, such as a comment."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damaged") / "shop"
    world.lay(root, FILES)
    assert world.command(root, "run").exit == 0
    world.lay(root, {"landing/b.csv": NEWS})
    return root


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "shop")
    return tmp_path / "shop"


def cases(*names: str) -> Iterator[tuple[str, Damage, int]]:
    for name in names:
        for damage in DAMAGES:
            for seed in range(max(1, EXAMPLES // 3)):
                yield name, damage, seed


def durable(root: Path) -> dict[str, str]:
    """Digests of database and ledger."""
    found = [path for path in sorted(root.rglob("*")) if path.is_file() and path.name != "lock" and "plans" not in path.parts]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found if "world.duckdb" in str(path)}


def demand_coded(answer: world.Answer, what: object) -> None:
    assert answer.exit in REFUSED, (what, answer.brief)
    if answer.exit:
        assert answer.codes or '"code":"' in answer.out, (what, answer.brief)
        assert "X901" not in answer.out, (what, answer.brief)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_plan_is_refused_and_nothing_is_written(shop: Path, damage: Damage) -> None:
    plan = msgspec.json.decode(world.command(shop, "plan").out)["result"]["plan"]
    (path,) = (shop / "world.duckdb.interlock" / world.PROJECT / "plans").glob(f"{plan}.json")
    good, before = path.read_bytes(), durable(shop)
    for seed in range(EXAMPLES):
        bad = damage(good, random.Random(seed))
        if bad == good:
            continue
        path.write_bytes(bad)
        answer = world.command(shop, "apply", plan)
        assert (answer.exit, answer.codes) == (3, {"P402"}), (damage.__name__, seed, answer.brief)
        assert durable(shop) == before, (damage.__name__, seed)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_ledger_is_refused_or_its_torn_end_is_known(shop: Path, damage: Damage) -> None:
    path = shop / "world.duckdb.interlock" / world.PROJECT / "ledger" / "000001.jsonl"
    good, database = path.read_bytes(), shop / "world.duckdb"
    untouched = hashlib.sha256(database.read_bytes()).hexdigest()
    for seed in range(EXAMPLES):
        bad = damage(good, random.Random(seed))
        if bad == good:
            continue
        for command in ("status", "plan", "run", "resume", "doctor"):
            path.write_bytes(bad)
            answer = world.command(shop, command)
            demand_coded(answer, (damage.__name__, seed, command))
            if command in ("run", "plan"):
                assert answer.exit == 4, (damage.__name__, seed, command, answer.brief)
        assert hashlib.sha256(database.read_bytes()).hexdigest() == untouched, (damage.__name__, seed)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_receipt_is_refused_and_nothing_is_written(shop: Path, damage: Damage) -> None:
    location = str(shop / "world.duckdb")
    with duckdb.connect(location) as connection:
        ((receipt, good),) = connection.execute(
            "SELECT receipt, body FROM interlock.receipts JOIN interlock.heads USING (receipt) WHERE heads.model = 'a'"
        ).fetchall()
    for seed in range(EXAMPLES):
        bad = damage(good.encode(), random.Random(seed)).decode("utf-8", "replace")
        if bad == good:
            continue
        with duckdb.connect(location) as connection:
            connection.execute("UPDATE interlock.receipts SET body = ? WHERE receipt = ?", [bad, receipt])
        for command in ("plan", "run"):
            answer = world.command(shop, command)
            assert (answer.exit, answer.codes) == (4, {"K706"}), (damage.__name__, seed, command, answer.brief)
    with duckdb.connect(location) as connection:
        assert connection.execute("SELECT count(*) FROM main.a").fetchall() == [(3,)]


@pytest.mark.parametrize("key", ["[targets.dev]\nthreads = ", "format = ", "[vars]\nx = "])
def test_a_number_of_too_many_digits_is_no_traceback(tmp_path: Path, key: str) -> None:
    root = tmp_path / "shop"
    world.lay(root, FILES)
    world.lay(root, {"interlock.toml": key + "9" * 5000 + "\n"})
    answer = world.command(root, "compile")
    assert (answer.exit, answer.codes) == (3, {"S102"}), answer.brief


def test_a_path_longer_than_any_file_system_has_matches_no_file_and_takes_no_time(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    world.lay(root, FILES)
    world.lay(root, {"sources.toml": FILES["sources.toml"].replace("landing/", "landing/" + "[" * DEEP)})
    answer = world.command(root, "compile")
    assert (answer.exit, answer.codes) == (3, {"S119"}), answer.brief[:500]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_receipt_under_the_digest_of_its_bytes_is_refused_too(shop: Path, damage: Damage) -> None:
    """Whoever makes one by hand can give it the right name: it is told by what it says, or by nobody having written it."""
    location = str(shop / "world.duckdb")
    with duckdb.connect(location) as connection:
        ((receipt, good),) = connection.execute(
            "SELECT receipt, body FROM interlock.receipts JOIN interlock.heads USING (receipt) WHERE heads.model = 'a'"
        ).fetchall()
    for seed in range(EXAMPLES):
        bad = damage(good.encode(), random.Random(seed)).decode("utf-8", "replace")
        if bad == good:
            continue
        forged = digest("receipt", bad.encode())
        with duckdb.connect(location) as connection:
            connection.execute("UPDATE interlock.receipts SET receipt = ?, body = ? WHERE receipt = ?", [forged, bad, receipt])
            connection.execute("UPDATE interlock.heads SET receipt = ? WHERE model = 'a'", [forged])
        receipt = forged
        for command in ("plan", "run", "resume", "doctor"):
            answer = world.command(shop, command)
            demand_coded(answer, (damage.__name__, seed, command))
            assert answer.exit, (damage.__name__, seed, command)
            if command in ("plan", "run"):
                assert answer.codes <= {"K702", "K706"}, (damage.__name__, seed, command, answer.brief)
    with duckdb.connect(location) as connection:
        assert connection.execute("SELECT count(*) FROM main.a").fetchall() == [(3,)]


CONTROL = {
    "identity": ("warehouse", "ledger", "format"),
    "heads": ("receipt", "token", "generation", "model"),
    "seals": ("run", "serial", "tip", "outcome", "heads"),
    "receipts": ("model", "run", "attempt", "previous", "body"),
}
HANDS = {
    "nothing": "UPDATE interlock.{table} SET {column} = NULL",
    "empty": "UPDATE interlock.{table} SET {column} = CASE typeof({column}) WHEN 'VARCHAR' THEN '' ELSE '0' END",
    "huge": "UPDATE interlock.{table} SET {column} = CASE typeof({column}) WHEN 'VARCHAR' THEN repeat('9', 3000000) ELSE '2000000000' END",
    "a list": "ALTER TABLE interlock.{table} ALTER {column} TYPE VARCHAR[] USING [CAST({column} AS VARCHAR)]",
    "bytes": "ALTER TABLE interlock.{table} ALTER {column} TYPE BLOB USING '\\xFF\\xFE'::BLOB",
    "a name": "ALTER TABLE interlock.{table} RENAME {column} TO something_else",
    "no column": "ALTER TABLE interlock.{table} DROP {column}",
    "no table": "DROP TABLE interlock.{table}",
    "a view": "CREATE TABLE interlock.kept AS FROM interlock.{table}; DROP TABLE interlock.{table};"
    " CREATE VIEW interlock.{table} AS FROM interlock.kept",
}


BY_HAND = [(hand, table, column) for hand in HANDS for table, columns in CONTROL.items() for column in columns]


@pytest.mark.parametrize(("hand", "table", "column"), BY_HAND if EXAMPLES > 10 else BY_HAND[4::13])
def test_control_tables_that_somebody_changed_are_no_traceback_and_no_write(shop: Path, hand: str, table: str, column: str) -> None:
    location = str(shop / "world.duckdb")
    with duckdb.connect(location) as connection:
        connection.execute("DROP VIEW IF EXISTS interlock.history")
        try:
            connection.execute(HANDS[hand].format(table=table, column=column))
        except duckdb.Error:
            pytest.skip("a key keeps a hand from that")
    for command in ("plan", "audit verify", "receipts compact --yes", "run", "resume", "doctor", "status", "ledger accept-warehouse --yes"):
        answer = world.command(shop, *command.split())
        demand_coded(answer, (table, column, hand, command))
        if command == "run" and answer.exit:
            with duckdb.connect(location) as connection:
                assert connection.execute("SELECT count(*) FROM main.a").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("name", "damage", "seed"),
    list(cases("interlock.toml", "sources.toml", "models/a.toml", "models/a.sql", "sources.lock.toml")),
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_a_damaged_project_file_is_refused_with_a_code(built: Path, tmp_path: Path, name: str, damage: Damage, seed: int) -> None:
    root = tmp_path / "shop"
    world.lay(root, FILES)
    path = root / name
    if name == "sources.lock.toml":
        assert world.command(root, "sources", "pin").exit == 0
    path.write_bytes(damage(path.read_bytes(), random.Random(seed)))
    demand_coded(world.command(root, "compile"), (name, damage.__name__, seed))
    del built
