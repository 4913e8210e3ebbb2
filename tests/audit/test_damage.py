"""Whatever is done to a ledger's bytes is found: each single byte, and each record that is lost, doubled, swapped or cut off.

Every byte of 50 records is swept; `INTERLOCK_SWEEP=1000 python -m pytest tests/audit/test_damage.py` sweeps those of 1,000.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from tests.audit.forge import Forge, history, part, replayed, write

from interlock.engine.audit.replay import replay_at
from interlock.engine.audit.tape import Flaw, Read, Tape, Tip, parts_of
from interlock.engine.cases.auditing import replay_of
from interlock.engine.diagnostics import Refused
from interlock.engine.ledger.lines import read_line

SWEPT = int(os.environ.get("INTERLOCK_SWEEP", "50"))


@pytest.fixture(scope="module")
def forge() -> Forge:
    return history(max(SWEPT, 60), models=4)


def test_a_ledger_that_was_left_alone_holds(forge: Forge) -> None:
    found = replayed(forge.data)
    assert (found.trust, found.law, found.flaws) == ("whole", "kept", ())
    assert found.records == len(forge.lines)


def test_every_changed_byte_of_every_record_is_found(forge: Forge) -> None:
    before = Tip(sequence=0, digest="")
    for line in forge.lines[:SWEPT]:
        read = next(iter(Tape((part(line),), start=before)))
        assert isinstance(read, Read)
        for position in range(len(line)):
            changed = bytearray(line)
            changed[position] ^= 1 + position % 255
            first = next(iter(Tape((part(bytes(changed)),), start=before)))
            assert isinstance(first, Flaw), (before.sequence + 1, position)
            is_last_newline = position == len(line) - 1
            assert first.kind == ("torn" if is_last_newline else "altered"), (before.sequence + 1, position)
        before = Tip(sequence=read.numbered.entry.sequence, digest=read.numbered.digest)


@pytest.mark.parametrize("position", range(0, 60, 7))
def test_a_changed_record_is_named_and_what_follows_is_still_read(forge: Forge, position: int) -> None:
    lines = list(forge.lines)
    lines[position] = lines[position].replace(b"ann", b"eve")
    found = replayed(b"".join(lines))
    assert found.trust == "broken"
    assert (found.flaws[0].sequence, found.flaws[0].kind) == (position + 1, "altered")
    assert found.records == len(lines) - 1


def test_every_record_that_is_removed_is_found(forge: Forge) -> None:
    for position in range(len(forge.lines) - 1):
        found = replayed(b"".join(forge.lines[:position] + forge.lines[position + 1 :]))
        assert (found.flaws[0].sequence, found.flaws[0].kind, found.trust) == (position + 1, "missing", "broken"), position


def test_every_record_that_stands_twice_is_found(forge: Forge) -> None:
    for position, line in enumerate(forge.lines):
        found = replayed(b"".join([*forge.lines[:position], line, *forge.lines[position:]]))
        assert (found.flaws[0].sequence, found.flaws[0].kind, found.flaws_count) == (position + 1, "out_of_order", 1), position


def test_every_two_records_that_are_swapped_are_found(forge: Forge) -> None:
    for position in range(len(forge.lines) - 1):
        lines = list(forge.lines)
        lines[position], lines[position + 1] = lines[position + 1], lines[position]
        found = replayed(b"".join(lines))
        assert {flaw.kind for flaw in found.flaws} >= {"missing", "out_of_order"}, position
        assert found.flaws[0].sequence == position + 1


def test_a_cut_end_in_the_middle_of_a_line_is_torn(forge: Forge) -> None:
    for cut in (1, 2, len(forge.lines[-1]) - 1):
        found = replayed(forge.data[:-cut])
        assert [flaw.kind for flaw in found.flaws] == ["torn"]
        assert (found.trust, found.law) == ("broken", "kept")


def test_a_lost_segment_is_found_and_packed_ones_are_read(forge: Forge, tmp_path: Path) -> None:
    directory = write(tmp_path, b"".join(forge.lines[:20]))
    first = directory / "ledger" / "000001.jsonl"
    (directory / "ledger" / "000002.jsonl").write_bytes(b"".join(forge.lines[20:40]))
    (directory / "ledger" / "000003.jsonl").write_bytes(b"".join(forge.lines[40:]))
    assert replay_at(directory).flaws == ()
    first.with_name("000001.jsonl.gz").write_bytes(gzip.compress(first.read_bytes()))
    first.unlink()
    assert replay_at(directory).flaws == ()
    (directory / "ledger" / "000002.jsonl").unlink()
    assert [(flaw.sequence, flaw.kind) for flaw in replay_at(directory).flaws][:1] == [(21, "missing")]
    packed = first.with_name("000001.jsonl.gz")
    packed.write_bytes(packed.read_bytes()[:-40])
    assert replay_at(directory).flaws[0].kind in {"altered", "torn"}


def test_a_ledger_is_found_by_file_directory_and_database_directory(forge: Forge, tmp_path: Path) -> None:
    write(tmp_path / "shop.duckdb.interlock" / "p1", forge.data)
    below = tmp_path / "shop.duckdb.interlock"
    for place in (below, below / "p1", below / "p1" / "ledger", below / "p1" / "ledger" / "000001.jsonl"):
        assert replay_at(place).records == len(forge.lines)
    for nothing in (tmp_path, tmp_path / "gone"):
        with pytest.raises(Refused) as caught:
            parts_of(nothing)
        assert caught.value.findings[0].code == "S101"


def test_replay_begins_at_a_known_tip_and_believes_no_other(forge: Forge, tmp_path: Path) -> None:
    closes = [number for number, line in enumerate(forge.lines, start=1) if b'"event":"close"' in line]
    cut = closes[0]
    tip = f"{cut}:{read_line(forge.lines[cut - 1]).digest}"
    directory = write(tmp_path / "whole", forge.data)
    later = tmp_path / "later"
    (later / "ledger").mkdir(parents=True)
    (later / "ledger" / "000002.jsonl").write_bytes(b"".join(forge.lines[cut:]))
    for place in (directory, later):
        found = replay_of(place, at=None, runs=None, tip=tip)
        assert found["replayed"].flaws == ()
        assert (found["exit_code"], found["replayed"].records) == (0, len(forge.lines) - cut)
    for place in (directory, later):
        assert replay_of(place, at=None, runs=None, tip=f"{cut}:{'0' * 64}")["exit_code"] == 4
    assert replay_of(later, at=None, runs=None)["exit_code"] == 4
    for nothing in ("7", "7:abc", f"x:{'0' * 64}"):
        with pytest.raises(Refused):
            replay_of(directory, at=None, runs=None, tip=nothing)
