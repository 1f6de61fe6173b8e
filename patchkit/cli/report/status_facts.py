"""Lays out the facts about one patch for `status --patch`: targets, copies, other wrappers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from patchkit.analysis.status.process_status import (
    PatchStatus,
    ProcessStatus,
)
from patchkit.cli.report.console import columns, folded, plain, whole

Occurrences = Sequence[tuple[ProcessStatus, PatchStatus]]
"""The processes that know a patch, each with the status of the patch in it."""


class PatchFact(NamedTuple):
    """A line about one patch.

    Args:
        order: The position of its topic; the smallest comes first.
        topic: Its topic, such as `target` or `out of reach`.
        text: Its text.
        style: The name of its style; '' for none.
    """

    order: int
    topic: str
    text: str
    style: str = ""


def facts_table(occurrences: Occurrences) -> Sequence[RenderableType]:
    """Lay out the facts about a patch, each with its processes if it is not true in all.

    Args:
        occurrences: The processes that know the patch.

    Returns:
        An empty line and the table; nothing if there are no facts.
    """
    # Where it is applied, or was taken back and is still held.
    present = [
        (process, patch)
        for process, patch in occurrences
        if patch.status == "applied" or patch.kept
    ]
    pids_by_fact: dict[PatchFact, list[str]] = {}
    for process, patch in present:
        for fact in _facts(process, patch):
            pids = pids_by_fact.setdefault(fact, [])
            pids.append(str(process.pid))
    if not pids_by_fact:
        return []
    table = columns(whole(style="heading"), folded(), folded(style="note"))
    previous_topic = ""
    sorted_facts = sorted(pids_by_fact, key=lambda fact: (fact.order, fact.topic))
    for fact in sorted_facts:
        pids = pids_by_fact[fact]
        topic = fact.topic
        if topic == previous_topic:
            topic = ""
        joined_pids = ", ".join(pids)
        remark = f"in {joined_pids}"
        if len(pids) == len(present):  # it is true in all of them
            remark = ""
        table.add_row(topic, plain(fact.text, fact.style), remark)
        previous_topic = fact.topic
    return ["", table]


def _facts(process: ProcessStatus, patch: PatchStatus) -> Iterator[PatchFact]:
    """Yield the facts about a patch in a process where it is applied, or kept after an undo."""
    for target, calls in patch.calls.items():
        text = f"{target}  {calls}"
        layers = process.layers.get(target, [])
        # Patches of one target, from the innermost to the outermost.
        if len(layers) > 1:
            joined_layers = " < ".join(layers)
            text = f"{target}  {joined_layers}  {calls}"
        yield PatchFact(1, "target", text)
    for target, upper in patch.hidden.items():
        yield PatchFact(1, "target hidden", f"{target}: under patch {upper}", "warn")
    for target, reason in patch.left_out.items():
        yield PatchFact(1, "target left out", f"{target}: {reason}", "note")
    for description in patch.rebound:
        yield PatchFact(2, "repointed", description, "ok")
    for description in patch.out_of_reach:
        yield PatchFact(3, "out of reach", description, "warn")
    for target, reason in patch.untraced.items():
        yield PatchFact(4, "not looked for", f"{target}: {reason}", "note")
    yield from _stranger_facts(patch)
    if patch.body is not None and patch.body.edited:
        text = f"{patch.body.file}: since it was loaded; the former text runs"
        yield PatchFact(6, "body edited", text, "warn")
    if patch.unreviewed:
        yield PatchFact(7, "not reviewed", patch.unreviewed, "warn")


def _stranger_facts(patch: PatchStatus) -> Iterator[PatchFact]:
    """Yield facts about other code that has wrapped or overwritten what the patch changed."""
    for stranger in patch.strangers:
        text = f"{stranger.target}: {stranger.by}"
        if stranger.unsure:
            text += ": cannot tell whether that calls the patch"
            yield PatchFact(5, "wrapped by", text, "warn")
        elif stranger.wraps:
            yield PatchFact(5, "wrapped by", text)
        else:
            yield PatchFact(6, "overwritten by", text, "bad")


def hidden_words(patch: PatchStatus) -> str:
    """Return at which targets other patches keep a patch from being called, in words.

    Args:
        patch: A patch that is hidden at a target, by a patch that does not call it.
    """
    places = [
        f"under patch {upper} at {target}" for target, upper in patch.hidden.items()
    ]
    joined_places = ", ".join(places)
    return f"hidden {joined_places}"


def roles_of(process: ProcessStatus) -> str:
    """Return the roles of a process, in words.

    Args:
        process: The process.
    """
    return ", ".join(process.roles) or "no role yet"
