"""Where a target went that a release lacks; a method with its class, elsewhere by its source."""

from typing import NamedTuple

from patchkit.analysis.upstream.moves.catalog import Likeness, SourceFile
from patchkit.analysis.upstream.moves.evidence import (
    RENAMED,
    RENAMED_NEAR,
    Candidate,
    Evidence,
    Lost,
)
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target


class MoveResult(NamedTuple):
    """What became of a target."""

    place: Target | None  # None where it is gone
    likeness: float | None  # of its source to what it was, from 0 to 1; None where names decide
    words: str  # what happened, for people; '' where nothing is known


GONE = MoveResult(None, None, "")
_SHORT = 0.9
"""Likeness from which a short method is the same, in the same class."""


class MoveSearch:
    """A search through a new release for what an old one has; without one, names decide."""

    def __init__(self, new: Resolver, old: Resolver | None, reach: int | None = None) -> None:
        # `reach`: bytes of changed files to fetch for one target; None for all of them.
        self._new = new
        self._old = old
        self._evidence = Evidence(new, old, reach)
        self._known: dict[Target, MoveResult] = {}

    def find(self, target: Target) -> MoveResult:
        """Find what became of a target; raises UpstreamError where a release cannot be read."""
        if target not in self._known:
            self._known[target] = GONE  # what is asked for again meanwhile, goes round in a circle
            self._known[target] = self._find(target)
        return self._known[target]

    def _find(self, target: Target) -> MoveResult:
        old = self._old.resolve(target) if self._old else None
        if old is None or old.state != "present":
            return self._by_name(target)
        if not target.qualname:
            return self._module(target)
        if len(target.steps) > 1:
            return self._member(target, old)
        if old.kind is Kind.OUTSIDE:
            return GONE
        if old.defined and old.defined != target:
            return self._through(old, old.defined)
        return self._definition(target, old)

    def _through(self, old: Resolution, defined: Target) -> MoveResult:
        found = self._new.resolve(defined)
        if found.state == "present":
            return _at(defined, old, found, f"it was {defined}, which is still there")
        further = self.find(defined)
        words = f"it was {defined}, {further.words}"
        return further._replace(words=words) if further.place else further

    def _member(self, target: Target, old: Resolution) -> MoveResult:
        owner = target.holder
        if self._new.resolve(owner).state == "present":
            return self._left(owner, old)
        went = self.find(owner).place
        if went is None:
            return self._elsewhere(old, f"{owner} is gone too")
        place = Target(went.module, went.qualname + target.qualname[len(owner.qualname) :])
        found = self._new.resolve(place)
        if found.state == "present":
            return _at(place, old, found, f"moved with {owner} to {place}")
        if found.state == "undecidable":
            words = f"{owner} is now {went}, and it cannot be told whether that has it"
            return MoveResult(None, None, words)
        return self._left(went, old)

    def _left(self, owner: Target, old: Resolution) -> MoveResult:
        lost = Lost.of(old)
        renamed = self._renamed_in(owner, lost) if lost else None
        if renamed:
            return _told(renamed, "renamed to")
        origin = old.defined
        if origin and origin.qualname and origin.holder != old.target.holder:
            found = self._new.resolve(origin)
            if found.state == "present":
                words = f"it came from {origin}, which {owner} no longer derives from"
                return _at(origin, old, found, words)
        return self._elsewhere(old, f"{owner} no longer has it")

    def _renamed_in(self, owner: Target, lost: Lost) -> Candidate | None:
        where = self._new.resolve(owner).defined or owner
        page = self._evidence.here.module(where.module)
        if page is None or lost.likeness.is_trivial:
            return None
        enough = RENAMED_NEAR if lost.likeness.is_telling else _SHORT
        inside = [
            one
            for one in page.definitions
            if one.kind == "def" and one.qualname.rpartition(".")[0] == where.qualname
        ]
        judged = self._evidence.judged(page, inside, lost)
        return self._evidence.best((one for one in judged if one.likeness >= enough), lost.target)

    def _elsewhere(self, old: Resolution, otherwise: str) -> MoveResult:
        lost = Lost.of(old)
        if lost is None or not lost.likeness.is_telling:
            return MoveResult(None, None, otherwise)
        *_, pages = self._evidence.stages(lost.target.module, len(lost.text))
        alike = (one for one in self._evidence.alike(pages, lost) if one.likeness >= RENAMED)
        best = self._evidence.best(alike, lost.target)
        if best is None:
            return MoveResult(None, None, otherwise)
        return _told(best, f"{otherwise}; its body went to")

    def _definition(self, target: Target, old: Resolution) -> MoveResult:
        lost = Lost.of(old)
        if lost is None:
            return GONE
        pages: list[SourceFile] = []
        for pages in self._evidence.stages(target.module, len(lost.text)):
            best = self._evidence.best(self._evidence.same_name(pages, lost), target)
            if best:
                return _told(best, "moved to")
        best = self._evidence.best(self._evidence.renamed(pages, lost), target)
        if best is None:
            return GONE
        is_near = best.place.module == target.module
        return _told(best, "renamed to" if is_near else "moved and renamed to")

    def _module(self, target: Target) -> MoveResult:
        page = self._evidence.there.module(target.module)
        if page is None:
            return GONE
        fresh = self._evidence.here.pages(self._evidence.fresh)
        judged = (self._evidence.succession(page, one) for one in fresh)
        best = self._evidence.best([one for one in judged if one], target)
        return _told(best, "moved to") if best else GONE

    def _by_name(self, target: Target) -> MoveResult:
        places: set[Target] = set()
        last = target.module.rpartition(".")[2]
        for pages in self._evidence.stages(target.module, 0):
            for page in pages:
                is_named = page.last == last
                if target.qualname in page.names | page.tops if target.qualname else is_named:
                    places.add(Target(page.module, target.qualname))
            if places:
                break
        there = [place for place in places if self._evidence.is_there(place)]
        if len(there) != 1:
            return GONE  # several are no answer
        words = f"something of that name is at {there[0]}, by name only"
        return MoveResult(there[0], None, words)


def _at(place: Target, old: Resolution, found: Resolution, words: str) -> MoveResult:
    if not (old.nodes and found.nodes):
        return MoveResult(place, None, words)
    alike = Likeness(old.nodes[:1]).to(Likeness(found.nodes[:1]))
    return MoveResult(place, alike, f"{words}, {alike:.0%} alike")


def _told(found: Candidate, how: str) -> MoveResult:
    words = f"{how} {found.place}, {found.likeness:.0%} alike"
    return MoveResult(found.place, found.likeness, words)
