"""Releases that cannot be read, one cause told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchkit.errors import UpstreamError

_SHOWN = 3


def cause_of(error: UpstreamError) -> str:
    """Say why a release cannot be read: in the same words for all that one server keeps back."""
    cause = error.__cause__
    return f"{cause}; it is not in the cache" if isinstance(cause, UnreachableError) else str(error)


def told(faults: Mapping[str, UpstreamError]) -> Iterator[str]:
    """Name the releases that cannot be read, those of one cause together."""
    same: dict[str, list[str]] = {}
    for name, error in faults.items():
        same.setdefault(cause_of(error), []).append(name)
    for cause, names in same.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        # What is one release's alone names it.
        yield cause if len(names) == 1 else f"{', '.join(names[:_SHOWN])}{more}: {cause}"
