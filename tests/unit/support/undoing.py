"""Take patches of a session back, and apply them again, each for itself.

It is the undo of blocks and of `become`, whoever asks for it; tests of single patches have neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import UndoError
from patchkit.runtime.process.patch_state import APPLIED, ARMED, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.runtime.process.session import Session


def undo(session: Session, names: Iterable[str] | None = None) -> None:
    """Take patches back, all of them or those named, the last declared first."""
    chosen = [session.states[name] for name in reversed([*(names or session.states)])]
    states = [state for state in chosen if state.status in {APPLIED, ARMED}]
    for state in states:
        session._states.set(state, SKIPPED, "undone")
    if errors := session.applier.undoing.take_back(*states):
        raise UndoError("; ".join(map(str, errors)))


def apply(session: Session, names: Iterable[str]) -> None:
    """Arm patches again that were undone, and apply those that are due."""
    states = [session.states[name] for name in names]
    for state in states:
        if state.status == SKIPPED:
            session._states.set(state, ARMED)
            state.is_decided = False
    session._table.decide_serving(frozenset())
    session.applier.apply_late([group for state in states for group in state.groups])


def disarm(session: Session) -> None:
    """Take everything back, patchkit's own hooks included, and watch no more."""
    session.stand_down()
    try:
        undo(session)
    finally:
        for site in session.sites:
            for layer in [layer for layer in site.layers if not layer.patch]:
                site.remove(layer)
