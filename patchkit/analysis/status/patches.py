"""Summarizes the patches of several processes: which are idle, how many have which status."""

from collections import Counter
from collections.abc import Iterable

from patchkit.analysis.status.findings import NodeFacts
from patchkit.analysis.status.process_status import ProcessStatus

STATUSES = ("failed", "applied", "skipped", "armed")
"""The statuses of a patch; if it has several, the first of these counts, see `tally`."""


def idle_patches(processes: Iterable[ProcessStatus]) -> set[str]:
    """Return the names of patchkit's own patches that no process has applied, or failed to apply.

    They are in every picture, and hidden unless somebody asks for all patches.

    Args:
        processes: All processes of a picture.
    """
    own: set[str] = set()
    active: set[str] = set()
    for process in processes:
        for name, patch in process.patches.items():
            if patch.comes_with_patchkit:
                own.add(name)
            if patch.status in {"applied", "failed"}:
                active.add(name)
    return own - active


def tally(processes: Iterable[ProcessStatus], idle: set[str]) -> dict[str, int]:
    """Count the patches by status.

    A patch that has several, in different processes, counts once: as failed rather than applied,
    applied rather than skipped, and skipped rather than armed.

    Args:
        processes: The processes.
        idle: Names of patches that are not counted.

    Returns:
        How many patches have each status; failed first, armed last.
    """
    statuses: dict[str, str] = {}
    for process in processes:
        for name, patch in process.patches.items():
            if name in idle or not process.is_due(patch):
                continue
            status, _ = process.stand(patch)  # left out: the reason
            former = statuses.get(name, status)
            statuses[name] = min(former, status, key=STATUSES.index)
    counts = Counter(statuses.values())
    return {status: counts[status] for status in STATUSES if counts[status]}


def compare_bodies(processes: Iterable[ProcessStatus], node: NodeFacts) -> None:
    """Mark the bodies on a node that were edited after a process had loaded them.

    Args:
        processes: The processes. For those of this node, `edited` of each body is set, unless the
            body's file cannot be read.
        node: What `node.look` returned for the node.
    """
    checksums = node.get("bodies", {})
    for process in processes:
        # Another container with this host name has other files.
        if process.host != node["host"] or not process.counts_in(node.get("space", "")):
            continue
        for patch in process.patches.values():
            body = patch.body
            if body is not None and body.file in checksums:
                present = checksums[body.file]
                is_edited = present != body.loaded
                patch.body = body._replace(edited=is_edited)
