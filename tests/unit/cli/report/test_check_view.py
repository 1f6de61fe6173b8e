from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.reports import HOSTILE, STATES, finding, sample
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.as_json import check_json
from patchkit.cli.report.check_github import as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.finding_groups import releases_of
from patchkit.cli.report.merged_findings import merged_sections
from patchkit.cli.report.release_spans import counted_spans, release_spans
from patchkit.cli.report.words import printable

RELEASES = [f"vllm 0.{number}.0" for number in range(8)] + ["ray 2.1.0", "ray 2.2.0"]
ROWS = st.dictionaries(st.sampled_from(RELEASES), st.sampled_from(STATES))


@given(st.dictionaries(st.sampled_from("abc"), ROWS))
def test_folding_loses_no_state(rows: dict[str, dict[str, object]]) -> None:
    """Unfolded, a grid has each state that the report has, in the order of its releases."""
    report = Report(RELEASES, [], rows)  # type: ignore[arg-type]
    unfolded: dict[str, dict[str, object]] = {}
    releases: list[str] = []
    for grid in view.state_tables(report):
        releases += [release for run in grid.runs for release in run.releases]
        for name, cells in grid.rows.items():
            row = unfolded.setdefault(name, {})
            for run, state in zip(grid.runs, cells, strict=True):
                if state is not None:
                    row.update(dict.fromkeys(run.releases, state))
    assert releases == RELEASES
    assert unfolded == {name: row for name, row in rows.items() if row}


def test_neighbours_that_look_the_same_are_one_column() -> None:
    """0.10.0 and 0.11.0 are one run, and are named by its ends."""
    (grid,) = view.state_tables(sample())
    assert list(map(str, grid.runs)) == ["0.9.0", "0.10.0 - 0.11.0"]


def test_findings_that_say_the_same_are_one() -> None:
    """Findings that differ by their release alone are one group, with all their releases."""
    report = sample()
    ((_, (group,)), _) = merged_sections(report)
    assert releases_of(group, report) == "vllm 0.10.0 to 0.11.0, 2 releases"
    assert view.tally(report) == "1 error (2 counted per release), 1 note"


@pytest.mark.parametrize(
    ("reported", "accepted", "expected"),
    [
        ([], "a", "1 finding accepted (a is still broken)"),
        ([], "ab", "2 findings accepted (a, b are still broken)"),
        ([], "abcde", "5 findings accepted (a, b, c and 2 more are still broken)"),
        ([], "f", "1 finding accepted"),
        (["a"], "a", "1 finding accepted"),
        (["a"], "ab", "2 findings accepted (b is still broken)"),
    ],
)
def test_what_acceptance_leaves_broken_is_named(
    reported: list[str], accepted: str, expected: str
) -> None:
    """The table shows these patches as broken, and nothing else says why; `f` is ok."""
    grid = {name: {"up 1.0": State.BROKEN} for name in "abcde"}
    grid["f"] = {"up 1.0": State.OK}
    report = Report(
        ["up 1.0"],
        [finding(patch=name) for name in reported],
        grid,
        accepted=[finding(patch=name) for name in accepted],
    )
    assert view.scope(report) == f"6 patches, 1 release, {expected}"


def test_an_accepted_warning_leaves_nothing_broken() -> None:
    """The patch is broken by another finding, which is not reported for another reason."""
    grid = {"a": {"up 1.0": State.BROKEN}}
    warning = finding("PK304", patch="a")
    report = Report(["up 1.0"], [], grid, accepted=[warning])
    assert view.scope(report) == "1 patch, 1 release, 1 finding accepted"


def test_pages_and_json_name_the_same_numbers() -> None:
    """Pages count groups of findings, and say what JSON counts, which is one for each release."""
    summary = json.loads(check_json(sample()))["summary"]
    assert [summary[name] for name in ("errors", "infos")] == [2, 1]
    for page in (as_markdown(sample()).replace("\\", ""), as_html(sample())):
        assert f"1 error ({summary['errors']} counted per release), 1 note" in page


def test_spans_break_where_a_release_is_left_out() -> None:
    """A span covers no release that lies between those given and is not among them."""
    report = Report(RELEASES)
    meant = [RELEASES[0], RELEASES[1], RELEASES[3], "ray 2.1.0"]
    assert release_spans(meant, report) == "vllm 0.0.0 to 0.1.0, 0.3.0; ray 2.1.0"
    assert (
        counted_spans(meant, report)
        == "vllm 0.0.0 to 0.1.0, 0.3.0, 3 releases; ray 2.1.0"
    )


def test_the_worst_comes_first() -> None:
    """Errors come before notes; among errors, packs and releases come before patches."""
    findings = [finding("PK304", patch="a"), finding(patch="a"), finding("PK901")]
    in_order = merged_sections(Report([], findings))
    assert [patch for patch, _ in in_order] == ["", "a"]
    codes = [group.finding.code.code for _, groups in in_order for group in groups]
    assert codes == ["PK901", "PK101", "PK304"]


def test_patches_come_as_in_the_grid() -> None:
    """A finding about a pack, which is found first, does not bring its patch to the top."""
    findings = [finding("PK503", patch="two"), finding(patch="one"), finding("PK901")]
    report = Report(["vllm 0.9.0"], findings, {"one": {}, "two": {}})
    assert [patch for patch, _ in merged_sections(report)] == ["", "one", "two"]


def test_no_control_character_is_printed() -> None:
    """Escape sequences, and what turns text round, are spelt out."""
    text = printable(HOSTILE + "\u202e\udc80")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "\\x1b" in text
