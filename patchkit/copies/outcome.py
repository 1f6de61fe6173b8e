"""What a pass over the copies has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from patchkit.changes.sites import Site


class Copy(NamedTuple):
    """What held an original, in words, and the site that it was copied from."""

    words: str
    site: Site

    def __str__(self) -> str:
        return self.words


class Outcome(NamedTuple):
    """What a pass has found: copies that were repointed, and what is out of reach."""

    rebound: list[Copy]
    left: list[Copy]
