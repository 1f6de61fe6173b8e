"""Reads one line of a journal; a value that has not the expected type counts as missing."""

import json
from typing import Any

_FAR_FUTURE = 1e11
"""Seconds since the epoch that no clock shows in this age."""


class JournalEntry(dict[str, Any]):
    """One line of a journal; a value that has not the expected type counts as missing."""

    def text(self, key: str) -> str:
        """Return a text; '' where there is none under a key.

        Args:
            key: The key.
        """
        value = self.get(key)
        if isinstance(value, str):
            return value
        return ""

    def integer(self, key: str) -> int | None:
        """Return an integer; None where there is none under a key.

        Args:
            key: The key.
        """
        value = self.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return None

    def is_true(self, key: str) -> bool:
        """Whether True stands under a key.

        Args:
            key: The key.
        """
        return self.get(key) is True

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts in a list; none where there is no list under a key.

        Args:
            key: The key.
        """
        value = self.get(key)
        if not isinstance(value, list):
            return ()
        return tuple(text for text in value if isinstance(text, str))

    def mapping(self, key: str) -> "JournalEntry":
        """Return a mapping, read as an entry is; an empty one where there is none under a key.

        Args:
            key: The key.
        """
        value = self.get(key)
        if isinstance(value, dict):
            return JournalEntry(value)
        return JournalEntry()

    def text_by_name(self, key: str) -> dict[str, str]:
        """Return a mapping of texts.

        Args:
            key: The key.
        """
        mapping = self.mapping(key)
        return {name: mapping.text(name) for name in mapping}

    def texts_by_name(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return a mapping of lists of texts.

        Args:
            key: The key.
        """
        mapping = self.mapping(key)
        return {name: mapping.texts(name) for name in mapping}

    @property
    def time(self) -> float:
        """When it was written, in seconds since the epoch; 0 where that is not known."""
        seconds = self.get("time")
        # The comparison is false for NaN, too.
        if isinstance(seconds, (int, float)) and abs(seconds) < _FAR_FUTURE:
            return float(seconds)
        return 0


def parse_line(line: bytes) -> JournalEntry | None:
    """Read a line of a journal.

    Args:
        line: The line, which may be torn.

    Returns:
        The entry; None where the line is none.
    """
    if not line.startswith(b"{"):
        return None
    try:
        return JournalEntry(json.loads(line))
    except (ValueError, RecursionError):
        return None
