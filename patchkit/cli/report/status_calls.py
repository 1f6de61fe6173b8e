"""Prints the results of `status --unused` and `status --verify`."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.table import Table

from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import (
    CALLED,
    NEVER_CALLED,
    ProcessStatus,
)
from patchkit.cli.report.console import columns, console, folded, plain, whole
from patchkit.cli.report.status_facts import Occurrences, roles_of
from patchkit.cli.report.status_patches import is_own, shown_patches
from patchkit.cli.report.words import age, folded_patches


@dataclass
class _TargetCalls:
    """What is known of the calls of one target of a patch.

    Args:
        called: The processes that have called it.
        not_called: Those that have not.
        upper_patches: Of each process that has the target, the patch that hides this one there; ''
            where none does.
    """

    called: list[ProcessStatus] = field(default_factory=list)
    not_called: list[ProcessStatus] = field(default_factory=list)
    upper_patches: list[str] = field(default_factory=list)

    @property
    def hiders(self) -> str:
        """The patches that hide this one, with commas; '' if it is not hidden in some process."""
        if not all(self.upper_patches):
            return ""
        return ", ".join(dict.fromkeys(self.upper_patches))


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
        for target, seen in _calls_by_target(occurrences).items():
            is_observed = is_observed or bool(seen.called or seen.not_called)
            if not seen.not_called:
                continue
            if is_own(occurrences) and not everything:
                counted_patches.add(name)
                continue
            callers = plain("never called", "warn")
            if seen.hiders:
                callers = plain(f"hidden under patch {seen.hiders}", "note")
            if seen.called:
                callers = plain(_process_lines(seen.called))
            table.add_row(
                plain(name, "name"),
                plain(target),
                _process_lines(seen.not_called, picture.now),
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


def _calls_by_target(occurrences: Occurrences) -> dict[str, _TargetCalls]:
    """Return what is known of the calls of a patch's targets in all processes, by target."""
    found: dict[str, _TargetCalls] = {}
    for process, patch in occurrences:
        upper_patches = patch.hidden
        for target, call in patch.calls.items():
            seen = found.setdefault(target, _TargetCalls())
            if call == CALLED:
                seen.called.append(process)
            elif call == NEVER_CALLED:
                seen.not_called.append(process)
            seen.upper_patches.append(upper_patches.get(target, ""))
    return found


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
