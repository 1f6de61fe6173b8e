"""Where a target appeared, changed, moved and went, release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.check.findings import cause_of
from patchkit.check.learning import learn_all
from patchkit.check.trails import Trails, meant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target
    from patchkit.upstream.moves.whereabouts import Whereabouts
    from patchkit.upstream.reading.parallel import Progress


class Step(NamedTuple):
    """
    A target in one release.

    Args:
        release: its version.
        state: present, absent, undecidable, or unreadable.
        fingerprint: of its source, where it is or has moved to.
        changed: whether that is another than in the last release that had it.
        moved_to: where it is in this release, that lacks it under its own name.
        likeness: of its source there, from 0 to 1, to what it was in the nearest release that had
            it elsewhere; None where that is not known.
        reason: why it is absent, undecidable or unreadable, and what became of it.

    """

    release: str
    state: str
    fingerprint: str | None = None
    changed: bool = False
    moved_to: Target | None = None
    likeness: float | None = None
    reason: str = ""


def histories(
    targets: Sequence[Target], subjects: Sequence[Subject], progress: Progress | None = None
) -> dict[Target, list[Step]]:
    """Follow several targets through the releases of one distribution, the oldest first."""
    faults = learn_all(subjects, lambda _: targets, progress)
    trails = Trails([one for one in subjects if one.name not in faults], targets, ways=(1, -1))
    trails.follow()
    found = {}
    for target in targets:
        steps = [
            Step(one.version, "unreadable", reason=cause_of(faults[one.name]))
            if one.name in faults
            else _step(one, target, trails.told(target, one))
            for one in subjects
        ]
        found[target] = list(_compared(steps))
    return found


def _step(subject: Subject, target: Target, told: Whereabouts | None) -> Step:
    facts = subject.facts(target)
    step = Step(subject.version, facts.state, facts.fingerprint, reason=facts.reason)
    if told is None or told.place is None:
        more = f"; {told.words}" if told and told.words else ""
        return step._replace(reason=f"{facts.reason}{more}")
    mark = subject.facts(told.place).fingerprint
    return step._replace(moved_to=told.place, likeness=told.likeness, fingerprint=mark)


def _compared(steps: Iterable[Step]) -> Iterator[Step]:
    last: str | None = None
    for step in steps:
        mark = step.fingerprint
        yield step._replace(changed=mark is not None and last not in (None, mark))
        last = mark or last


def never_there(target: Target, steps: Sequence[Step], subjects: Sequence[Subject]) -> str:
    """Say that no release has, or may have, a target, and what is like it; '' where one has."""
    read = [one for one, step in zip(subjects, steps, strict=True) if step.state == "absent"]
    if not read or any(step.state not in ("absent", "unreadable") for step in steps):
        return ""
    if any(step.moved_to for step in steps):
        return ""
    span = read[0].name if len(read) == 1 else f"{read[0].name} to {read[-1].version}"
    return f"found no {target} in {span}{meant(target, read[-1]) or meant(target, read[0])}"
