"""`patchkit status --html`: the page itself; tests/browser opens it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from analysis.status.told import engine, journal, look, patch, role

from cli.report.reports import HOSTILE
from cli.report.test_check_pages import Page
from patchkit.analysis.status.picture import draw
from patchkit.cli import main
from patchkit.cli.report.status_html import as_html

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE_LOOK = look(
    journal(1, role("main"), patch("one", "failed", HOSTILE), argv=[HOSTILE])
)
EMPTY, WELL = look(), look(*engine())


def write(place: Path) -> str:
    """Put the journals of an engine into a folder."""
    for files in engine():
        for name, data in files.items():
            (place / name).write_bytes(data)
    return str(place)


@pytest.mark.parametrize(
    "seen", [EMPTY, WELL, HOSTILE_LOOK], ids=["empty", "well", "hostile"]
)
@pytest.mark.parametrize("is_watched", [False, True])
def test_a_journal_becomes_no_element(
    seen: dict[str, object], is_watched: bool
) -> None:
    """Texts of a journal add no element, script, handler or link to the page."""
    text = as_html(draw([seen]), is_watched=is_watched)
    page = Page(text.replace('<input type="checkbox" id="pause">', ""))
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    names = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    assert "\x1b" not in text


def test_the_page_says_what_the_terminal_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every word of the terminal's tables is on the page."""
    out = tmp_path / "status.html"
    assert main(["status", write(tmp_path), "--html", str(out)]) == 0
    page = re.sub(r"<[^>]*>", "", out.read_text())
    words = capsys.readouterr().out.split()
    assert {"engine-core", "VllmWorker-1", "applied", "agreement"} & set(words)
    assert not [word for word in words if word not in page]
    pages = {file.name for file in tmp_path.iterdir() if file.suffix != ".jsonl"}
    assert pages == {"status.html"}


def test_a_link_leads_to_the_page_as_before(tmp_path: Path) -> None:
    """Where the page's path is a link, the file it leads to is written, and the link stays."""
    link, page = tmp_path / "link.html", tmp_path / "page.html"
    link.symlink_to(page)
    assert main(["status", write(tmp_path), "--html", str(link)]) == 0
    assert link.is_symlink()
    assert "</html>" in page.read_text()


def test_every_state_has_its_look() -> None:
    """What failed, what is applied and what is quiet are told apart by classes that have rules."""
    page = Page(as_html(draw([HOSTILE_LOOK])))
    values = [str(span.get("class")) for span in page.all("span")]
    classes = {name for value in values for name in value.split()}
    assert {"ok", "bad"} <= classes
    styles = as_html(draw([EMPTY])).split("<style>")[1].split("</style>")[0]
    assert not [name for name in classes if f".{name}" not in styles]


def test_a_page_that_is_watched_can_be_paused() -> None:
    """The page has a pause button with `--watch`, and none without."""
    picture = draw([WELL])
    assert 'id="pause"' in as_html(picture, is_watched=True)
    assert 'id="pause"' not in as_html(picture)


def test_a_page_that_cannot_be_written_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that cannot be written is exit code 2, and the error names the file and the cause."""
    out = tmp_path / "nowhere" / "status.html"
    assert main(["status", write(tmp_path), "--html", str(out)]) == 2
    assert (
        f"{out}: cannot be written (No such file or directory)"
        in capsys.readouterr().err
    )


def test_a_full_disk_leaves_the_page_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that fails leaves the earlier page as it was, and no half-written file beside it."""
    out = tmp_path / "status.html"
    out.write_text("the page before")
    place = write(tmp_path)

    def write_a_part(self: Path, text: str, **_: object) -> None:
        self.write_bytes(text.encode()[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", write_a_part)
    assert main(["status", place, "--html", str(out)]) == 2
    assert out.read_text() == "the page before"
    pages = {file.name for file in tmp_path.iterdir() if file.suffix != ".jsonl"}
    assert pages == {"status.html"}
