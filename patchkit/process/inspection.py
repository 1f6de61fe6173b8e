"""Looks whether somebody else has overwritten what is applied here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.changes.overwrites import stranger_at, stranger_on, strangers_on_copies
from patchkit.errors import OverwrittenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.changes.overwrites import Overwrite
    from patchkit.changes.sites import Sites
    from patchkit.process.patch_state import GroupState, PatchStates


class Inspection:
    """Tells of neighbours, each once."""

    def __init__(self, sites: Sites, states: PatchStates) -> None:
        self._sites = sites
        self._states = states
        self._told: set[tuple[str, str]] = set()

    def error_of(
        self, group: GroupState, is_settled: Callable[[GroupState], bool]
    ) -> OverwrittenError | None:
        """
        Look at what a group has changed; return why it does not act any more.

        Args:
            group: it.
            is_settled: whether another thread has not begun meanwhile to apply it anew.

        """
        name, made = group.patch.name, group.made
        looks = [(target, stranger_at(site, self._sites)) for target, site in tuple(made.sites)]
        looks += [(way.target, stranger_on(way, self._sites)) for way in tuple(made.routes)]
        for target, overwrite in looks:
            if overwrite is not None and is_settled(group):
                self._tell(name, target, overwrite)
                if not overwrite.wraps:
                    return OverwrittenError(f"{target} was overwritten by {overwrite.by}")
        for _, site in tuple(made.sites):
            for words, overwrite in strangers_on_copies(site):
                self._tell(name, words, overwrite, "info" if overwrite.wraps else "warning")
        return None

    def _tell(self, name: str, target: str, overwrite: Overwrite, level: str = "info") -> None:
        event = "wrapped" if overwrite.wraps else "overwritten"
        text = f"{target} was {event} by {overwrite.by}"
        if (name, text) not in self._told:
            self._told.add((name, text))
            self._states.journal.write(event, name=name, target=target, by=overwrite.by)
            self._states.say(level, f"{name}: {text}")
