"""What several reviews say of one target, made one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.review.lock_format import Lock
from patchkit.versions.version import release_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.review.lock_format import Span
    from patchkit.versions.version import ReleaseVersion


def united(patch: str, locks: Sequence[Lock]) -> Lock:
    """Make one lock of what several say of a patch: a source that any of them has is reviewed."""
    targets: dict[str, Sequence[Span]] = {}
    for lock in locks:
        for target, spans in lock.entries.get(patch, {}).items():
            targets[target] = joined(targets.get(target, ()), spans)
    return Lock({patch: targets})


def joined(spans: Sequence[Span], more: Iterable[Span]) -> list[Span]:
    """Add spans to others, by release; those with the same source that overlap become one."""
    for span in more:
        spans = list(_with(spans, span))
    return sorted(spans, key=lambda span: (span.project, *_ends(span)))


def both_wordings(span: Span, other: Span) -> tuple[str, ...]:
    """List the wordings of two spans with the same source."""
    return tuple(sorted({*span.wordings, *other.wordings}))


def _with(spans: Iterable[Span], new: Span) -> Iterator[Span]:
    for span in spans:
        if span[:2] == new[:2] and _overlap(span, new):
            first = min(span.first, new.first, key=release_order)
            last = max(span.last, new.last, key=release_order)
            new = new._replace(first=first, last=last, wordings=both_wordings(new, span))
        else:
            yield span
    yield new


def _overlap(span: Span, other: Span) -> bool:
    (first, last), (other_first, other_last) = _ends(span), _ends(other)
    return first <= other_last and other_first <= last


def _ends(span: Span) -> tuple[ReleaseVersion, ReleaseVersion]:
    return release_order(span.first), release_order(span.last)
