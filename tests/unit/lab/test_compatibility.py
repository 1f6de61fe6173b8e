"""docs/compatibility.*: what lanes said, written from one file and true of the rows there are."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import compatibility
import lanes
import pytest
import verdicts
from support.packages import REPOSITORY

from patchkit.core.rows.project import parse_toml

if TYPE_CHECKING:
    from pathlib import Path

PLANS = lanes.read_plans()
RESULTS = compatibility.read()
PROJECT = REPOSITORY / "pyproject.toml"
PENDING: set[str] = set()
"""Lanes that are not green yet: `make matrix` gives them a result, and then they go from here."""
PLAN = lanes.Plan(
    "1", {"vllm": "1.2.0", "ray": "2.1"}, "3.11", "unit", "engine", notes="a note"
)
OTHER = lanes.Plan("2", {"vllm": "1.10.0", "ray": "2.1"}, "3.11", "unit", "engine")
UNIT = lanes.Plan("python-3.11", {}, "3.11", "unit", "unit")
NEVER = lanes.Plan("3", {"vllm": "1.3.0"}, reason="no <build>", proof="the | index")


def result(**outcomes: str) -> dict[str, Any]:
    """A lane's result: all checks passed but those that are given, as `result: reason`."""
    results = []
    for check in lanes.CHECKS["engine"]:
        text = outcomes.get(check.replace("-", "_"), "passed")
        outcome, _, detail = text.partition(": ")
        results.append(
            {"check": check, "result": outcome, "seconds": 1, "detail": detail}
        )
    return {
        "date": "2026-11-23",
        "seconds": 61.4,
        "install_seconds": None,
        "megabytes": 3500,
        "environment": {"python": "3.11.7", "vllm": "1.2.0+cpu"},
        "simulation": [{"row": "sim-ray", "why": "no NPU"}],
        "results": results,
    }


@pytest.mark.parametrize("ending", ["md", "html", "svg"])
def test_each_page_is_what_the_results_give(ending: str) -> None:
    """Nobody has edited it; `python lab/compatibility.py` writes it anew."""
    page = (compatibility.DOCS / f"compatibility.{ending}").read_text("utf-8")
    assert page == compatibility.pages(PLANS, RESULTS)[ending]


def test_the_results_are_for_the_rows_and_lanes_there_are() -> None:
    """`make matrix LANES=…` runs those again that are not."""
    stale = verdicts.stale(PLANS, RESULTS, lanes.all_rows())
    again = f"run them again: make matrix LANES={','.join(stale)}"
    assert stale == {}, again
    assert RESULTS.keys() <= {plan.name for plan in PLANS if not plan.reason}


def test_every_lane_is_green() -> None:
    """Only those in PENDING are not, and one that is green has to leave it."""
    assert verdicts.missing(PLANS, RESULTS) == PENDING


def test_no_result_is_edited() -> None:
    """`make matrix` seals what it writes."""
    edited = [name for name, kept in RESULTS.items() if verdicts.is_edited(kept)]
    assert edited == []
    assert [name for name, kept in RESULTS.items() if "seal" not in kept] == []


def test_only_pythons_that_were_run_are_claimed() -> None:
    """The classifiers name only those whose unit tests have passed in a lane."""
    project = parse_toml(PROJECT, PROJECT.read_bytes())["project"]
    claimed = re.findall(
        r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE
    )
    green = verdicts.green(PLANS, RESULTS) | PENDING
    unit_lanes = [plan for plan in PLANS if plan.runs == "unit"]
    assert set(claimed) <= {plan.python for plan in unit_lanes if plan.name in green}
    oldest = min(claimed, key=lambda text: int(text[2:]))
    assert project["requires-python"] == f">={oldest}"


def test_a_page_has_all_that_a_lane_said() -> None:
    """It has marks, notes, reasons of checks that did not pass, and lanes that cannot run."""
    unit = {"check": "unit", "result": "passed", "detail": "9 passed"}
    results = {
        "1": result(ray_v2="not run: no V2 | yet"),
        "2": result(flagship="failed: the worker died"),
        "python-3.11": {**result(), "results": [unit]},
    }
    page = compatibility.pages([PLAN, OTHER, UNIT, NEVER], results)["md"]
    marks = "✓ | ✓ | ✓ | ✓ | ✓ | – | ✓ | ✓"  # noqa: RUF001 - the sign for nothing
    for line in (
        f"| 1 | 1.2.0 | 2.1 | {marks} | 61 | 2026-11-23 |",
        "- 1: a note.",
        "- 1, `ray-v2`: no V2 | yet",
        "- 2, `flagship`: the worker died",
        "| 1 | 3.11.7 | – | 1.2.0+cpu | – | – | – | 3,500 |",  # noqa: RUF001
        "| 3.11.7 | ✓ 9 passed | 61 | 2026-11-23 |",
        "| `sim-ray` | no NPU | 1, 2 |",
        "| 3 | no <build> | the \\| index |",
    ):
        assert line in page.splitlines()
    without = compatibility.pages([PLAN, OTHER], {"1": results["1"]})["md"]
    assert without.endswith("## Lanes without a result\n\n| lane |\n|---|\n| 2 |\n")


def test_lanes_with_one_reason_share_a_line() -> None:
    """A check that several lanes did not run for the same reason is explained once."""
    results = {name: result(ray_v2="not run: no V2") for name in ("1", "2")}
    page = compatibility.pages([PLAN, OTHER], results)["md"]
    assert "- 1, 2, `ray-v2`: no V2" in page.splitlines()


def test_the_grid_is_one_page_in_the_style_of_check() -> None:
    """Details of a cell are in its title, and nothing that a lane said is markup."""
    results = {"1": result(), "2": result(ray_v2="not run: <none>", engine="failed: x")}
    page = compatibility.pages([PLAN, OTHER], results)["html"]
    assert '<td class="out-of-range"><span title="not run: &lt;none&gt;">' in page
    assert '<td class="broken"><span title="failed: x">' in page
    assert page.count('<td class="ok">') == 14
    assert "<h1>patchkit on vLLM 1.2.0</h1>" in page


GREEN, GREY, RED = "#1f6f3f", "#5c6370", "#a32020"


@pytest.mark.parametrize(
    ("results", "words", "colour"),
    [
        ({"1": result(), "2": result()}, "vLLM 1.2.0 to 1.10.0", GREEN),
        ({"1": result(), "2": result(engine="failed: x")}, "vLLM 1.2.0", RED),
        ({"1": result()}, "vLLM 1.2.0, partly run", GREY),
        ({}, "vLLM nothing yet, partly run", GREY),
    ],
)
def test_the_badge_names_releases_whose_lanes_are_green(
    results: dict[str, Any], words: str, colour: str
) -> None:
    """It is red if one lane is, and grey while one has not run that can."""
    page = compatibility.pages([PLAN, OTHER, NEVER], results)["svg"]
    root = ET.fromstring(page)
    assert root.get("aria-label") == words
    assert colour in page


def test_the_badge_leaves_out_a_hybrid() -> None:
    """The badge does not name what nobody can install."""
    hybrid = dataclasses.replace(OTHER, name="1.10.0-hybrid")
    results = {"1": result(), hybrid.name: result()}
    page = compatibility.pages([PLAN, hybrid], results)["svg"]
    assert ET.fromstring(page).get("aria-label") == "vLLM 1.2.0"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    """Neither the results nor a page is cut off."""
    compatibility.write([PLAN], {"1": result()}, tmp_path)
    before = {file: file.read_text() for file in tmp_path.glob("compatibility.*")}
    (tmp_path / ".compatibility.svg.new").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        compatibility.write([PLAN, OTHER], {"1": result(), "2": result()}, tmp_path)
    assert {file: file.read_text() for file in before} == before


def test_results_are_kept_in_the_order_of_the_lanes(tmp_path: Path) -> None:
    """A lane that is gone from the file is gone from the results."""
    compatibility.write(
        [OTHER, PLAN], {"1": result(), "2": result(), "0": result()}, tmp_path
    )
    kept = compatibility.read(tmp_path)
    assert [*kept] == ["2", "1"]
    pages = compatibility.pages([OTHER, PLAN], kept)
    for ending, page in pages.items():
        assert (tmp_path / f"compatibility.{ending}").read_text() == page
