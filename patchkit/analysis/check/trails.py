"""Where targets are in releases that lack them: followed from release to release, and told."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import count
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.learning import in_parallel, learn_all
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.moves.catalog import Catalog
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Add, Provide
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

_MOVES = 4  # how many are followed one after another
_NAMED = 8  # in how many releases what none has is looked for by name: it may have come and gone


class _Edge(NamedTuple):
    """A release that lacks a target, next to one that knows where it is."""

    target: Target  # as it was asked for
    origin: tuple[
        Target, CheckedRelease | None
    ]  # where it is in the release that knows, if one does
    at: int  # the place of the release that lacks it
    way: int  # to where it goes on from there, 1 or -1


class Trails:
    """Targets, all learnt, in the releases of one distribution that can be read, the oldest first.

    A search goes on only where a release that lacks a target meets one that has it: to later ones
    (way 1) or to earlier ones (-1). Beyond, the place that was found is looked up. Where that is
    asked, what no release has is looked for by its name.
    """

    def __init__(
        self,
        subjects: Sequence[CheckedRelease],
        targets: Iterable[Target],
        ways: Sequence[int],
        *,
        by_name: bool = False,
    ) -> None:
        self._subjects = subjects
        self._ways = ways
        self._by_name = by_name
        self._known: dict[Target, dict[int, Target]] = {
            target: {at: target for at, one in enumerate(subjects) if one.has(target)}
            for target in targets
        }
        self._told: dict[tuple[Target, int], MoveResult] = {}

    def follow(self) -> None:
        """Search, and go on from what was found."""
        if self._by_name:
            found = [one for one in self._searched(self._unknown()) if one[1].place]
            ahead = [(edge._replace(at=edge.at + 1, way=1), answer) for edge, answer in found]
            self._confirm([one for pair in zip(found, ahead, strict=True) for one in pair])
        for _ in range(_MOVES):
            edges = list(self._edges())
            if not edges:
                break
            self._confirm(list(self._searched(edges)))

    def told(self, target: Target, subject: CheckedRelease) -> MoveResult | None:
        """Return what became of a target in a release; None where that was not asked."""
        return self._told.get((target, self._subjects.index(subject)))

    def _edges(self) -> Iterator[_Edge]:
        for target, known in self._known.items():
            for at in sorted(known):
                for way in self._ways:
                    if self._is_open(target, at + way):
                        yield _Edge(target, (known[at], self._subjects[at]), at + way, way)

    def _unknown(self) -> Iterator[_Edge]:
        """What no release has: to look for in the newest, and what is in a module before it too."""
        last = len(self._subjects) - 1
        unknown = [target for target, known in self._known.items() if not known]
        for at in range(last, -1, -max(1, -(-len(self._subjects) // _NAMED))):
            for target in unknown:
                if (target.qualname or at == last) and self._is_open(target, at):
                    yield _Edge(target, (target, None), at, -1)

    def _is_open(self, target: Target, at: int) -> bool:
        if not 0 <= at < len(self._subjects) or (target, at) in self._told:
            return False
        return self._subjects[at].state(target) == "absent"

    def _searched(self, edges: Iterable[_Edge]) -> Iterator[tuple[_Edge, MoveResult]]:
        jobs = grouped((self._subjects[edge.at], edge) for edge in edges)
        results = in_parallel(
            list(jobs), lambda subject: subject.moves([edge.origin for edge in jobs[subject]])
        )
        for subject, some in jobs.items():
            found = results[subject.name]
            if isinstance(found, list):
                yield from zip(some, found, strict=True)

    def _confirm(self, found: Sequence[tuple[_Edge, MoveResult]]) -> None:
        spans = [(edge, answer, list(self._beyond(edge))) for edge, answer in found]
        wanted: dict[CheckedRelease, set[Target]] = {}
        for _, answer, span in spans:
            for at in span:
                if answer.place:
                    wanted.setdefault(self._subjects[at], set()).add(answer.place)
        faults = learn_all([one for one in self._subjects if one in wanted], wanted.__getitem__)
        for edge, answer, span in spans:
            for at in span:
                told, subject = self._told.get((edge.target, at)), self._subjects[at]
                if told and (told.place or not answer.place):
                    break
                if answer.place and (subject.name in faults or not subject.has(answer.place)):
                    break
                self._told[edge.target, at] = answer
                if answer.place:
                    self._known[edge.target][at] = answer.place

    def _beyond(self, edge: _Edge) -> Iterator[int]:
        """The releases from an edge on that lack the target, as far as no place is told."""
        for at in count(edge.at, edge.way):
            told = self._told.get((edge.target, at))
            if not self._is_open(edge.target, at) and (told is None or told.place):
                return
            yield at


class Moves:
    """The targets that releases lack of those that they should have, all looked for together."""

    def __init__(
        self,
        several: Iterable[CheckedRelease],
        wanted: Callable[[CheckedRelease], Iterable[Target]],
    ) -> None:
        self._projects = grouped((one.project, one) for one in several)
        self._trails = {
            project: _followed(subjects, wanted) for project, subjects in self._projects.items()
        }

    def told(self, target: Target, subject: CheckedRelease) -> MoveResult | None:
        """Return where a target went that a release lacks; None where nothing is known."""
        return self._trails[subject.project].told(target, subject)

    def words(self, target: Target, subject: CheckedRelease) -> str:
        """Say where a target went that a release lacks, or since when it is there; or ''."""
        same = self._projects[subject.project]
        since = next((one for one in same if one.has(target)), None)
        if since and same.index(since) > same.index(subject):
            return f"; it is there from {since.name} on"
        told = self.told(target, subject)
        if told and told.words:
            return f"; {told.words}"
        return "" if since else meant(target, subject)


def places_of(coverage: Coverage, subject: CheckedRelease) -> Iterator[Target]:
    """List what rows change in a release, and so expect there."""
    for row in coverage.rows:
        for change in coverage.due(row, subject):
            if not isinstance(change, (Add, Provide)):
                yield change.place


def _followed(
    subjects: Sequence[CheckedRelease], wanted: Callable[[CheckedRelease], Iterable[Target]]
) -> Trails:
    missed = {one for each in subjects for one in wanted(each) if each.state(one) == "absent"}
    learn_all(subjects, lambda _: missed)
    trails = Trails(subjects, sorted(missed, key=str), ways=(1,), by_name=True)
    trails.follow()
    return trails


def meant(target: Target, subject: CheckedRelease) -> str:
    """Ask whether a target of a release was meant that is like one that it lacks; or ''."""
    kept, key = subject.kept, f"{subject.key} {target}"
    near: list[str] | None = kept.get("near", key) if kept else None
    if near is None:
        try:
            near = [str(one) for one in _near(target, subject)]
        except UpstreamError:
            return ""
        if kept:
            kept.put("near", key, near)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _near(target: Target, subject: CheckedRelease) -> list[Target]:
    modules = subject.resolver.modules
    if modules.get(target.module) is None:
        return _elsewhere(target, subject)
    page = Catalog(modules).module(target.module) if target.qualname else None
    names = sorted(page.names | page.tops) if page else []
    return [Target(target.module, one) for one in get_close_matches(target.qualname, names, n=2)]


def _elsewhere(target: Target, subject: CheckedRelease) -> list[Target]:
    """Read `up.mod.f`, which is no module, as `up.mod:f`; else look for modules named alike."""
    for place in splits(target.module) if not target.qualname else ():
        if subject.has(place):
            return [place]
    names = [module_name(path) for path in subject.source.paths() if path.endswith(".py")]
    several = get_close_matches(target.module, names, cutoff=0.8)
    places = (Target(name, target.qualname) for name in several)
    return [one for one in places if subject.resolver.resolve(one).state == "present"]


def splits(dotted: str) -> Iterator[Target]:
    """Yield what `up.mod.f` may be the dotted name of, the longest module first."""
    parts = dotted.split(".")
    for at in range(len(parts) - 1, 0, -1):
        yield Target(".".join(parts[:at]), ".".join(parts[at:]))
