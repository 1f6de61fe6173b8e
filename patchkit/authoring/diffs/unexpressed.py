"""What a person has to look at beside the rows that `patchkit adopt` writes."""

from collections.abc import Sequence
from typing import NamedTuple

NOT_EXPRESSED = "not expressed"
WITHOUT_ROW = "observed, without a row"
TO_LOOK_AT = "to look at"


class UnexpressedCode(NamedTuple):
    """Code that no row can express, or what else a person has to look at.

    Args:
        file: the path of its file in the release.
        line: its line there; that of the old text where the new one lacks the code.
        code: its first line.
        reason: why no row can express it.
        place: the target that a row for it would have; its module where it defines nothing.
        used_by: the names of the rows whose new code uses it.
        kind: the list that it is in: `NOT_EXPRESSED` is code that no row expresses, `WITHOUT_ROW` a
            change that a pile was seen to make, and of which no code is known, and `TO_LOOK_AT`
            code that rows express, and that may act in another way there.
    """

    file: str
    line: int
    code: str
    reason: str
    place: str = ""
    used_by: Sequence[str] = ()
    kind: str = NOT_EXPRESSED
