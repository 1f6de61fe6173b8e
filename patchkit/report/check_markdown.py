"""What a check found as Markdown: for a job's summary, an issue or a comment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from patchkit.report import check_view as view
from patchkit.report.words import count, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.check.findings import Report, State
    from patchkit.report.check_view import Group, StateTable

_LARGEST = 60_000
"""GitHub takes 65,536 characters."""
_MARKS = {
    "ok": "✅ ok",
    "unreviewed": "❔ unreviewed",
    "undecided": "❔ undecided",
    "drift": "⚠️ drift",
    "broken": "❌ **broken**",
    "out-of-range": "–",  # noqa: RUF001 - the sign for nothing
}
_HOLDS = {"ok", "out-of-range", None}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+.!|~$>-])")


def as_markdown(report: Report) -> str:
    """
    Write the grids and the findings, the errors first in each patch.

    Patches that hold everywhere are counted. It is never longer than GitHub takes: what is left out
    is counted too. Nobody is notified by an `@`
    in a message, and nothing in it becomes markup or a link.
    """
    parts = [f"### patchkit check: {view.tally(report)}\n", f"{view.looked_at(report)}\n"]
    for grid in view.grids(report):
        table = "\n".join(_table(grid))
        too_large = sum(map(len, parts)) + len(table) > _LARGEST // 2
        parts.append(f"{_text(str(grid))}: too large to show\n" if too_large else table)
    return "\n".join([*parts, *_findings(report, _LARGEST - sum(map(len, parts)))])


def _table(grid: StateTable) -> Iterator[str]:
    yield f"**{_text(str(grid))}**\n"
    shown = {name: row for name, row in grid.rows.items() if not _HOLDS.issuperset(row)}
    fine = sum(any(row) for row in grid.rows.values()) - len(shown)
    if fine:
        words = "holds" if fine == 1 else "hold"
        yield f"{count(fine, 'patch')} {words} in each of these releases that is in range.\n"
    if not shown:
        return
    yield _row(["patch", *(_text(str(run)) for run in grid.runs)])
    yield _row(["---"] * (len(grid.runs) + 1))
    for name, row in shown.items():
        yield _row([_code(name, in_table=True), *map(_mark, row)])
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mark(state: State | None) -> str:
    return _MARKS[state] if state else ""


def _findings(report: Report, room: int) -> Iterator[str]:
    """Write as many sections as there is room for; short of what says how many are left out."""
    room -= 200
    found = view.groups(report)
    left = sum(map(len, found.values()))
    for patch, some in found.items():
        heading = f"#### {_code(patch) if patch else 'packs and releases'}\n"
        items = [_item(group, report) for group in some]
        size = sum(len(item) + 1 for item in items) + len(heading) + 1
        if size > room:
            break
        room -= size
        left -= len(items)
        yield "\n".join([heading, *items])
    if left:
        yield f"{count(left, 'finding')} more: `patchkit check` has them all.\n"


def _item(group: Group, report: Report) -> str:
    finding = group.finding
    target = f" {_code(finding.target)}" if finding.target else ""
    first, *rest = printable(finding.message).strip("\n").split("\n")
    lines = [
        f"- **{finding.code.code} {finding.code.title}** ({view.label(finding.severity)}){target}",
        _text(first),
    ]
    lines += [_block("\n".join(rest))] if rest else []
    fix, commands = view.fix_of(finding)
    lines += [f"Fix: {_text(fix)}"] if fix else []
    lines += [_block("\n".join(commands))] if commands else []
    where = _code(view.where(finding)) if finding.file else ""
    lines += [", ".join(filter(None, [_text(view.spans(group.releases, report)), where]))]
    return "\n\n".join(filter(None, lines)).replace("\n", "\n  ") + "\n"


def _text(text: str) -> str:
    """Write a text so that it is shown as it is, on one line."""
    flat = one_line(text)
    escaped = _SPECIAL.sub(r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;"))
    return _unaddressed(escaped)


def _unaddressed(text: str) -> str:
    """Keep GitHub from making mentions, references and links of a text."""
    text = re.sub(r"(@(?=\w)|#(?=\d))", r"\1&#8203;", text)
    return text.replace("://", ":&#8203;//").replace("www\\.", "www&#8203;\\.")


def _code(text: str, *, in_table: bool = False) -> str:
    """Write a text as code, between more backticks than it holds."""
    flat = one_line(text)
    fence = "`" * (_longest_fence(flat) + 1)
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat.replace('|', chr(92) + '|') if in_table else flat}{pad}{fence}"


def _block(text: str) -> str:
    fence = "`" * max(3, _longest_fence(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_fence(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
