"""The page of a run: in a real browser, in light, dark, narrow and print, with 2,000 models, with hostile names; offline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.browser import CHROMIUM, Page, browsing

from interlock.engine.audit.facts import Fact
from interlock.engine.audit.report import Report, ReportModel
from interlock.engine.audit.told import Guarded, Text, Told, Work
from interlock.engine.views.report import page

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: `apt-get install chromium`")
EVIL = "<script>alert(1)</script>"
EVIL_TOO = "\"><img src=x onerror=alert(2)>&amp;'</script><!--"
SHOTS = os.environ.get("INTERLOCK_SCREENSHOTS")


def way(state: str) -> tuple[Told, ...]:
    held = Guarded(guard="plan_is_as_sealed", holds="yes", says="it is as sealed", reads="digests", invariant="I1")
    refused = Guarded(
        guard="no_error_check_failed", holds="no", says="no check failed", reads="verdicts", invariant="I4", code="G527",
        because=f"check failed for {EVIL}", remedy="correct the rows",
    )  # fmt: skip
    facts = (Fact(name="rows", value="3 written"), Fact(name=EVIL, value=EVIL_TOO))
    guards = (held, refused) if state == "refused" else (held,)
    return (
        Told(
            sequence=1, time="2026-03-02T10:00:00.000000Z", event="commit", source="bootstrapping", target=state, guards=guards, facts=facts
        ),
    )


def model(name: str, number: int, *, state: str = "checkpointed", reads: tuple[str, ...] = ()) -> ReportModel:
    refused = state == "refused"
    return ReportModel(
        name=name, action="create", kind="table", state=state, code="G527" if refused else "", because=f"{EVIL} failed" if refused else "",
        remedy="correct the rows" if refused else "", needed=("no check failed",) if refused else (), reads=reads, rows="3 written, 3 after",
        begun=number * 10, ended=number * 10 + 35, checks=("unique_id (error): passed",),
        columns=(Fact(name="id", value=f"stg.{EVIL}"),), steps=way(state),
        work=Work(action="create", reasons=("new",), statements=(Text(role="create", text=f"SELECT '{EVIL_TOO}'"),), text=f"select '{EVIL}'"),
    )  # fmt: skip


def report(*models: ReportModel) -> Report:
    return Report(
        run="20260302T100000-0123456789abcdef0123", plan="a" * 64, outcome="partial", project=EVIL, target="dev", actor=EVIL_TOO, version="0.1.0",
        started="2026-03-02T10:00:00.000000Z", ended="2026-03-02T10:00:09.000000Z", milliseconds=9000, models=models, steps=(), said=(EVIL,),
    )  # fmt: skip


SMALL = report(
    model("stg", 0),
    model(EVIL, 1, state="refused", reads=("stg",)),
    model(EVIL_TOO, 2, state="refused", reads=(EVIL,)),
    model("mart", 3, reads=("stg", "elsewhere")),
)


def large(count: int) -> Report:
    def reads(number: int) -> tuple[str, ...]:
        return tuple(f"model_{each:04d}" for each in {number // 3, number // 7, number - 40} if 0 <= each < number)

    return report(
        *(
            model(f"model_{number:04d}", number, state="refused" if number % 97 == 5 else "checkpointed", reads=reads(number))
            for number in range(count)
        )
    )


def test_nothing_of_a_name_or_a_value_is_markup() -> None:
    html = page(SMALL)
    assert EVIL not in html
    assert "<img" not in html
    assert len(re.findall(r"<script", html)) == 2
    assert len(re.findall(r"</script>", html)) == 2


def test_the_page_asks_nobody_for_anything() -> None:
    html = page(SMALL)
    assert "default-src 'none'" in html.replace("&#x27;", "'")
    addresses = set(re.findall(r"https?://[^\"'\s<]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:link|script|img|iframe)[^>]+(?:src|href)=\"(?!data:)", html)


def test_refusals_come_first_with_their_remedies() -> None:
    html = page(SMALL)
    assert html.index("<h2>Refused") < html.index("<h2>Models") < html.index("<h2>Timeline") < html.index("<h2>All models")
    assert "<b>remedy:</b> correct the rows" in html


def test_two_thousand_models_make_a_page_that_can_be_mailed() -> None:
    html = page(large(2000))
    assert len(html) < 12_000_000
    assert html.count("<tr data-model=") == 2000
    assert "<details><summary>drawing" in html


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Path]]:
    directory = tmp_path_factory.mktemp("report")
    (directory / "small.html").write_text(page(SMALL), encoding="utf-8")
    (directory / "large.html").write_text(page(large(2000)), encoding="utf-8")
    with browsing() as opened:
        opened.open(directory / "small.html")
        yield opened, directory


@in_browser
def test_it_renders_without_a_word_in_the_console_and_without_a_request(shown: tuple[Page, Path]) -> None:
    opened, directory = shown
    assert opened.value("document.querySelectorAll('.dag .node').length") == 5
    assert opened.value("[...document.querySelectorAll('#models tbody tr')].map(row => row.dataset.model)") == [
        "stg",
        EVIL,
        EVIL_TOO,
        "mart",
    ]
    assert opened.console == []
    assert {url for url in opened.requests if not url.startswith("data:")} == {(directory / "small.html").as_uri()}


@in_browser
def test_a_click_on_a_model_shows_its_way_guards_sql_and_reads(shown: tuple[Page, Path]) -> None:
    opened, _ = shown
    opened.click(".dag .node.refused")
    assert opened.value("document.getElementById('panel').hidden") is False
    assert opened.value("document.getElementById('panel-title').textContent") == EVIL
    text = opened.value("document.getElementById('panel').innerText")
    for part in (
        "bootstrapping → refused",
        "no_error_check_failed (I4)",
        "remedy: correct the rows",
        "reads stg",
        "unique_id (error): passed",
        f"select '{EVIL}'",
    ):
        assert part in text, part
    opened.press("Escape")
    assert opened.value("document.getElementById('panel').hidden") is True
    assert opened.console == []


@in_browser
def test_it_is_used_by_keyboard_alone(shown: tuple[Page, Path]) -> None:
    opened, _ = shown
    opened.press("/")
    assert opened.value("document.activeElement.id") == "search"
    for letter in "mar":
        opened.press(letter)
    assert opened.value("[...document.querySelectorAll('#models tbody tr')].filter(row => !row.hidden).length") == 1
    opened.value("document.querySelector('.dag .node.good').focus()")
    opened.press("Enter")
    assert opened.value("document.getElementById('panel-title').textContent") in {"stg", "mart"}
    assert opened.value("document.activeElement.className") == "close"
    opened.press("Escape")
    assert opened.value("document.activeElement.classList.contains('node')") is True
    opened.value("search.value = ''; search.dispatchEvent(new Event('input'))")


@in_browser
@pytest.mark.parametrize(
    ("name", "width", "dark", "print_"),
    [("light", 1200, False, False), ("dark", 1200, True, False), ("narrow", 380, False, False), ("print", 1000, False, True)],
)
def test_it_fits_its_window_in_light_dark_narrow_and_print(
    name: str, width: int, dark: bool, print_: bool, shown: tuple[Page, Path]
) -> None:
    opened, _ = shown
    picture = opened.look(width=width, height=1400, dark=dark, print_=print_)
    assert picture.startswith(b"\x89PNG")
    assert opened.value("document.documentElement.scrollWidth") <= width
    background = opened.value("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(11, 18, 32)" if dark else "rgb(255, 255, 255)")
    if SHOTS:
        (Path(SHOTS) / f"{name}.png").write_bytes(picture)
        opened.click(".dag .node.refused") if not print_ else None
        (Path(SHOTS) / f"{name}-panel.png").write_bytes(opened.look(width=width, height=1400, dark=dark))
        opened.press("Escape")


@in_browser
def test_two_thousand_models_are_searched_and_opened(shown: tuple[Page, Path]) -> None:
    _, directory = shown
    with browsing() as opened:
        opened.open(directory / "large.html")
        opened.value("search.value = 'model_1999'; search.dispatchEvent(new Event('input'))")
        assert opened.value("document.getElementById('count').textContent") == "1 of 2000"
        opened.click("#models tbody tr:not([hidden]) button")
        assert opened.value("document.getElementById('panel-title').textContent") == "model_1999"
        assert opened.console == []
