"""Somebody else's function, and what the journal tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session


def told(session: Session, event: str) -> list[dict[str, Any]]:
    """The entries of one kind."""
    return [entry for entry in session.journal.entries if entry["event"] == event]


def stranger() -> str:
    """What takes the place of a target."""
    return "theirs"
