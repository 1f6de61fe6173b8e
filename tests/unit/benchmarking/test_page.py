"""The tables that a run of the benchmarks writes into docs/benchmarks.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.measure import Spread
from benchmarks.page import PAGE, PageError, aims_table, case_tables, write
from benchmarks.results import Aim, Line, Result

if TYPE_CHECKING:
    from pathlib import Path

TIMES = "\N{MULTIPLICATION SIGN}"
RESULT = Result(
    name="pile",
    title="A whole pile",
    unit="ms",
    rounds=5,
    against=["mock", "wrapt"],
    lines=[
        Line(
            "165 changes",
            Spread(81.234, 80.0, 82.0),
            {"mock": Spread(100.7, 99.0, 102.0)},
        )
    ],
    aims=[Aim(f"at most {TIMES}125 of mock", 100.7, 125), Aim("no leak", 17.0, 16.0)],
    notes=["wrapt is not installed here"],
)
EMPTY = """# Benchmarks

<!-- aims: written by `make bench` -->
old
<!-- end of aims -->

Words between.

<!-- cases: written by `make bench` -->
<!-- end of cases -->
"""


def test_an_aim_is_a_row_that_says_whether_it_is_met() -> None:
    """An aim's row has the figure that decides, its limit, and `met` or `missed`."""
    rows = aims_table([RESULT]).splitlines()
    assert rows[-2:] == [
        f"| `pile` | at most {TIMES}125 of mock | 101 | 125 | met |",
        "| `pile` | no leak | 17 | 16 | **missed** |",
    ]


def test_a_case_is_a_row_with_its_ratios() -> None:
    """A ratio that was not measured is an empty cell; a note stands below."""
    rows = case_tables([RESULT]).splitlines()
    assert "| case | ms | against mock | against wrapt |" in rows
    assert f"| 165 changes | 81.2 | {TIMES}101 (99 to 102) |  |" in rows
    assert rows[-1] == "wrapt is not installed here"


def test_a_page_is_written_between_its_markers(tmp_path: Path) -> None:
    """What stands beside them stays, and a second run replaces the first."""
    page = tmp_path / "page.md"
    page.write_text(EMPTY)
    write([RESULT], page)
    first = page.read_text()
    assert "old" not in first
    assert "Words between." in first
    write([RESULT], page)
    assert page.read_text() == first


def test_a_page_without_a_marker_stays_as_it_was(tmp_path: Path) -> None:
    """Writing into a page that lacks a marker is an error that names it, and writes nothing."""
    page = tmp_path / "page.md"
    page.write_text(EMPTY.replace("<!-- end of cases -->", ""))
    before = page.read_text()
    with pytest.raises(PageError, match="end of cases"):
        write([RESULT], page)
    assert page.read_text() == before


def test_the_page_of_the_docs_has_all_markers(tmp_path: Path) -> None:
    """Tables can be written into docs/benchmarks.md, so that no run is lost at its end."""
    copy = tmp_path / "benchmarks.md"
    copy.write_text(PAGE.read_text("utf-8"), "utf-8")
    write([RESULT], copy)
