"""Prints the results of `patchkit diff`, `history` and `matrix`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rich.table import Column
from rich.text import Text

from patchkit.analysis.check.breaking import Break
from patchkit.analysis.check.comparison import Comparison
from patchkit.analysis.check.history import HistoryEntry
from patchkit.analysis.check.matrix import Boundary, Case
from patchkit.cli.report.console import (
    Line,
    columns,
    console,
    print_diff_lines,
    print_lines,
    whole,
)
from patchkit.cli.report.words import count, markdown_table
from patchkit.core.rows.target import Target
from patchkit.errors import some_of

_FINGERPRINT = 8
"""The number of characters of a fingerprint that are shown."""
_LABEL = len("nightlies")
"""The least width of the column that says which history a line is of."""
_STYLES = {
    "present": "ok",
    "absent": "note",
    "undecidable": "warn",
    "unreadable": "bad",
}
_COVERAGE_STYLES = {"reason": "warn", "imported only": "warn", "no": "bad"}


def print_diff(title: str, comparisons: Sequence[Comparison]) -> None:
    """Print what upstream changed in each target, as a unified diff.

    Args:
        title: The heading of the page.
        comparisons: The targets, each in both releases.
    """
    out = console()
    out.print(Text(title, style="heading"), soft_wrap=True)
    printed: dict[str, Target] = {}
    for comparison in comparisons:
        _heads, _, hunks = comparison.diff.partition("\n@@")
        verdict = _verdict(comparison)
        # Two names of one function have changed alike: one diff is enough.
        earlier = printed.setdefault(hunks, comparison.target)
        is_told = bool(hunks) and earlier is not comparison.target
        if is_told:
            verdict += f", as {earlier}"
        heading = f"{comparison.target}: {verdict}"
        out.print(Text(heading, style="name"), soft_wrap=True)
        if not is_told:
            print_diff_lines(comparison.diff.splitlines(), out)


def _verdict(comparison: Comparison) -> str:
    """Return how a target differs between the older and the newer release, in words."""
    old = comparison.old
    new = comparison.new
    states = {old.facts.state, new.facts.state}
    if comparison.is_in_neither:
        return f"in neither of them{comparison.hint}"
    if states == {"undecidable"} and not comparison.diff:
        return f"not decidable: {new.facts.reason}{comparison.hint}"
    if new.place != old.place:
        if comparison.changed:
            return f"now at {new.place}, changed"
        return f"now at {new.place}"
    if len(states) > 1:
        return f"{old.facts.state}, then {new.facts.state}"
    if comparison.changed:
        return "changed"
    if comparison.diff:
        return "changed in layout, comments or annotations alone"
    return "the same"


def print_matrix(project: str, chosen: Mapping[str, Sequence[Case]]) -> None:
    """Print the releases that were chosen for a matrix, and the cases that each one tests.

    Args:
        project: The name of the project.
        chosen: By release, the ends of ranges and the sources of targets that it tests.
    """
    releases_by_case = Counter(case for cases in chosen.values() for case in cases)
    table = columns(whole(project), Column("exercises"))
    for release, cases in chosen.items():
        lines = list(_exercised(cases, releases_by_case))
        table.add_row(Text(release, "name"), Text("\n".join(lines), "note"))
    console().print(table)


def _exercised(
    cases: Iterable[Case], releases_by_case: Mapping[Case, int]
) -> Iterator[str]:
    """Yield what a release tests, in words: ends of ranges, and sources of targets.

    Args:
        cases: The cases that it tests.
        releases_by_case: By case, how many releases test it; shared sources are only counted.
    """
    ends: dict[str, list[str]] = {}
    own_sources: dict[str, None] = {}
    shared_count = 0
    for case in cases:
        if not case.source:
            ends.setdefault(case.end, []).append(case.subject)
        elif releases_by_case[case] > 1:
            shared_count += 1
        else:
            own_sources[case.subject] = None
    for words, names in ends.items():
        yield f"{words} {some_of(names)}"
    if own_sources:
        yield f"sources that only it has: {some_of(own_sources)}"
    if shared_count:
        yield f"{count(shared_count, 'source')} that another one here has, too"


def print_boundaries(boundaries: Iterable[Boundary]) -> None:
    """Print the ends of ranges, and the lanes that cover them.

    Args:
        boundaries: The ends.
    """
    table = columns(
        whole("patch"), whole("bound"), whole("release"), whole("covered by")
    )
    for boundary in boundaries:
        name = boundary.patch
        if boundary.change is not None:
            name += f", change {boundary.change}"
        cover = boundary.reason or " and ".join(boundary.lanes) or "nothing"
        if boundary.covered == "imported only":
            cover += ", imported only"
        style = _COVERAGE_STYLES.get(boundary.covered, "ok")
        table.add_row(
            Text(name, "name"),
            boundary.requirement,
            boundary.edge or "none",
            Text(cover, style),
        )
    console().print(table)


def print_history(target: Target, steps: Iterable[HistoryEntry]) -> None:
    """Print the history of a target, with a line for releases in which it is the same.

    Args:
        target: The target.
        steps: Its state in each release, the oldest first.
    """
    out = console()
    out.print(Text(str(target), style="heading"), soft_wrap=True)
    heads = [Text(name, "table.header") for name in ("releases", "state", "source")]
    print_lines(out, [(heads, "what happened"), *_history_lines(steps)])


def _history_lines(steps: Iterable[HistoryEntry]) -> Iterator[Line]:
    """Yield a line for consecutive releases in which a target is the same."""
    previous: HistoryEntry | None = None
    for _, group in groupby(steps, _sameness):
        identical = list(group)
        first = identical[0]
        last = identical[-1]
        span = first.release
        if len(identical) > 1:
            span = f"{first.release} - {last.release}"
        state = Text(first.state, _STYLES[first.state])
        if first.state == "absent" and first.moved_to:
            state = Text("elsewhere", "warn")
        fingerprint = (first.fingerprint or "")[:_FINGERPRINT]
        yield [Text(span), state, Text(fingerprint, "note")], _event(first, previous)
        previous = last


def _sameness(step: HistoryEntry) -> tuple[object, ...]:
    """Return what a target has in common in releases that share a line."""
    # A name that moved has its new place; the reason, why it is not at the old one, is not shown.
    reason = step.reason if step.moved_to is None else ""
    return step.state, step.fingerprint, step.moved_to, reason


def _event(step: HistoryEntry, previous: HistoryEntry | None) -> str:
    """Return what happened to a target between two releases, in words; '' for nothing.

    Args:
        step: Its state in the later release.
        previous: Its state in the release before; None for the first release.
    """
    if step.state in {"unreadable", "undecidable"}:
        return step.reason
    if step.moved_to:
        return _moved(step, previous)
    if previous is None:
        return step.reason if step.state == "absent" else ""
    was_gone = previous.state == "absent" and previous.moved_to is None
    if step.state == "absent":
        return step.reason if was_gone else f"gone: {step.reason}"
    # Both states are `present`, so it is the fingerprint that differs.
    if previous.state == "present":
        return "changed"
    event = "moved here"
    if was_gone:
        event = "appeared"
    if step.changed:
        event += ", changed"
    return event


def _moved(step: HistoryEntry, previous: HistoryEntry | None) -> str:
    """Return where a target is that has moved, how much alike it is, and whether it changed."""
    event = str(step.moved_to)
    is_same_target = previous is not None and previous.moved_to == step.moved_to
    if not is_same_target:
        event = f"at {event}"
        if step.likeness is not None:
            event += f", {step.likeness:.0%} alike"
    if step.changed:
        event += ", changed"
    return event


def break_lines(name: str, breaks: Mapping[str, Break]) -> str:
    """Return where a patch broke, and why, for a person.

    Args:
        name: The name of the patch.
        breaks: Where the patch broke, by `releases`, `nightlies` and `commits`.

    Returns:
        Two lines for each history, and a line for each fault.
    """
    lines = [name]
    width = max(_LABEL, *map(len, breaks))
    for history, holds, breaks_on in _ends(breaks):
        lines.append(f"  {history:{width}}  holds on {holds}")
        lines.append(f"  {'':{width}}  breaks on {breaks_on}")
    lines += [f"  {fault}" for fault in _faults(breaks)]
    return "\n".join(lines)


def break_markdown(name: str, breaks: Mapping[str, Break]) -> str:
    """Return where a patch broke, and why, for an issue.

    Args:
        name: The name of the patch.
        breaks: Where the patch broke, by `releases`, `nightlies` and `commits`.

    Returns:
        A Markdown table of the histories, and a list of the faults.
    """
    table = markdown_table(
        ("over", "last that holds", "first that breaks"), _ends(breaks)
    )
    faults = [f"- {fault}" for fault in _faults(breaks)]
    return "\n".join([f"Patch `{name}`:", "", *table, "", *faults])


def _ends(breaks: Mapping[str, Break]) -> Iterator[tuple[str, str, str]]:
    """Yield each history, with the last version that holds and the first that breaks."""
    for history, broke in breaks.items():
        last, first = broke.ends
        yield history, last or "none", first or "none"


def _faults(breaks: Mapping[str, Break]) -> list[str]:
    """Return the code and the first line of each fault, once."""
    texts: dict[str, None] = {}
    for broke in breaks.values():
        for fault in broke.faults:
            first_line, _, _ = fault.message.partition("\n")
            summary = first_line.removesuffix("; nearest match:")
            texts[f"{fault.code.code} {summary}"] = None
    return list(texts)
