"""What the journal says beside the status of patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.copies import Outcome, subclasses_left, untraced
from patchkit.imports.finder import home, others
from patchkit.process.journal import process_facts
from patchkit.process.patch_state import APPLIED, ARMED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.changes.sites import Site
    from patchkit.process.patch_state import GroupState, PatchState, PatchStates


def remarks(group: GroupState, outcome: Outcome, *, late: bool) -> dict[str, Any]:
    """
    Tell the copies of what a group has changed, and how patches lie on it.

    Args:
        group: the group.
        outcome: what the pass over the copies has found, for this group and others.
        late: whether somebody may have copied before.

    Returns:
        `module`, `rebound`, `out_of_reach`, `layers`: for each target the patches on it, the
        innermost first; `hidden`: for each target the patches whose replacement does not act, and
        the one that hides it; `untraced`: for each target why copies were not looked for. The last
        two only where there is something to tell.

    """
    sites = [site for _, site in group.made.sites]
    told: dict[str, Any] = {
        "module": group.plan.module,
        "rebound": [copy.words for copy in outcome.rebound if copy.site in sites],
        "out_of_reach": [
            *(copy.words for copy in outcome.left if copy.site in sites),
            *(words for site in sites for words in subclasses_left(site.original, site.current)),
        ],
        "layers": layers_of(group),
    }
    some = {"hidden": dict(_hidden(group)), "untraced": dict(_untraced(group)) if late else {}}
    return told | {name: facts for name, facts in some.items() if facts}


def layers_of(group: GroupState) -> dict[str, list[str]]:
    """
    Name for each target of a group the patches that lie on it, the innermost first.

    Of what is no attribute (code that is edited, a field, a module) only this group's is known.
    """
    layers: dict[str, list[str]] = {target: [] for target in group.made.targets}
    for target, site in group.made.sites:
        order = layers.setdefault(target, [])
        order += [patch for patch in site.patches if patch not in order]
    return {target: order or [group.patch.name] for target, order in layers.items()}


def _hidden(group: GroupState) -> Iterator[tuple[str, dict[str, str]]]:
    for target, site in group.made.sites:
        *below, top = [layer.patch for layer in site.layers if layer.base] or [""]
        if hidden := {patch: top for patch in below if patch != top}:
            yield target, hidden


def _untraced(group: GroupState) -> Iterator[tuple[str, str]]:
    for target, site in group.made.sites:
        if site.rebind and _is_changed(site) and (reason := untraced(site)) is not None:
            yield target, reason


def _is_changed(site: Site) -> bool:
    return site.original is not site.current


# -- of the process -------------------------------------------------------------------------------


def tell_armed(states: PatchStates, **facts: Any) -> None:
    """Write which patches there are, for which roles, and what process this is."""
    rows = {name: sorted(state.row.roles) for name, state in states.patches.items()}
    states.journal.write("armed", patches=list(rows), roles=rows, **facts, **process_facts())


def tell_others(states: PatchStates) -> None:
    """Tell of other copies of patchkit that patch this process too."""
    for other in others():
        states.journal.write("other-copy", copy=home(other))
        states.say(
            "warning",
            f"another copy of patchkit patches this process too: {home(other)}. Wraps of both "
            "act; a Replace of what the other one has changed is refused",
        )


def tell_inherited(states: PatchStates) -> None:
    """Write the statuses that a forked child has from its parent into a journal of its own."""
    tell_armed(states, forked=True)
    for role in sorted(states.roles):
        states.journal.write("role", role=str(role), inherited=True)
    for state in states.patches.values():
        if state.status != ARMED or state.reason:
            for facts in _facts_of(state):
                states.tell(state, inherited=True, **facts)


def _facts_of(state: PatchState) -> list[dict[str, Any]]:
    """What was told of each group of a patch, as it is now; one at least, without facts."""
    told = [group for group in state.groups if group.applied_to and group.facts]
    applied = told if state.status == APPLIED else ()
    return [group.facts | {"layers": layers_of(group)} for group in applied] or [{}]
