"""How findings of several releases become one, and in which order they come."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.reports import finding, screen, shown
from patchkit.analysis.check.codes import CODES
from patchkit.analysis.check.findings import Finding, Report
from patchkit.cli.report.as_json import check_json
from patchkit.cli.report.check_concise import as_concise
from patchkit.cli.report.check_github import as_github, as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.check_sarif import as_sarif
from patchkit.cli.report.check_table import print_check
from patchkit.cli.report.finding_groups import groups, releases_of

RELEASES = [f"vllm 0.{minor}.0" for minor in range(22, 34)]
PATCHES = ["zeta", "alpha", "mid"]
SEVERITIES = ["error", "warning", "info"]


def told_in(messages: dict[str, str], **fields: object) -> Report:
    """A report in which each of some releases has a finding with a message of its own."""
    findings = [
        finding(
            message=message, release=release, patch="p", target="vllm.a:f", **fields
        )
        for release, message in messages.items()
    ]
    return Report(RELEASES, findings, {"p": {}})


DIFFERENCES = {
    "a line": [
        f"vllm.a binds names by code at line {number}: x()" for number in (3, 9, 12)
    ],
    "lines": [
        f"'x' found 2 times, expected once in vllm/a.py, lines {number}, 80"
        for number in (3, 9, 12)
    ],
    "a column": [
        f"in vllm/a.py, line 2 of new fits no block: it begins at column {number}"
        for number in (3, 9, 12)
    ],
    "a place": [
        f"upstream already has vllm.a:f (vllm/a.py:{number})" for number in (3, 9, 12)
    ],
    "the nearest text": [
        f"'x' not found in vllm/a.py; nearest match:\n    {number}  y = {number}"
        for number in (3, 9, 12)
    ],
    "the nearest text, where there is any": [
        "'x' not found in vllm/a.py",
        "'x' not found in vllm/a.py; nearest match:\n    9  y = 9",
        "'x' not found in vllm/a.py; nearest match:\n    12  y = 9",
    ],
    "likeness": [
        f"it is gone; moved to vllm.b:f, {share}% alike" for share in (90, 95, 99)
    ],
}


@pytest.mark.parametrize("messages", DIFFERENCES.values(), ids=DIFFERENCES)
def test_what_differs_in_lines_and_quotes_alone_is_told_once(
    messages: list[str],
) -> None:
    """One group has all releases, the newest message, and says of which release that is."""
    report = told_in(dict(zip(RELEASES[:3], messages, strict=True)))
    (group,) = groups(report)
    assert group.finding.message == messages[-1]
    assert (
        releases_of(group, report) == "vllm 0.22.0 to 0.24.0, 3 releases (as in 0.24.0)"
    )


def test_guesses_of_a_fix_do_not_tell_findings_apart() -> None:
    """Similar names that a fix asks for may differ between releases that lack the same target."""
    report = Report(
        RELEASES,
        [
            finding(
                fix=f"did you mean vllm.a:f{number}? Otherwise, go", release=release
            )
            for number, release in enumerate(RELEASES)
        ],
    )
    (group,) = groups(report)
    assert releases_of(group, report) == "vllm 0.22.0 to 0.33.0, 12 releases"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("it is gone; moved to vllm.b:f", "it is gone; moved to vllm.c:f"),
        ("upstream takes (a), step takes (b)", "upstream takes (a, c), step takes (b)"),
        ("upstream's source (fingerprint 1a)", "upstream's source (fingerprint 2b)"),
    ],
)
def test_what_differs_in_what_it_says_is_told_twice(first: str, second: str) -> None:
    """Places, signatures and fingerprints are what a finding is about."""
    assert len(groups(told_in({RELEASES[0]: first, RELEASES[1]: second}))) == 2


def test_two_findings_of_one_release_stay_two() -> None:
    """Two Edits of one function that miss lines that read alike are two findings."""
    texts = [
        f"'x' not found in vllm/a.py; nearest match:\n    {number}  y"
        for number in (3, 9)
    ]
    report = Report(
        RELEASES,
        [
            finding("PK111", message=text, release=release, patch="p")
            for release in RELEASES
            for text in texts
        ],
    )
    assert len(groups(report)) == 2
    assert all(len(group.releases) == 12 for group in groups(report))


def findings() -> st.SearchStrategy[Finding]:
    """Findings of all severities, patches, targets and releases."""
    return st.builds(
        Finding,
        code=st.sampled_from(list(CODES.values())),
        message=st.sampled_from(["one", "two"]),
        patch=st.sampled_from(["", *PATCHES]),
        target=st.sampled_from(["", "vllm.a:f", "vllm.b:f"]),
        release=st.sampled_from(["", *RELEASES]),
        file=st.just("vllm/a.py"),
    )


def position(told: Finding) -> tuple[int, int, str]:
    """Where a finding belongs: by severity, then by row, then by target."""
    row = ["", *PATCHES].index(told.patch)
    return SEVERITIES.index(told.severity), row, told.target


@given(st.lists(findings(), max_size=12))
def test_errors_come_first_then_rows_then_targets(told: list[Finding]) -> None:
    """The order is that of severities, and in each that of rows and then of targets."""
    report = Report(RELEASES, told, {patch: {} for patch in PATCHES})
    positions = [position(group.finding) for group in groups(report)]
    assert positions == sorted(positions)
    in_json = json.loads(check_json(report))["findings"]
    order = [(SEVERITIES.index(one["severity"]), one["code"]) for one in in_json]
    assert [severity for severity, _ in order] == sorted(
        severity for severity, _ in order
    )
    assert len(in_json) == len(told)


def table(report: Report) -> str:
    """The report as a terminal shows it."""
    console = screen()
    print_check(report, console)
    return shown(console)


def sarif(report: Report) -> str:
    """The messages of the report as SARIF."""
    explanations = dict.fromkeys(CODES, "Severity: x.\n\n**What it checks.** x.")
    (run,) = json.loads(as_sarif(report, explanations))["runs"]
    return "\n".join(result["message"]["text"] for result in run["results"])


FORMS = [table, as_concise, as_github, as_markdown, as_html, check_json, sarif]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_errors_before_warnings_before_notes(form: object) -> None:
    """Notes and warnings of the first row come behind the errors of the last."""
    told = [
        finding(code, patch=patch, release=RELEASES[0], message=f"{code} of {patch}")
        for patch in PATCHES
        for code in ("PK304", "PK201", "PK101")
    ]
    report = Report(RELEASES, told, {patch: {} for patch in PATCHES})
    assert callable(form)
    text = form(report).replace("\\", "")
    found = re.findall(r"PK\d+ of \w+", text)
    expected = [
        f"{code} of {patch}"
        for code in ("PK101", "PK201", "PK304")
        for patch in PATCHES
    ]
    assert list(dict.fromkeys(found)) == expected


@pytest.mark.parametrize("form", [table, as_concise, as_github, as_markdown, as_html])
def test_every_form_tells_a_range_once(form: object) -> None:
    """One block has the range of the releases and their number."""
    messages = {
        release: f"'x' not found in vllm/a.py; nearest match:\n    {number}  y"
        for number, release in enumerate(RELEASES)
    }
    assert callable(form)
    text = form(told_in(messages)).replace("\\", "")
    assert text.count("vllm 0.22.0 to 0.33.0, 12 releases (as in 0.33.0)") == 1
    assert text.count("not found") == 1
