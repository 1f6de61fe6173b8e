"""What a change runs into in one release."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.check import codes

if TYPE_CHECKING:
    from patchkit.check.codes import Code
    from patchkit.upstream.facts import Facts

_HARMLESS = (codes.UNDECIDABLE, codes.NOT_COMPARED, codes.MERGED_UPSTREAM)
REWRITE = "change the body, or narrow the range and add a change for the releases from here on"
RETIRE = "end the range before this release; the row can go once no other release needs it"


class Fault(NamedTuple):
    """
    Something that a change runs into in one release.

    Args:
        code: which sort.
        message: what was found and what was expected.
        fix: what to do.
        by: the object of the body that it is about, '' where it is about the row.

    """

    code: Code
    message: str
    fix: str
    by: str = ""

    @property
    def breaks(self) -> bool:
        """Whether the change fails at run time; an Edit does that is upstream by now."""
        is_edit = self.code is codes.MERGED_UPSTREAM and not self.by
        return is_edit or self.code not in _HARMLESS


def undecidable(reason: str) -> Fault:
    """Say that the source does not tell."""
    return Fault(codes.UNDECIDABLE, f"not decidable: {reason}", "look at it by hand")


def where(facts: Facts) -> str:
    """Name the file and line of a definition."""
    return f"{facts.path}:{facts.lines[0]}" if facts.path and facts.lines else facts.path or "there"
