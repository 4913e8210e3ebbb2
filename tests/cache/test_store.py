"""What the cache gives back is what was kept, whole; anything else is as if it were not there."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interlock.engine.cache import store
from interlock.engine.cache.store import FOLDER, HEAD, Cache

BODY = b"what was worked out" * 50


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    found = Cache(tmp_path)
    found.write("x", BODY)
    return found


def test_what_was_kept_comes_back(cache: Cache) -> None:
    view = cache.read("x")
    assert view is not None
    assert bytes(view) == BODY
    assert cache.read("y") is None


def test_git_does_not_see_it(cache: Cache) -> None:
    assert (cache.root / FOLDER / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_every_flipped_bit_and_every_cut_is_seen(cache: Cache) -> None:
    place = cache.root / FOLDER / "x"
    data = place.read_bytes()
    for index in range(len(data)):
        for bit in (1, 128):
            place.write_bytes(data[:index] + bytes([data[index] ^ bit]) + data[index + 1 :])
            assert cache.read("x") is None
        place.write_bytes(data[:index])
        assert cache.read("x") is None
    place.write_bytes(data + b"x")
    assert cache.read("x") is None


@pytest.mark.parametrize("foreign", [b"", HEAD, b"PK\x03\x04" + bytes(100), BODY])
def test_a_foreign_file_is_not_read(cache: Cache, foreign: bytes) -> None:
    (cache.root / FOLDER / "x").write_bytes(foreign)
    assert cache.read("x") is None


def test_a_link_is_not_followed(cache: Cache, tmp_path: Path) -> None:
    place = cache.root / FOLDER / "x"
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert cache.read("x") is None
    cache.write("x", b"new")
    assert not place.is_symlink()
    assert bytes(cache.read("x") or b"") == b"new"
    assert (tmp_path / "elsewhere").read_bytes().endswith(BODY)


def test_a_linked_folder_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / FOLDER).symlink_to(tmp_path / "elsewhere")
    cache = Cache(tmp_path)
    cache.write("x", BODY)
    assert cache.read("x") is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_is_no_file_is_not_waited_for(cache: Cache) -> None:
    place = cache.root / FOLDER / "x"
    place.unlink()
    os.mkfifo(place)
    assert cache.read("x") is None
    place.unlink()
    place.mkdir()
    assert cache.read("x") is None
    cache.write("x", BODY)


def test_what_is_huge_is_not_read(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SIZE_MAX", 100)
    assert cache.read("x") is None
    cache.write("z", BODY)
    assert not (cache.root / FOLDER / "z").exists()


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file", encoding="utf-8")
    cache = Cache(tmp_path)
    cache.write("x", BODY)
    assert cache.read("x") is None
    Cache(tmp_path / "gone").write("x", BODY)
    Cache(tmp_path, writes=False).write("x", BODY)


def test_two_writers_leave_one_whole_file(cache: Cache) -> None:
    bodies = [bytes([number]) * 200_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda body: [cache.write("x", body), cache.read("x")][1], bodies * 4))
    assert all(view is not None and bytes(view) in bodies for view in seen)
    assert sorted(path.name for path in (cache.root / FOLDER).iterdir()) == [".gitignore", "x"]


def test_what_a_killed_writer_left_is_cleared(cache: Cache) -> None:
    gone, here = (cache.root / FOLDER / f"x.part-{process}-0" for process in (2**22 + 7, os.getpid()))
    gone.touch()
    here.touch()
    cache.write("x", BODY)
    assert (gone.exists(), here.exists()) == (False, True)
