"""What is due when which module is imported, and whether that is for this process.

`Relevance` is the one who says so: by role and block, then by settings, versions and review.
"""

from collections.abc import Collection, Iterable
from typing import Any

from patchkit.core.rows.declaration import SERVING, Role, Row
from patchkit.core.rows.selection import Selection, check_names
from patchkit.errors import ApplyError, DriftError
from patchkit.runtime.drift import UNREADABLE
from patchkit.runtime.process.patch_state import (
    APPLIED,
    SKIPPED,
    ChangeGroup,
    PatchState,
    PatchStates,
)
from patchkit.runtime.process.transaction import Placed


class Schedule:
    """What is due when; rows may come and go."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.patches: dict[str, PatchState] = {}
        self._groups: dict[tuple[str, str], list[ChangeGroup]] = {}
        self.by_body: dict[str, list[ChangeGroup]] = {}  # by the full name of their body
        self._next_rank = 0
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take in a row, to apply after those that are here."""
        patch = PatchState(row, row.name, row.body)
        due: dict[tuple[str, str], list[Placed]] = {}
        for place, change in enumerate(row.patch.changes):
            due.setdefault((change.place.module, change.moment), []).append((place, change))
        for (module, moment), changes in due.items():
            group = ChangeGroup(patch, module, moment, tuple(changes), self._next_rank)
            patch.groups.append(group)
            self._groups.setdefault((module, moment), []).append(group)
        self._next_rank += 1
        if row.patch.body is not None:
            self.by_body.setdefault(patch.body, []).extend(patch.groups)
        self.patches[patch.name] = patch

    def remove(self, name: str) -> None:
        """Leave a row out again."""
        patch = self.patches.pop(name)
        for groups in (*self._groups.values(), *self.by_body.values()):
            groups[:] = [group for group in groups if group.patch is not patch]

    @property
    def modules(self) -> set[str]:
        """Every module whose import matters: targets, and bodies that others may import."""
        return self.targets | set(self.by_body)

    @property
    def targets(self) -> set[str]:
        """Every module that a patch changes."""
        return {module for module, _ in list(self._groups)}

    def due(self, module: str, moment: str) -> list[ChangeGroup]:
        """Return what is due around a module's import, in the order in which it applies."""
        return list(self._groups.get((module, moment), ()))

    def serves_beneath(self, module: str) -> bool:
        """Whether a module is served whose name makes this one a package."""
        keys = [key for key, groups in list(self._groups.items()) if groups]
        return any(at == SERVING and name.startswith(f"{module}.") for name, at in keys)

    def groups(self) -> list[ChangeGroup]:
        """Return all groups in the order in which their rows apply."""
        return [group for patch in list(self.patches.values()) for group in patch.groups]


class Relevance:
    """Says of each patch whether it is for this process, and why it is not."""

    def __init__(self, states: PatchStates, selection: Selection) -> None:
        self.selection = selection
        self.awaits_role = False
        self._states = states
        self._unreviewed: dict[str, dict[str, Any]] = {}
        self._told: set[str] = set()

    # -- the question -----------------------------------------------------------------------------

    def is_wanted(self, group: ChangeGroup) -> bool:
        """Whether a role of this process, or a block, has the group's patch.

        A module for every role is there before the role is known: a Ray worker process learns that
        from its actor's class, and what defines the class may import the module.
        """
        roles = self._states.roles
        if group.patch.is_for(roles):
            return True
        is_early = self.awaits_role and not roles and group.moment == SERVING
        return is_early and group.patch.row.roles.issuperset(Role)

    def is_open(self, group: ChangeGroup) -> bool:
        """Whether the process still is to have a group: another thread may have taken it back."""
        return self.is_wanted(group) and group.patch.is_open

    def is_selected(self, state: PatchState) -> bool:
        """Whether nothing speaks against a patch here; asks no more than it has to."""
        if state.settled or not state.is_open:
            return state.is_open
        return self.selection.reason_to_skip(state.row) is None

    def changes_here(self, group: ChangeGroup) -> list[Placed]:
        """The changes of a group that are for the versions here."""
        row = group.patch.row
        return [placed for placed in group.changes if self.selection.applies(placed[1], row)]

    # -- the answer, once and for all -------------------------------------------------------------

    def settle(self, state: PatchState) -> None:
        """Ask whether a patch is for here, before it is due; an error is the patch's failure."""
        try:
            self.is_for_here(state)
        except Exception as error:  # noqa: BLE001 - the patch's failure, like any other
            self._states.fail(state, error)

    def settle_serving(self, roles: Collection[Role]) -> None:
        """Ask early whether what serves modules in all these roles is for here."""
        for state in list(self._states.patches.values()):
            serves = any(group.moment == SERVING for group in state.groups)
            if serves and state.row.roles.issuperset(roles):
                self.settle(state)

    def is_for_here(self, state: PatchState) -> bool:
        """Whether a patch is for here, else skip it; PatchkitError if unclear or refused."""
        if not state.settled:
            check_names(self._states.settings, self._states.patches)
            if (reason := self.selection.reason_to_skip(state.row)) is not None:
                self._states.set(state, SKIPPED, reason)
                self._tell_if_unreviewed(state, reason)
            else:
                self._refuse_conflict(state)
                self._review(state)
            state.settled = True  # last, as another thread may be asking
        return state.is_open

    def _refuse_conflict(self, state: PatchState) -> None:
        for other in list(self._states.patches.values()):
            named = other.name in state.row.patch.conflicts
            if not (named or state.name in other.row.patch.conflicts):
                continue
            if state.holders:  # beside one that a block holds, whatever is for here
                is_beside = other.holders > 0 or other.status == APPLIED
            else:
                is_beside = self.selection.reason_to_skip(other.row) is None
            if is_beside:
                raise ApplyError(
                    f"it conflicts with {other.name}, which is selected too; leave one out "
                    "with PATCHKIT_DISABLE"
                )

    # -- review -----------------------------------------------------------------------------------

    def tell_again(self) -> None:
        """Write to the journal what a forked child has inherited, beside the status of patches."""
        for facts in self._unreviewed.values():
            self._states.journal.write("unreviewed", **facts)

    def _review(self, state: PatchState) -> None:
        if not (words := self.selection.unreviewed(state.row)):
            return
        if self._states.settings.on_drift == "stop":
            raise DriftError(f"{words}. PATCHKIT_ON_DRIFT=warn applies it anyway")
        self._tell_unreviewed(state, words)

    def _tell_if_unreviewed(self, state: PatchState, reason: str) -> None:
        """Tell of a patch that drift leaves out, though the process is not whole without it."""
        on_drift = self._states.settings.on_drift
        by_drift = on_drift == "skip" and reason == self.selection.unreviewed(state.row)
        if by_drift and (state.row.patch.required or reason.startswith(UNREADABLE)):
            self._tell_unreviewed(state, reason)

    def _tell_unreviewed(self, state: PatchState, words: str) -> None:
        if state.name in self._unreviewed:
            return
        skipped, pack = state.status == SKIPPED, state.row.pack
        unreadable = words.startswith(UNREADABLE)
        facts = {"name": state.name, "reason": words, "finding": skipped or unreadable}
        self._unreviewed[state.name] = facts
        self._states.journal.write("unreviewed", **facts)
        if not unreadable:
            is_named = pack in self._states.settings.packs
            rest = f"{state.name} --here" + (f" --patches {pack}" if is_named else "")
            hint = f"see 'patchkit diff {rest}', then 'patchkit lock {rest}'"
            effect = "required, and left out: " if skipped else ""
            self._states.say("warning", f"{state.name}: {effect}{words}; {hint}")
        elif words not in self._told:  # once for all patches that it would speak of
            self._told.add(words)
            self._states.say("warning", words + ("; its patches are left out" if skipped else ""))
