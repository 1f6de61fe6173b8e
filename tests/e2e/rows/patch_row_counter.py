"""A module that vLLM 0.32.0 lacks."""

from __future__ import annotations

from rows.witness import seen

__all__ = ["count"]


def count(things: list[object]) -> int:
    """How many there are."""
    seen("lacking-module", count.__module__)
    return len(things)
