"""The report as Markdown, to be pasted into an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit_conformance.results import FAILED, NOT_RUN, PASSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit_conformance.results import Report, Result

SIMULATED = "simulated NPUs"


def page(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)) + "\n"


def verdict(report: Report) -> str:
    """How many checks passed, failed and did not run."""
    found = [one.result for one in report.results]
    counts = [
        f"{found.count(word)} {word}"
        for word in (PASSED, FAILED, NOT_RUN)
        if word in found
    ]
    return ", ".join(counts)


def _lines(report: Report) -> Iterator[str]:
    on = f" on {SIMULATED}" if report.simulated else ""
    yield f"## patchkit conformance{on}: {verdict(report)}"
    yield ""
    versions = {
        name: version or "not installed" for name, version in report.versions.items()
    }
    yield from _table(("what", "found"), [*versions.items(), *report.machine.items()])
    yield ""
    yield from _table(
        ("check", "result", "seconds", "detail"), map(_cells, report.results)
    )
    yield from _logs(report.failed)
    yield from _simulation(report)


def _cells(one: Result) -> tuple[str, ...]:
    word = f"**{one.result}**" if one.result == FAILED else one.result
    return (f"`{one.check}`", word, f"{one.seconds:.0f}", one.detail)


def _logs(failed: Sequence[Result]) -> Iterator[str]:
    """The end of each failing process's log, once; the table has the rest."""
    checks: dict[str, list[str]] = {}
    for one in failed:
        checks.setdefault(one.log, []).append(f"`{one.check}`")
    checks.pop("", None)
    for log, names in checks.items():
        yield from (
            "",
            f"### {', '.join(names)} failed",
            "",
            "```text",
            *log.splitlines(),
            "```",
        )


def _simulation(report: Report) -> Iterator[str]:
    if not report.simulated:
        return
    yield ""
    yield f"These are {SIMULATED}: vLLM and Ray are real, the arithmetic runs on the CPU."
    if report.simulation:
        yield "Only the simulation needs these rows:"
        yield ""
        yield from (f"- `{row['row']}`: {row['why']}" for row in report.simulation)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |"
