"""Suggestions for a mistyped word."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def near(word: str, words: Iterable[str], most: int = 1) -> str:
    """Ask whether a similar word was meant; '' where there is none."""
    from difflib import get_close_matches  # noqa: PLC0415 - no process that is in order needs it

    words_like_it = get_close_matches(word, list(words), n=most, cutoff=0.5)
    return f"; did you mean {' or '.join(words_like_it)}?" if words_like_it else ""
