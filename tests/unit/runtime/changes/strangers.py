"""A stranger's function, and the entries of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session


def entries_of(session: Session, event: str) -> list[dict[str, Any]]:
    """The journal's entries of one kind of event."""
    return [entry for entry in session.journal.entries if entry["event"] == event]


def stranger() -> str:
    """A function that somebody else puts in the place of a target."""
    return "theirs"
