"""Where a target appeared, changed, moved and went, release by release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchkit.check.subjects import learn_all
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.target import Target
    from patchkit.upstream.releases import Progress

_MOVES = 4
"""How many moves are followed one after another."""


@dataclass(frozen=True)
class Step:
    """
    A target in one release.

    Args:
        release: its version.
        state: present, absent, undecidable, or unreadable.
        fingerprint: of its source, where it is or has moved to.
        changed: whether that is another than in the last release that had it.
        moved_to: where it is in this release, that lacks it under its own name.
        reason: why it is absent, undecidable or unreadable.

    """

    release: str
    state: str
    fingerprint: str | None = None
    changed: bool = False
    moved_to: Target | None = None
    reason: str = ""


def history(
    target: Target, subjects: Sequence[Subject], progress: Progress | None = None
) -> list[Step]:
    """
    Follow a target through releases.

    Args:
        target: what to follow.
        subjects: the releases, the oldest first.
        progress: told of each that was read.

    """
    faults = learn_all(subjects, lambda _: [target], progress)
    sound = [one for one in subjects if one.name not in faults]
    places = _Trail(sound, target).places()
    steps = [
        Step(one.version, "unreadable", reason=str(faults[one.name]))
        if one.name in faults
        else _step(one, target, places)
        for one in subjects
    ]
    return list(_compared(steps))


def _step(subject: Subject, target: Target, places: dict[str, Target]) -> Step:
    found = subject.facts(target)
    step = Step(subject.version, found.state, found.fingerprint, reason=found.reason)
    place = places.get(subject.name)
    if place is None:
        return step
    return replace(step, moved_to=place, fingerprint=subject.facts(place).fingerprint)


def _compared(steps: Sequence[Step]) -> Iterator[Step]:
    last: Step | None = None
    for step in steps:
        if step.fingerprint is None:
            yield step
            continue
        yield replace(step, changed=last is not None and step.fingerprint != last.fingerprint)
        last = step


class _Trail:
    """The releases that lack a target, and where it is in them."""

    def __init__(self, subjects: Sequence[Subject], target: Target) -> None:
        self._subjects = subjects
        self._target = target
        # Where it is known to be, under its own name or another.
        self._known: dict[int, Target] = {
            at: target for at, one in enumerate(subjects) if one.facts(target).is_present
        }

    def places(self) -> dict[str, Target]:
        """By the names of releases; those that have it under its own name left out."""
        for _ in range(_MOVES):
            found = dict(self._found_next_to_known())
            if not found:
                break
            self._known.update(found)
        return {
            self._subjects[at].name: place
            for at, place in self._known.items()
            if place != self._target
        }

    def _found_next_to_known(self) -> Iterator[tuple[int, Target]]:
        """Look into the releases that lack it, next to those that have it, and on from there."""
        for at in sorted(self._known):
            for way in (1, -1):
                place = self._moved(at, at + way)
                beyond = at + way
                while place and self._lacks(beyond) and self._has(beyond, place):
                    yield beyond, place
                    beyond += way

    def _moved(self, known: int, unknown: int) -> Target | None:
        if not self._lacks(unknown):
            return None
        old, new = self._subjects[known], self._subjects[unknown]
        try:
            found = new.moved(self._known[known], old)
        except UpstreamError:
            return None
        finally:
            new.rest()
            old.rest()
        return found[0] if found else None

    def _lacks(self, at: int) -> bool:
        is_there = 0 <= at < len(self._subjects) and at not in self._known
        return is_there and self._subjects[at].facts(self._target).state == "absent"

    def _has(self, at: int, place: Target) -> bool:
        try:
            return self._subjects[at].facts(place).is_present
        except UpstreamError:
            return False
