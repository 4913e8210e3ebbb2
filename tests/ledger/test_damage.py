"""Whatever happens to the bytes of a ledger is found, named by record, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.chains import lines_of, twenty_records

from interlock.engine.ledger.lines import LINE_BYTES_MAX, BadLine, read_line
from interlock.engine.ledger.places import segment_path
from interlock.engine.ledger.reader import LedgerAbsent, LedgerBroken, LedgerUnreadable, LedgerWhole, Unsound, entries, read
from interlock.machines.records import digest


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return twenty_records(tmp_path_factory.mktemp("whole")).read_bytes()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("damaged")
    segment_path(made, 1).parent.mkdir()
    return made


def put(directory: Path, data: bytes) -> Path:
    segment_path(directory, 1).write_bytes(data)
    return directory


def framed(record: bytes) -> bytes:
    return b'{"sha256":"' + digest("record", record).encode() + b'","record":' + record + b"}\n"


def test_the_untouched_ledger_is_whole(whole: bytes, directory: Path) -> None:
    found = read(put(directory, whole))
    assert isinstance(found, LedgerWhole)
    assert (found.tip.sequence, found.tip.offset, found.torn) == (whole.count(b"\n"), len(whole), 0)
    assert found.fold.tip == found.tip.digest


def test_one_changed_byte_anywhere_is_found(whole: bytes, directory: Path) -> None:
    count = whole.count(b"\n")
    for index in range(len(whole) - 1):
        damaged = bytearray(whole)
        damaged[index] ^= 1 << (index % 8)
        line = damaged[: whole.rfind(b"\n", 0, index) + 1].count(b"\n")
        with pytest.raises(BadLine):
            # The line that holds the byte, or what it has become: cut in two, or joined with the next.
            read_line(bytes(damaged).splitlines(keepends=True)[line] if damaged[index] != 10 else bytes(damaged[: index + 1]))
        if index % 37 == 0:
            found = read(put(directory, bytes(damaged)))
            assert isinstance(found, LedgerBroken), (index, found)
            assert found.sequence == line + 1 <= count
            assert found.finding.code == "K707"


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_of_a_small_ledger_is_found_in_every_byte(bit: int, whole: bytes, directory: Path) -> None:
    small = b"".join(whole.splitlines(keepends=True)[:2])
    for index in range(len(small)):
        damaged = bytearray(small)
        damaged[index] ^= 1 << bit
        found = read(put(directory, bytes(damaged)))
        if index == len(small) - 1:
            assert isinstance(found, LedgerWhole)
            assert found.torn
        else:
            assert isinstance(found, LedgerBroken)


def test_cut_at_any_byte_it_is_a_shorter_ledger_and_the_rest_is_torn(whole: bytes, directory: Path) -> None:
    for length in [*range(700), *range(700, len(whole), 13), len(whole)]:
        found = read(put(directory, whole[:length]))
        kept = whole[:length].rfind(b"\n") + 1
        if kept == 0:
            assert found == LedgerAbsent(torn=length)
        else:
            assert isinstance(found, LedgerWhole), length
            assert (found.tip.offset, found.torn) == (kept, length - kept)
            assert found.tip.sequence == whole[:kept].count(b"\n") == found.fold.sequence


def test_removed_doubled_and_swapped_lines_are_found(tmp_path: Path, directory: Path) -> None:
    lines = list(lines_of(twenty_records(tmp_path)))
    for at in range(len(lines) - 1):
        removed = lines[:at] + lines[at + 1 :]
        doubled = lines[: at + 1] + lines[at:]
        swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
        for damaged, record in ((removed, at + 1), (doubled, at + 2), (swapped, at + 1)):
            found = read(put(directory, b"".join(damaged)))
            assert isinstance(found, LedgerBroken), at
            assert found.sequence == record


def test_a_record_that_was_changed_with_its_digest_breaks_the_chain(whole: bytes, directory: Path) -> None:
    lines = whole.splitlines(keepends=True)
    record = msgspec.json.decode(lines[2])["record"]
    lines[2] = framed(json.dumps({**record, "actor": "eve"}, separators=(",", ":")).encode())
    found = read(put(directory, b"".join(lines)))
    assert isinstance(found, LedgerBroken)
    assert found.sequence == 4
    assert "parent" in found.because


def test_whitespace_that_json_allows_is_a_change(whole: bytes, directory: Path) -> None:
    for old, new in ((b'{"sha256":', b'{ "sha256":'), (b"}\n", b"} \n"), (b"}\n", b"}\r\n")):
        found = read(put(directory, whole.replace(old, new, 1)))
        assert isinstance(found, LedgerBroken)


def test_another_format_says_so(directory: Path) -> None:
    found = read(put(directory, b'{"format":2,"sha256":"00","record":{}}\n'))
    assert isinstance(found, LedgerBroken)
    assert "format 1" in found.because


def test_garbage_is_broken_with_a_reason(whole: bytes, directory: Path) -> None:
    for garbage in (b"\n", b"{}\n", b"null\n", b"\x00" * 5000 + b"\n", bytes(range(256)) + b"\n", b"[" * 200_000 + b"\n"):
        found = read(put(directory, whole + garbage))
        assert isinstance(found, LedgerBroken | LedgerWhole), garbage[:20]
        assert isinstance(found, LedgerBroken) or found.torn


def test_a_record_of_no_known_kind_is_unreadable_and_not_broken(whole: bytes, directory: Path) -> None:
    deep = b'{"evidence":' * 100_000 + b"1" + b"}" * 100_000
    for record in (b"[]", b"{}", deep, b"[" * 100_000 + b"]" * 100_000, b'{"sequence":"1"}', b'"\xff"', b"{} {}", b""):
        found = read(put(directory, whole + framed(record)))
        assert isinstance(found, LedgerUnreadable), record[:20]
        assert found.sequence == whole.count(b"\n") + 1
        assert found.finding.code == "K708"
    first, second = whole.splitlines(keepends=True)[:2]
    record = bytes(msgspec.json.decode(second, type=dict[str, msgspec.Raw])["record"])
    newer = record.replace(b'"evidence":{"type":"authorize"', b'"evidence":{"type":"oracle"')
    assert newer != record
    found = read(put(directory, first + framed(newer)))
    assert isinstance(found, LedgerUnreadable)
    assert "newer release" in found.because


def test_a_line_without_end_is_read_in_bounded_memory(whole: bytes, directory: Path) -> None:
    file = segment_path(put(directory, whole), 1)
    with file.open("r+b") as opened:
        opened.truncate(len(whole) + 3 * LINE_BYTES_MAX)
    found = read(directory)
    assert isinstance(found, LedgerWhole)
    assert found.torn == 3 * LINE_BYTES_MAX
    with file.open("ab") as opened:
        opened.write(b"\n")
    found = read(directory)
    assert isinstance(found, LedgerBroken)
    assert "longer than a line may be" in found.because
    file.unlink()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_bytes_make_a_traceback_and_no_damage_is_whole(data: st.DataObject, whole: bytes, directory: Path) -> None:
    start = data.draw(st.integers(0, len(whole) - 2), label="start")
    length = data.draw(st.integers(0, 400), label="length")
    new = data.draw(st.binary(max_size=60), label="new")
    damaged = whole[:start] + new + whole[start + length :]
    found = read(put(directory, damaged))
    if isinstance(found, LedgerWhole):
        assert damaged[: found.tip.offset] == whole[: found.tip.offset], "what is read as whole is a prefix of what was written"
        assert found.torn == len(damaged) - found.tip.offset
    else:
        assert isinstance(found, LedgerBroken | LedgerUnreadable | LedgerAbsent)
        assert not isinstance(found, LedgerAbsent) or b"\n" not in damaged


def test_entries_stop_with_the_answer(whole: bytes, directory: Path) -> None:
    lines = whole.splitlines(keepends=True)
    put(directory, b"".join([*lines[:5], lines[7]]))
    seen = []
    with pytest.raises(Unsound) as stopped:
        seen.extend(entry.sequence for _, entry in entries(directory))
    assert seen == [1, 2, 3, 4, 5]
    assert isinstance(stopped.value.found, LedgerBroken)


def test_nothing_there_is_absent_and_unreadable_is_not_absent(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == LedgerAbsent()
    (tmp_path / "ledger").mkdir()
    assert read(tmp_path) == LedgerAbsent()
    (tmp_path / "ledger" / "notes.txt").write_text("mine")
    assert read(tmp_path) == LedgerAbsent()
    (tmp_path / "ledger" / "000001.jsonl").mkdir()
    assert isinstance(read(tmp_path), LedgerUnreadable)
    file = tmp_path / "file"
    file.write_text("")
    assert isinstance(read(file), LedgerUnreadable)


def test_a_missing_or_torn_earlier_segment_is_broken(whole: bytes, tmp_path: Path) -> None:
    lines = whole.splitlines(keepends=True)
    segment_path(tmp_path, 1).parent.mkdir()
    segment_path(tmp_path, 2).write_bytes(b"".join(lines[9:]))
    found = read(tmp_path)
    assert isinstance(found, LedgerBroken)
    assert "000001.jsonl is missing" in found.because
    segment_path(tmp_path, 1).write_bytes(b"".join(lines[:9]))
    assert isinstance(read(tmp_path), LedgerWhole)
    segment_path(tmp_path, 1).write_bytes(b"".join(lines[:9]) + b"{")
    assert isinstance(read(tmp_path), LedgerBroken)
    segment_path(tmp_path, 1).write_bytes(b"")
    found = read(tmp_path)
    assert isinstance(found, LedgerBroken)
    assert "empty" in found.because
