"""Lays out the table of patches for `status`: the user's first, then those of patchkit.

Idle patches, which come with patchkit and apply nowhere, are counted and not listed.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from patchkit.analysis.status.patches import idle_patches
from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import PatchStatus, ProcessStatus
from patchkit.cli.report.console import columns, folded, plain, whole
from patchkit.cli.report.process_tree import STYLES
from patchkit.cli.report.status_facts import Occurrences, hidden_words
from patchkit.cli.report.words import folded_patches

_ROLES = ("main", "engine-core", "worker")


class ShownPatches(NamedTuple):
    """The patches of a picture: those to list, and those to count.

    Args:
        listed: By name, the patches to list; the user's come first.
        folded: By name, the patches to count: they come with patchkit, and apply nowhere.
    """

    listed: Mapping[str, Occurrences]
    folded: Mapping[str, Occurrences]

    @property
    def remark(self) -> str:
        """The line about the patches that are not listed; '' where all are."""
        if not self.folded:
            return ""
        statuses: set[str] = set()
        for occurrences in self.folded.values():
            for process, patch in occurrences:
                if process.is_due(patch):
                    status, _reason = process.stand(patch)
                    statuses.add(status)
        sorted_statuses = sorted(statuses, reverse=True)
        described = " or ".join(sorted_statuses)  # `skipped or armed`
        return folded_patches(len(self.folded), described or "for other roles")


def shown_patches(picture: Picture, *, everything: bool = True) -> ShownPatches:
    """Collect the patches of all processes, and divide them into those to list and to count.

    Args:
        picture: The processes; copies of a journal, and processes without one, do not count.
        everything: Whether to list all patches.
    """
    occurrences: dict[str, list[tuple[ProcessStatus, PatchStatus]]] = {}
    for process in picture.processes:
        if not has_own_journal(process):
            continue
        for name, patch in process.patches.items():
            of_patch = occurrences.setdefault(name, [])
            of_patch.append((process, patch))
    idle: set[str] = set()
    if not everything:
        idle = idle_patches(picture.processes)
    # False is sorted before True, so the user's patches come first.
    sorted_names = sorted(occurrences, key=lambda name: is_own(occurrences[name]))
    listed: dict[str, Occurrences] = {}
    counted: dict[str, Occurrences] = {}
    for name in sorted_names:
        if name in idle:
            counted[name] = occurrences[name]
        else:
            listed[name] = occurrences[name]
    return ShownPatches(listed, counted)


def has_own_journal(process: ProcessStatus) -> bool:
    """Return whether a process has a journal, and not merely a copy of its parent's.

    Args:
        process: The process.
    """
    return process.is_reached and not process.is_copy


def is_own(occurrences: Occurrences) -> bool:
    """Return whether a patch comes with patchkit.

    Args:
        occurrences: The processes that know it, each with its status.
    """
    return any(patch.comes_with_patchkit for _, patch in occurrences)


def patch_table(picture: Picture, patches: Mapping[str, Occurrences]) -> Table:
    """Return a table with a row for each patch, and its status in each role.

    Args:
        picture: The processes, whose roles are the columns.
        patches: By name, the patches.
    """
    roles = _roles_in(picture)
    # The column of copies is left out where it would be empty.
    copies = {name: _copies(occurrences) for name, occurrences in patches.items()}
    with_copies = any(text.plain for text in copies.values())
    heads = [whole("patch"), *map(whole, roles)]
    if with_copies:
        heads.append(folded("copies"))
    heads.append(folded("remarks"))
    table = columns(*heads)
    for name, occurrences in patches.items():
        cells = [plain(name, "name")]
        for role in roles:
            cell = _status_in_role(occurrences, role)
            cells.append(cell)
        if with_copies:
            cells.append(copies[name])
        cells.append(_remarks(occurrences))
        table.add_row(*cells)
    return table


def _roles_in(picture: Picture) -> list[str]:
    """Return the roles that processes have, from the main process to workers."""
    entered: set[str] = set()
    for process in picture.processes:
        if has_own_journal(process):
            entered.update(process.roles)
    return [role for role in _ROLES if role in entered]


def _copies(occurrences: Occurrences) -> Text:
    """Return how many copies of targets were repointed, and how many could not be; may be empty."""
    repointed: set[str] = set()
    out_of_reach: set[str] = set()
    for _, patch in occurrences:
        repointed.update(patch.rebound)
        out_of_reach.update(patch.out_of_reach)
    texts = []
    repointed_count = len(repointed)
    if repointed_count:
        text = Text(f"{repointed_count} repointed", style="note")
        texts.append(text)
    unreached_count = len(out_of_reach)
    if unreached_count:
        text = Text(f"{unreached_count} out of reach", style="warn")
        texts.append(text)
    return Text(", ").join(texts)


def _status_in_role(occurrences: Occurrences, role: str) -> Text:
    """Return the statuses of a patch in the processes of a role: `applied`, or `applied 2`."""
    statuses = Counter[str]()
    for process, patch in occurrences:
        has_role = role in process.roles
        if has_role and patch.is_for(role):
            status, _reason = process.stand(patch)
            statuses[status] += 1
    is_single = statuses.total() == 1
    texts = []
    for status, number in statuses.items():
        suffix = f" {number}"
        if is_single:
            suffix = ""
        text = styled_status(status, suffix)
        texts.append(text)
    return Text(", ").join(texts)


def styled_status(status: str, suffix: str = "") -> Text:
    """Return a status in its colour.

    Args:
        status: The status.
        suffix: A text to append in the same colour.
    """
    style = STYLES.get(status, "warn")
    return plain(status + suffix, style)


def _remarks(occurrences: Occurrences) -> Text:
    """Return why a patch was skipped, and warnings about its effect and its review.

    A patch that is armed needs no remark, and a failure is among the findings.
    """
    due = [(process, patch) for process, patch in occurrences if process.is_due(patch)]
    reasons: dict[str, None] = {}
    for process, patch in due:
        status, reason = process.stand(patch)
        if status == "skipped" and reason:
            reasons[reason] = None
    remarks = [plain(reason, "note") for reason in reasons]
    applied = [patch for _, patch in due if patch.status == "applied"]
    bodies = [patch.body for patch in applied if patch.body]
    if any(body.edited for body in bodies):
        remark = Text("body edited on disk since it was loaded", style="warn")
        remarks.append(remark)
    hidden = [patch for patch in applied if patch.hidden]
    hidden_remarks = dict.fromkeys(map(hidden_words, hidden))
    remarks += [plain(remark, "warn") for remark in hidden_remarks]
    # Processes for which the patch is not due may have called it as well.
    effects = {patch.in_effect for _, patch in occurrences}
    is_without_effect = all(patch.is_unused for patch in applied)
    was_called = "yes" in effects
    if applied and is_without_effect and not was_called:
        remark = Text("never called, see --unused", style="warn")
        remarks.append(remark)
    if any(patch.unreviewed for _, patch in due):
        remark = Text("differs from the review, see --patch", style="warn")
        remarks.append(remark)
    return Text("; ").join(remarks)
