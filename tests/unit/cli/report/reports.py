"""Reports that tests of pages start from."""

from __future__ import annotations

import io

from rich.console import Console

from patchkit.analysis.check.codes import CODES
from patchkit.analysis.check.findings import Finding, Report, State
from patchkit.cli.report import console as pages

HOSTILE = "<script>alert('x')</script>|`**b**`|](http://evil)\x1b[31m\r\n::error::@someone #1 \"q\""
"""A name that is markup everywhere, and drives terminals."""
STATES = list(State)


def screen(width: int = 100, *, terminal: bool = False) -> Console:
    """A console with the look of the real one, whose file is text."""
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="truecolor" if terminal else None,
        theme=pages._THEME,
        markup=False,
        emoji=False,
        highlight=False,
    )


def shown(console: Console) -> str:
    """What was printed there."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def finding(code: str = "PK101", **fields: object) -> Finding:
    """A finding, with some fields filled in."""
    return Finding(**{"code": CODES[code], "message": "it is gone", **fields})  # type: ignore[arg-type]


def sample() -> Report:
    """Two releases of three look the same; one finding is said of both."""
    releases = ["vllm 0.9.0", "vllm 0.10.0", "vllm 0.11.0"]
    fields = {"patch": "one", "target": "vllm.a:f", "fix": "name it"}
    findings = [finding(release=release, **fields) for release in releases[1:]]
    findings.append(finding("PK304", message="no end", patch="two"))
    states = [State.OK, State.BROKEN, State.BROKEN]
    grid = {
        "one": dict(zip(releases, states, strict=True)),
        "two": dict.fromkeys(releases, State.OK),
    }
    return Report(releases, findings, grid)


def large() -> Report:
    """80 releases of which no two look the same, 60 patches, and 1,200 findings."""
    releases = [f"vllm 0.{number // 4}.{number % 4}" for number in range(80)]
    names = [f"patch-number-{number}" for number in range(60)]
    grid: dict[str, dict[str, State]] = {}
    findings: list[Finding] = []
    for row, name in enumerate(names):
        grid[name] = {
            release: STATES[(row * 7 + column * 3 + column // 5) % 5]
            for column, release in enumerate(releases)
        }
        findings += [
            finding(message=f"gone in {release}", patch=name, release=release)
            for release in releases[::4]
        ]
    return Report(releases, findings, grid)
