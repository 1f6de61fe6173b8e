"""The pages that patchkit writes, in a real browser: two widths, light and dark, read by axe."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from analysis.status.told import child, engine, journal, look, patch, role
from axe_playwright_python.sync_playwright import Axe
from cli.report.reports import HOSTILE, large, sample
from cli.report.test_check_pages import DIFFS, EMPTY, HOSTILE_REPORT
from playwright.sync_api import sync_playwright

from patchkit.analysis.status.picture import draw
from patchkit.cli.report import check_html, status_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

FAILED = journal(
    40,
    role("worker"),
    patch("one", "failed", HOSTILE),
    child(50, "EngineCore", "engine-core"),
    argv=[HOSTILE, "a-long-argument" * 20],
)
ONE = journal(
    10,
    role("main"),
    *(
        patch(f"own-{number}", "skipped", "vllm is not installed")
        for number in range(15)
    ),
    patch("a-patch-of-the-company", "applied"),
    patches=[*(f"own-{number}" for number in range(15)), "a-patch-of-the-company"],
    packs={f"own-{number}": "patchkit.platform" for number in range(15)},
)
PAGES = {
    "check": check_html.as_html(sample(), DIFFS),
    "check-empty": check_html.as_html(EMPTY),
    "check-hostile": check_html.as_html(
        HOSTILE_REPORT, DIFFS, [HOSTILE], {"PK101": HOSTILE}
    ),
    "check-large": check_html.as_html(large()),
    "status": status_html.as_html(draw([look(*engine(8))])),
    "status-one": status_html.as_html(draw([look(ONE)])),
    "status-empty": status_html.as_html(draw([look()])),
    "status-failed": status_html.as_html(
        draw([look(*engine(), FAILED)]), is_watched=True
    ),
}
WIDTHS, SCHEMES = (1280, 360), ("light", "dark")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's chromium."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    assert path, (
        "no chromium: install your distribution's package, for instance `chromium`"
    )
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start for root, or in most containers.
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def opened(
    browser: Browser, path: Path, width: int = 1280, scheme: str = "light"
) -> Page:
    """Open a file; what the console says is in `page.said`."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,  # axe is put into the page
    )
    page = context.new_page()
    page.goto(path.as_uri())
    return page


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(
    browser: Browser, tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    """Nothing of any weight; and only tables scroll sideways, never the page."""
    path = tmp_path / "page.html"
    path.write_text(PAGES[name])
    page = opened(browser, path, width, scheme)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["status", "status-failed", "status-one"])
def test_a_phone_shows_states_first(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    """At 360 pixels the first patch and its state are seen at once; no table scrolls sideways."""
    path = tmp_path / "page.html"
    path.write_text(PAGES[name])
    page = opened(browser, path, 360)
    assert page.locator("h2").first.inner_text() == "patches"
    first_row = page.locator("table.status tbody tr").first
    for cell in (first_row.locator("th"), first_row.locator("td").first):
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 640
    assert first_row.locator("td").first.get_attribute("data-head") == "main"
    widths = "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
    assert not any(page.locator(".box").evaluate_all(widths))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_its_own_script_only(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    """Nothing is blocked or fails, and no dialog opens, whatever names say."""
    path, said = tmp_path / "page.html", []
    path.write_text(PAGES[name])
    page = browser.new_context().new_page()  # with the page's own policy
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    assert said == []


def test_a_page_that_is_watched_follows_until_it_is_paused(
    browser: Browser, tmp_path: Path
) -> None:
    """It shows what was written after it was opened; paused, it stays as it is."""
    path = tmp_path / "status.html"
    path.write_text(status_html.as_html(draw([look(*engine(1))]), is_watched=True))
    page = browser.new_context().new_page()
    page.goto(path.as_uri())
    path.write_text(status_html.as_html(draw([look(*engine(3))]), is_watched=True))
    page.get_by_text("worker 2").wait_for()
    page.get_by_label("pause").check()
    page.reload()
    assert page.get_by_label("pause").is_checked()
    path.write_text("the next one")
    # A timer of the page's own length, begun after the page's: it would have been loaded by then.
    page.evaluate("new Promise(done => setTimeout(done, 2500))")
    assert page.get_by_text("worker 2").is_visible()
