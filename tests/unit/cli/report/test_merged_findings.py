"""Findings about one thing are told once, with what differs between releases."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.reports import finding, screen, shown
from patchkit.analysis.check.codes import CODES
from patchkit.analysis.check.findings import Report
from patchkit.cli.report.as_json import check_json
from patchkit.cli.report.check_concise import as_concise
from patchkit.cli.report.check_github import as_github, as_markdown
from patchkit.cli.report.check_html import as_html
from patchkit.cli.report.check_sarif import as_sarif
from patchkit.cli.report.check_table import print_check
from patchkit.cli.report.check_view import tally
from patchkit.cli.report.finding_groups import groups
from patchkit.cli.report.merged_findings import differences_of, merged_groups

RELEASES = [f"vllm 0.{minor}.0" for minor in range(22, 34)]
SPAN = "vllm 0.22.0 to 0.26.0, 5 releases (as in 0.26.0)"


def told(messages: dict[str, str], **fields: object) -> Report:
    """A report in which each of some releases has a finding with a message of its own."""
    fields = {"code": "PK604", "patch": "p", "target": "vllm.a:f", **fields}
    return Report(
        RELEASES,
        [
            finding(message=message, release=release, **fields)
            for release, message in messages.items()
        ],
        {"p": {}},
    )


def changing(*messages: str) -> Report:
    """A report of releases from 0.22.0 on, each with one of the messages."""
    return told(dict(zip(RELEASES, messages, strict=False)))


SIGNATURES = changing(
    "upstream takes (a), step takes (z): too many, as f(a)",
    "upstream takes (a), step takes (z): too many, as f(a)",
    "upstream takes (a, b), step takes (z): too many, as f(a, b)",
    "upstream takes (a, b), step takes (z): too many, as f(a, b)",
    "upstream takes (a, b, c=…), step takes (z): too many, as f(a, b, c)",
)


def test_what_differs_is_told_for_each_range() -> None:
    """One group has all releases and the newest message; older ones say what differs in them."""
    (group,) = merged_groups(SIGNATURES)
    assert len(groups(SIGNATURES)) == 3
    assert group.releases == tuple(RELEASES[:5])
    assert "(a, b, c=…)" in group.finding.message
    assert differences_of(group, SIGNATURES) == [
        "vllm 0.24.0 to 0.25.0: 'b' for 'b, c=…', 'b' for 'b, c'",
        "vllm 0.22.0 to 0.23.0: '(a)' for '(a, b, c=…)', 'f(a)' for 'f(a, b, c)'",
    ]
    assert tally(SIGNATURES) == "1 warning (5 counted per release)"


@pytest.mark.parametrize(
    ("older", "newest", "difference"),
    [
        ("it is gone", "it is gone; moved to vllm.b:f", "without 'moved to vllm.b:f'"),
        ("it is gone; moved to vllm.b:f", "it is gone", "with 'moved to vllm.b:f'"),
        ("gone 'a', and 'a'", "gone 'b', and 'b'", "'a' for 'b'"),
        (
            "source (fingerprint 686c…) is new",
            "source (fingerprint 8370…) is new",
            "'686c…' for '8370…'",
        ),
        (
            "there is no module up.a; first in 0.2.0",
            "up.a has no 'f'; first in 0.2.0",
            "there is no module up.a",
        ),
        ("source (old print) is new", "source (new print) is new", "'old' for 'new'"),
    ],
)
def test_words_that_differ(older: str, newest: str, difference: str) -> None:
    """Words that a message lacks, has more, or has in place of others; each once."""
    report = changing(older, newest)
    (group,) = merged_groups(report)
    (text,) = differences_of(group, report)
    assert text == f"vllm 0.22.0: {difference}"


@pytest.mark.parametrize(
    "other",
    [
        {"target": "vllm.a:g"},
        {"patch": "q"},
        {"code": "PK603"},
        {"line": 9},
        {"file": "other.py"},
        {"fix": "do something else"},
    ],
)
def test_findings_about_other_things_stay_apart(other: dict[str, object]) -> None:
    """Another target, patch, code, place or fix is another finding."""
    first = told({RELEASES[0]: "one"})
    second = told({RELEASES[1]: "two"}, **other)
    report = Report(RELEASES, [*first.findings, *second.findings])
    assert len(merged_groups(report)) == 2


@pytest.mark.parametrize("code", ["PK504", "PK601", "PK602"])
def test_what_a_shared_body_has_wrong_is_told_once(code: str) -> None:
    """The message names the other rows of the body; JSON has an entry for each row."""
    place = {
        "code": code,
        "file": "pack/patch_a.py",
        "line": 3,
        "target": "vllm.a:f",
        "details": [""],
    }
    messages = dict.fromkeys(RELEASES[:2], "vllm.a has no 'f'")
    reports = [told(messages, **place, patch=patch) for patch in ("p", "q", "r")]
    findings = [finding for report in reports for finding in report.findings]
    report = Report(RELEASES, findings, {"p": {}, "q": {}, "r": {}})
    (group,) = merged_groups(report)
    assert group.finding.patch == "p"
    assert group.finding.message == "vllm.a has no 'f'; likewise for q, r"
    assert group.releases == tuple(RELEASES[:2])
    assert len(json.loads(check_json(report))["findings"]) == 6
    elsewhere = told(
        dict.fromkeys(RELEASES[:1], "vllm.a has no 'f'"), **place, patch="s"
    )
    assert len(merged_groups(Report(RELEASES, [*findings, *elsewhere.findings]))) == 2


def test_findings_of_one_release_and_of_none_stay_apart() -> None:
    """Two calls on one line are two findings, and so are two of no single release."""
    twice = [*told({RELEASES[0]: "a"}).findings, *told({RELEASES[0]: "b"}).findings]
    assert len(merged_groups(Report(RELEASES, twice))) == 2
    everywhere = [*told({"": "a"}).findings, *told({"": "b"}).findings]
    assert len(merged_groups(Report(RELEASES, everywhere))) == 2


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


@pytest.mark.parametrize(
    "form", [table, as_concise, as_github, as_markdown, as_html, sarif]
)
def test_every_form_tells_it_once(form: object) -> None:
    """Each has the range of all releases, and the ranges in which something differs."""
    assert callable(form)
    text = form(SIGNATURES).replace("\\", "")
    assert text.count(SPAN) == 1
    assert text.count("step takes") == 1
    assert text.count("vllm 0.24.0 to 0.25.0: ") == 1
    assert text.count("vllm 0.22.0 to 0.23.0: ") == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(RELEASES), st.sampled_from(["a", "b x", "c y z"])),
        max_size=12,
    )
)
def test_no_release_is_lost(pairs: list[tuple[str, str]]) -> None:
    """Each release of each message is in a group, once in a group."""
    report = told({})
    found = [
        finding("PK604", message=message, release=release, patch="p", target="vllm.a:f")
        for release, message in dict.fromkeys(pairs)
    ]
    report = Report(RELEASES, found, {"p": {}})
    merged = merged_groups(report)
    assert all(len(set(group.releases)) == len(group.releases) for group in merged)
    told_releases = sorted(release for group in merged for release in group.releases)
    assert told_releases == sorted(entry.release for entry in found)
