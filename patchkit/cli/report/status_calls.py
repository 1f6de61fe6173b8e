"""Prints the results of `status --unused` and `status --verify`."""

from collections.abc import Iterable

from rich.table import Table

from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import (
    CALLED,
    NEVER_CALLED,
    ProcessStatus,
)
from patchkit.cli.report.console import columns, console, folded, plain, whole
from patchkit.cli.report.status_facts import Occurrences, hiders, roles_of
from patchkit.cli.report.status_patches import is_own, shown_patches
from patchkit.cli.report.words import age, folded_patches


def print_unused(picture: Picture, *, everything: bool = False) -> None:
    """Print the targets that were not called in some process, and the processes that called them.

    Args:
        picture: The processes.
        everything: Whether to list also patches that come with patchkit; else they are counted.
    """
    table = columns(
        whole("patch"),
        folded("target"),
        folded("not called in"),
        folded("called in"),
    )
    is_observed = False
    counted_patches: set[str] = set()
    for name, occurrences in shown_patches(picture).listed.items():
        for target in _targets(occurrences):
            called = _processes_where(CALLED, target, occurrences)
            not_called = _processes_where(NEVER_CALLED, target, occurrences)
            is_observed = is_observed or bool(called or not_called)
            if not not_called:
                continue
            if is_own(occurrences) and not everything:
                counted_patches.add(name)
                continue
            callers = plain("never called", "warn")
            upper = hiders(target, occurrences)
            if upper:
                callers = plain(f"hidden under patch {upper}", "note")
            if called:
                callers = plain(_process_lines(called))
            table.add_row(
                plain(name, "name"),
                plain(target),
                _process_lines(not_called, picture.now),
                callers,
            )
    # Why the table has no rows: the last reason that holds.
    if_empty = "no target that can be observed is applied"
    if is_observed:
        if_empty = "each target that can be observed was called"
    if counted_patches:
        if_empty = "no target of your patches is known to be uncalled"
    _print_table(table, if_empty)
    if counted_patches:
        remark = folded_patches(len(counted_patches), "not called in some process")
        console().print(plain(remark, "note"))


def _targets(occurrences: Occurrences) -> list[str]:
    """Return the targets of a patch in all processes, each once."""
    targets: dict[str, None] = {}
    for _, patch in occurrences:
        targets.update(dict.fromkeys(patch.targets))
    return list(targets)


def _processes_where(
    call: str, target: str, occurrences: Occurrences
) -> list[ProcessStatus]:
    """Return the processes in which a target has a state of calls, such as `CALLED`."""
    return [
        process for process, patch in occurrences if patch.calls.get(target) == call
    ]


def print_verified(picture: Picture) -> None:
    """Print the answers of patches' `verify` functions, process by process.

    Args:
        picture: The processes.
    """
    table = columns(whole("patch"), whole("process"), whole("asked"), folded("verify"))
    for name, occurrences in shown_patches(picture).listed.items():
        for process, patch in occurrences:
            if patch.answered is None:
                continue
            answer = plain("ok", "ok")
            if patch.answer:
                answer = plain(patch.answer, "bad")
            seconds = picture.now - patch.answered
            table.add_row(
                plain(name, "name"),
                _process_lines([process]),
                age(seconds),
                answer,
            )
    _print_table(table, "no process has asked a patch's verify")


def _print_table(table: Table, if_empty: str) -> None:
    """Print a table, or a sentence instead if it has no rows."""
    console().print(table if table.row_count else if_empty)


def _process_lines(processes: Iterable[ProcessStatus], now: float | None = None) -> str:
    """Return a line for each process: its roles and its pid.

    Args:
        processes: The processes.
        now: The time of the picture, to add how long ago calls were counted; None to leave it out.
    """
    lines = []
    for process in processes:
        roles = roles_of(process)
        line = f"{roles} {process.pid}"
        if now is not None:
            observed = process.observed or now
            observed_age = age(now - observed)
            line += f", seen {observed_age}"
        lines.append(line)
    return "\n".join(lines)
