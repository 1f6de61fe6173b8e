"""Reads one line of a journal; a value of another type than expected counts as missing."""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
"""Decodes a line; `json.loads` would first look for the encoding of each, which is always UTF-8."""
_FAR_FUTURE = 1e11
"""Seconds since the epoch; a later time is an error, and would overflow a date."""


class JournalEntry(dict[str, Any]):
    """One line of a journal; a value of another type than expected counts as missing."""

    def text(self, key: str) -> str:
        """Return the string of a key; '' if it has none.

        Args:
            key: The key.
        """
        value = self.get(key)
        if isinstance(value, str):
            return value
        return ""

    def integer(self, key: str) -> int | None:
        """Return the integer of a key; None if it has none.

        Args:
            key: The key.
        """
        value = self.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return None

    def is_true(self, key: str) -> bool:
        """Whether the value of a key is True.

        Args:
            key: The key.
        """
        return self.get(key) is True

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings in the list of a key; () if it has no list.

        Args:
            key: The key.
        """
        value = self.get(key)
        if not value or not isinstance(value, list):  # (Most entries have none.)
            return ()
        texts = [text for text in value if isinstance(text, str)]
        return tuple(texts)

    def mapping(self, key: str) -> "JournalEntry":
        """Return the mapping of a key as an entry; an empty one if it has no mapping.

        Args:
            key: The key.
        """
        value = self.get(key)
        if isinstance(value, dict):
            return JournalEntry(value)
        return JournalEntry()

    def text_by_name(self, key: str) -> dict[str, str]:
        """Return the mapping of a key with its values as strings.

        Args:
            key: The key.
        """
        mapping = self.mapping(key)
        if not mapping:
            return {}
        return {name: mapping.text(name) for name in mapping}

    def texts_by_name(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return the mapping of a key with its values as lists of strings.

        Args:
            key: The key.
        """
        mapping = self.mapping(key)
        return {name: mapping.texts(name) for name in mapping}

    @property
    def time(self) -> float:
        """When the entry was written, in seconds since the epoch; 0 if that is not known."""
        seconds = self.get("time")
        # For NaN, which JSON may have, the comparison is false.
        if isinstance(seconds, (int, float)) and abs(seconds) < _FAR_FUTURE:
            return float(seconds)
        return 0


def parse_line(line: bytes) -> JournalEntry | None:
    """Read a line of a journal.

    Args:
        line: The line; of a process that was killed, the last one may be incomplete.

    Returns:
        The entry; None if the line is not a JSON object.
    """
    if not line.startswith(b"{"):
        return None
    try:
        text = line.decode("utf-8", "surrogatepass")
        return JournalEntry(_DECODER.decode(text))
    except (ValueError, RecursionError):
        return None


class CallResult(NamedTuple):
    """What a call of an AfterImport has set, compared with what its row says it `sets`.

    Args:
        left: The targets that the row names, and that the call left as they were.
        unnamed: What the call has changed, and the row does not name.
    """

    left: tuple[str, ...]
    unnamed: tuple[str, ...]


class BodyFile(NamedTuple):
    """The file that a body was loaded from.

    Args:
        file: The file.
        loaded: The checksum that it had when it was loaded.
        edited: Whether it has another one now; None where that is not known.
    """

    file: str
    loaded: str
    edited: bool | None = None


class FirstCall(NamedTuple):
    """The first call of a probed target in a process.

    Args:
        file: The file that called it.
        line: The line in that file.
        at: The name of the function there; `<module>` outside of functions.
    """

    file: str
    line: int
    at: str


@dataclass
class TargetProbe:
    """What a process says of a target that `patchkit probe` observes in it.

    Args:
        is_imported: Whether the module of the target was imported.
        reason: Why calls are not counted; empty where they are.
        first: The first call; None if there was none, or nobody knows where it came from.
        is_traced: Whether torch.compile has traced the target.
    """

    is_imported: bool = False
    reason: str = ""
    first: FirstCall | None = None
    is_traced: bool = False
