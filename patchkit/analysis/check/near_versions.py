"""Asks whether another version was meant by one that no release has."""

from collections.abc import Sequence
from itertools import zip_longest

from patchkit.analysis.check.requiring import differ_by_a_letter

_NEWEST = 10
"""The number of newest releases one of which may have been meant."""


def version_meant(version: str, versions: Sequence[str]) -> str:
    """Ask whether one of the newest versions was meant, where a digit is too many or too few.

    Most versions are like others: `0.34.0` is like `0.4.0`, and as like `0.33.0`, and may be the
    next release. So only a slip in a single part counts, and a changed digit is none.

    Args:
        version: The version that no release has.
        versions: Those of the releases, the oldest first.

    Returns:
        The question, for the end of a message; '' if none seems to be meant.
    """
    for candidate in reversed(versions[-_NEWEST:]):
        if _is_slip(version, candidate):
            return f"; did you mean {candidate}?"
    return ""


def _is_slip(version: str, other: str) -> bool:
    """Whether versions differ in one part, by one digit more or less, or the order of digits."""
    parts = version.split(".")
    other_parts = other.split(".")
    differing = []
    for part, other_part in zip_longest(parts, other_parts, fillvalue="0"):
        if part != other_part:
            differing.append((part, other_part))
    if len(differing) != 1:
        return False
    part, other_part = differing[0]
    if len(part) == len(other_part) and sorted(part) != sorted(other_part):
        return False  # a digit is another one, as in the next release
    return differ_by_a_letter(part, other_part)
