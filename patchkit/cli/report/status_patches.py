"""Lay out the patches of all processes: the user's first, idle ones of patchkit's own counted."""

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
    """The patches of a picture, as a person is to see them.

    Args:
        listed: By name, those that have a line each; the user's come first.
        folded: By name, those that come with patchkit and apply nowhere.
    """

    listed: Mapping[str, Occurrences]
    folded: Mapping[str, Occurrences]

    @property
    def remark(self) -> str:
        """Words for those that are not listed; '' where all are."""
        if not self.folded:
            return ""
        statuses: set[str] = set()
        for occurrences in self.folded.values():
            for process, patch in occurrences:
                if process.is_due(patch):
                    status, _ = process.stand(patch)
                    statuses.add(status)
        described = " or ".join(sorted(statuses, reverse=True))
        return folded_patches(len(self.folded), described or "for other roles")


def shown_patches(picture: Picture, *, everything: bool = True) -> ShownPatches:
    """Return the patches of all processes that have a journal of their own.

    Args:
        picture: The processes.
        everything: Whether all patches are listed.
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
    listed: dict[str, Occurrences] = {}
    for name in sorted(occurrences, key=lambda name: is_own(occurrences[name])):
        if name not in idle:
            listed[name] = occurrences[name]
    return ShownPatches(
        listed, {name: occurrences[name] for name in occurrences if name in idle}
    )


def has_own_journal(process: ProcessStatus) -> bool:
    """Whether a process has a journal that says more than its parent's.

    Args:
        process: The process.
    """
    return process.is_reached and not process.is_copy


def is_own(occurrences: Occurrences) -> bool:
    """Whether a patch comes with patchkit.

    Args:
        occurrences: The processes that know it.
    """
    return any(patch.comes_with_patchkit for _, patch in occurrences)


def patch_table(picture: Picture, patches: Mapping[str, Occurrences]) -> Table:
    """Lay out a line for each patch, with its status in each role.

    Args:
        picture: The processes, whose roles are the columns.
        patches: By name, the patches.

    Returns:
        The table.
    """
    roles = _roles_in(picture)
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
    """Count the copies of targets that were repointed, and those that could not be."""
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
    """Name the statuses of a patch in the processes of a role, counted where there are more."""
    statuses = Counter[str]()
    for process, patch in occurrences:
        has_role = role in process.roles
        if has_role and patch.is_for(role):
            status, _ = process.stand(patch)
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
    """Return a status in its style.

    Args:
        status: The status.
        suffix: What stands behind it.
    """
    style = STYLES.get(status, "warn")
    return plain(status + suffix, style)


def _remarks(occurrences: Occurrences) -> Text:
    """Say why a patch was skipped, whether it acts, and whether what it changes was reviewed.

    What is armed waits for its target, and a failure is a finding below.
    """
    due = [(process, patch) for process, patch in occurrences if process.is_due(patch)]
    reasons: dict[str, None] = {}
    for process, patch in due:
        status, reason = process.stand(patch)
        if status == "skipped" and reason:
            reasons[reason] = None
    remarks = [plain(reason, "note") for reason in reasons]
    applied = [patch for _, patch in due if patch.status == "applied"]
    if any(patch.body and patch.body.edited for patch in applied):
        remark = Text("body edited on disk since it was loaded", style="warn")
        remarks.append(remark)
    # A process that the patch is not due in may have called it, too.
    effects = {patch.in_effect for _, patch in occurrences}
    hidden = dict.fromkeys(hidden_words(patch) for patch in applied if patch.hidden)
    remarks += [plain(words, "warn") for words in hidden]
    is_without_effect = all(patch.is_unused for patch in applied)
    if applied and is_without_effect and "yes" not in effects:
        remark = Text("never called, see --unused", style="warn")
        remarks.append(remark)
    differs = any(patch.unreviewed for _, patch in due)
    if differs:
        remark = Text("differs from the review, see --patch", style="warn")
        remarks.append(remark)
    return Text("; ").join(remarks)
