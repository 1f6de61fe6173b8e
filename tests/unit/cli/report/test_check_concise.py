from __future__ import annotations

from dataclasses import replace

from cli.report.reports import HOSTILE, finding, sample
from patchkit.analysis.check.findings import Report
from patchkit.cli.report.check_concise import as_concise


def test_a_line_has_place_code_severity_patch_target_message_and_releases() -> None:
    """What an editor jumps to comes first, and the releases come last, as one range."""
    report = sample()
    placed = [replace(one, file="pack/a.py", line=3) for one in report.findings]
    assert as_concise(replace(report, findings=placed)).split("\n") == [
        "pack/a.py:3: PK101 error one vllm.a:f it is gone [vllm 0.10.0 to 0.11.0, 2 releases]",
        "pack/a.py:3: PK304 note two no end",
    ]


def test_a_finding_is_one_line_whatever_it_says() -> None:
    """Lines of a message are joined, and control characters are spelt out."""
    report = Report([], [finding(message=f"{HOSTILE}\n  x = 1\n", patch=HOSTILE)])
    text = as_concise(report)
    assert "\n" not in text
    assert text.isprintable()
    assert text.endswith("x = 1")


def test_what_is_in_no_file_names_the_program() -> None:
    """As a compiler does, so that each line has a beginning."""
    report = Report(["vllm 1"], [finding("PK901", release="vllm 1")])
    assert as_concise(report) == ("patchkit: PK901 error it is gone [vllm 1]")


def test_no_finding_is_no_line() -> None:
    """`grep` and `wc -l` count nothing."""
    assert as_concise(Report(["vllm 1"])) == ""
