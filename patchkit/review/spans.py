"""What several reviews say of one target, made one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.review.lock_format import Lock
from patchkit.versions.version import release_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.review.lock_format import Span


def united(patch: str, locks: Sequence[Lock]) -> Lock:
    """Make one lock of what several say of a patch: a source that any of them has is reviewed."""
    targets: dict[str, Sequence[Span]] = {}
    for lock in locks:
        for target, spans in lock.entries.get(patch, {}).items():
            targets[target] = joined(targets.get(target, ()), spans)
    return Lock({patch: targets}, is_old=any(lock.is_old for lock in locks))


def in_order(spans: Iterable[Span]) -> list[Span]:
    """Sort spans by distribution and release."""
    return sorted(
        spans, key=lambda one: (one.project, release_order(one.first), release_order(one.last))
    )


def joined(spans: Sequence[Span], more: Iterable[Span]) -> list[Span]:
    """Add spans to others; those with the same source that overlap become one."""
    found = list(spans)
    for span in more:
        found = list(_with(found, span))
    return in_order(found)


def both_wordings(one: Span, other: Span) -> tuple[str, ...]:
    """List the wordings of two spans with the same source."""
    return tuple(sorted({*one.wordings, *other.wordings}))


def _with(spans: Sequence[Span], new: Span) -> Iterator[Span]:
    for span in spans:
        if span[:2] == new[:2] and _overlap(span, new):
            first = min(span.first, new.first, key=release_order)
            last = max(span.last, new.last, key=release_order)
            wordings = both_wordings(new, span)
            new = new._replace(first=first, last=last, wordings=wordings)
        else:
            yield span
    yield new


def _overlap(one: Span, other: Span) -> bool:
    return release_order(one.first) <= release_order(other.last) and release_order(
        other.first
    ) <= release_order(one.last)
