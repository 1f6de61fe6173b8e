"""A target's source in two releases."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target
    from patchkit.upstream.facts import Facts


@dataclass(frozen=True)
class Side:
    """
    A target in one release.

    Args:
        release: its name.
        place: where the target is there, which may be somewhere else.
        facts: what is said of that place.
        text: its source, with the code that a call in it wraps.

    """

    release: str
    place: Target
    facts: Facts
    text: str


@dataclass(frozen=True)
class Comparison:
    """
    A target in two releases.

    Args:
        target: as the row names it.
        old: in the first.
        new: in the second.

    """

    target: Target
    old: Side
    new: Side

    @property
    def changed(self) -> bool:
        """Whether its meaning is another: layout and comments do not count."""
        return self.old.facts.fingerprint != self.new.facts.fingerprint

    @property
    def diff(self) -> str:
        """The two sources as a unified diff; '' where they are the same text."""
        lines = difflib.unified_diff(
            self.old.text.splitlines(keepends=True),
            self.new.text.splitlines(keepends=True),
            _head(self.old),
            _head(self.new),
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def compare(target: Target, old: Subject, new: Subject) -> Comparison:
    """
    Compare a target in two releases; where one lacks it, at the place where it went.

    Raises:
        UpstreamError: a release cannot be read.

    """
    first = _side(target, old, new)
    return Comparison(target, first, _side(target, new, old))


def _side(target: Target, subject: Subject, other: Subject) -> Side:
    place, facts = target, subject.facts(target)
    if facts.state == "absent" and other.facts(target).is_present:
        place = _moved(target, subject, other) or target
        facts = subject.facts(place)
    return Side(subject.name, place, facts, subject.whole_text(facts))


def _moved(target: Target, subject: Subject, other: Subject) -> Target | None:
    try:
        return subject.moves([(target, other)])[0].place
    except UpstreamError:
        return None


def _head(side: Side) -> str:
    where = f"{side.facts.path}:{side.facts.lines[0]}" if side.facts.lines else side.facts.state
    return f"{side.release}  {side.place}  {where}"
