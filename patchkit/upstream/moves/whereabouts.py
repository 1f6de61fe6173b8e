"""
Where a target went that a release no longer has.

What is not evidence: the name of a method by itself (half of all classes have a `forward`), a body
that says next to nothing, and what was there beside the target already, for that has not moved.
A method is looked for where its class went, and elsewhere only by its source. The limits below
were chosen on three pairs of vLLM's releases; docs/resolution.md has the figures.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.rows.target import Item, Target
from patchkit.upstream.moves.around import Around, nearness
from patchkit.upstream.moves.catalog import Catalog, rarest
from patchkit.upstream.moves.likeness import Likeness
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.upstream.moves.catalog import Page
    from patchkit.upstream.moves.definitions import Definition
    from patchkit.upstream.resolving.resolve import Resolution, Resolver

SAME_NAME = 0.3
"""Likeness from which a class or function of the same name is the same."""
RENAMED_NEAR = 0.6
"""Likeness from which one of another name is the same, in the same module or class."""
SHORT = 0.9
"""Likeness from which a short one is."""
RENAMED = 0.8
"""Likeness from which it is anywhere else; and a method's body outside of its class."""
TRIVIAL = 20
"""Words below which a source is evidence of nothing: `return self.x` has 12."""
TELLING = 35
"""Words from which a source is evidence without its name."""

_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_RARE = 6


class Whereabouts(NamedTuple):
    """
    What became of a target.

    Args:
        place: where it is now; None where it is gone.
        likeness: of its source there to what it was, from 0 to 1; None where names decide.
        words: what happened, for people; '' where nothing is known.

    """

    place: Target | None
    likeness: float | None
    words: str


GONE = Whereabouts(None, None, "")


class _Lost(NamedTuple):
    """
    A definition that is looked for.

    Args:
        target: where it was defined.
        is_class: whether it is a class.
        text: its source.
        likeness: compares others with it.

    """

    target: Target
    is_class: bool
    text: bytes
    likeness: Likeness

    @property
    def name(self) -> str:
        return self.target.qualname.rpartition(".")[2]

    @property
    def around(self) -> str:
        """What its siblings' qualnames begin with."""
        return self.target.qualname[: -len(self.name)]

    @property
    def is_trivial(self) -> bool:
        return self.likeness.size < TRIVIAL

    @property
    def is_telling(self) -> bool:
        return self.likeness.size >= TELLING


class _Candidate(NamedTuple):
    place: Target
    likeness: float
    is_method: bool


class Search:
    """
    A search through one release for what another has.

    Args:
        new: the release that lacks targets.
        old: one that has them; None where there is none, and names decide.
        reach: bytes of changed files to fetch for one target; None for all of them.

    """

    def __init__(self, new: Resolver, old: Resolver | None, reach: int | None = None) -> None:
        self._new = new
        self._old = old
        self._here = Catalog(new.modules.files)
        self._there = Catalog(old.modules.files) if old else None
        self._around = Around(self._here, self._there, reach)
        self._known: dict[Target, Whereabouts] = {}

    def find(self, target: Target) -> Whereabouts:
        """
        Find what became of a target.

        Raises:
            UpstreamError: a release cannot be read.

        """
        if target not in self._known:
            self._known[target] = GONE  # what is asked for again meanwhile, goes round in a circle
            self._known[target] = self._find(target)
        return self._known[target]

    def _find(self, target: Target) -> Whereabouts:
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

    # --- what has another name too

    def _through(self, old: Resolution, defined: Target) -> Whereabouts:
        """Follow a name to what it only stood for."""
        found = self._new.resolve(defined)
        if found.state == "present":
            return _at(defined, old, found, f"it was {defined}, which is still there")
        further = self.find(defined)
        if further.place is None:
            return further
        return further._replace(words=f"it was {defined}, {further.words}")

    # --- members of classes

    def _member(self, target: Target, old: Resolution) -> Whereabouts:
        """Find where the class went, and look for the member in it."""
        owner, step = _split(target)
        if self._new.resolve(owner).state == "present":
            return self._left(owner, old)
        went = self.find(owner).place
        if went is None:
            return self._elsewhere(old, f"{owner} is gone too")
        place = Target(went.module, went.qualname + step)
        found = self._new.resolve(place)
        if found.state == "present":
            return _at(place, old, found, f"moved with {owner} to {place}")
        if found.state == "undecidable":
            words = f"{owner} is now {went}, and it cannot be told whether that has it"
            return Whereabouts(None, None, words)
        return self._left(went, old)

    def _left(self, owner: Target, old: Resolution) -> Whereabouts:
        """Find what became of a member that its class no longer has."""
        lost = self._lost(old)
        renamed = self._renamed_in(owner, lost) if lost else None
        if renamed:
            return _told(renamed, "renamed to")
        origin = old.defined
        if origin and origin.qualname and _split(origin)[0] != _split(old.target)[0]:
            found = self._new.resolve(origin)
            if found.state == "present":
                words = f"it came from {origin}, which {owner} no longer derives from"
                return _at(origin, old, found, words)
        return self._elsewhere(old, f"{owner} no longer has it")

    def _renamed_in(self, owner: Target, lost: _Lost) -> _Candidate | None:
        where = self._new.resolve(owner).defined or owner
        page = self._page(where)
        if page is None or lost.is_trivial:
            return None
        enough = RENAMED_NEAR if lost.is_telling else SHORT
        inside = [
            one
            for one in page.definitions
            if one.kind == "def" and one.qualname.rpartition(".")[0] == where.qualname
        ]
        judged = self._judged(page, inside, lost)
        return self._best((one for one in judged if one.likeness >= enough), lost.target)

    def _elsewhere(self, old: Resolution, otherwise: str) -> Whereabouts:
        """Look for a method's body outside of its class, by its source alone."""
        lost = self._lost(old)
        if lost is None or not lost.is_telling:
            return Whereabouts(None, None, otherwise)
        pages: list[Page] = []
        for paths in self._around.stages(lost.target.module, len(lost.text)):
            pages = self._here.pages(paths)
        alike = (one for one in self._alike(pages, lost) if one.likeness >= RENAMED)
        best = self._best(alike, lost.target)
        if best is None:
            return Whereabouts(None, None, otherwise)
        return _told(best, f"{otherwise}; its body went to")

    # --- definitions in modules

    def _definition(self, target: Target, old: Resolution) -> Whereabouts:
        lost = self._lost(old)
        if lost is None:
            return self._constant(target, old)
        pages: list[Page] = []
        for paths in self._around.stages(target.module, len(lost.text)):
            pages = self._here.pages(paths)
            best = self._best(self._same_name(pages, lost), target)
            if best:
                return _told(best, "moved to")
        best = self._best(self._renamed(pages, lost), target)
        return _told(best, _renaming(best.place, target)) if best else GONE

    def _same_name(self, pages: Iterable[Page], lost: _Lost) -> Iterator[_Candidate]:
        for page in pages:
            named = [one for one in page.definitions if one.name == lost.name]
            for one in self._judged(page, named, lost):
                if self._is_same(one, lost) or self._is_heir(one, page, lost):
                    yield one

    @staticmethod
    def _is_same(one: _Candidate, lost: _Lost) -> bool:
        if one.is_method:
            return lost.is_telling and one.likeness >= RENAMED
        return not lost.is_trivial and one.likeness >= SAME_NAME

    def _is_heir(self, one: _Candidate, page: Page, lost: _Lost) -> bool:
        return not one.is_method and self._succeeds(page, lost.target.module)

    def _renamed(self, pages: Sequence[Page], lost: _Lost) -> Iterator[_Candidate]:
        if not lost.is_telling:
            return
        for one in self._alike(pages, lost):
            near = one.place.module == lost.target.module and not one.is_method
            if one.likeness >= (RENAMED_NEAR if near else RENAMED):
                yield one

    def _constant(self, target: Target, old: Resolution) -> Whereabouts:
        """Find a module's variable: by its name, in a file that took more of the module's."""
        for paths in self._around.stages(target.module, len(old.source)):
            for page in self._here.pages(paths):
                if target.qualname in page.tops:
                    found = self._same_constant(page, target, old)
                    if found:
                        return found
        return GONE

    def _same_constant(self, page: Page, target: Target, old: Resolution) -> Whereabouts | None:
        place = Target(page.module, target.qualname)
        found = self._new.resolve(place)
        before = self._before(page)
        was_there = not self._around.has_changed(page.path) or (
            before is not None and target.qualname in before.tops
        )
        if found.state != "present" or was_there:
            return None
        answer = _at(place, old, found, f"moved to {place}")
        is_telling = Likeness(old.nodes[:1]).size >= TELLING
        if is_telling and (answer.likeness or 0) >= RENAMED:
            return answer
        return answer if self._succeeds(page, target.module) else None

    # --- modules

    def _module(self, target: Target) -> Whereabouts:
        """Find a module by what it defined, in files that the other release lacks."""
        page = self._old_page(target.module)
        if page is None:
            return GONE
        judged = (self._judged_module(page, one) for one in self._here.pages(self._around.fresh()))
        best = self._best([one for one in judged if one], target)
        return _told(best, "moved to") if best else GONE

    def _judged_module(self, old: Page, new: Page) -> _Candidate | None:
        is_named = _last(new.module) == _last(old.module)
        shared = old.tops & new.tops or not old.tops
        if not (is_named and shared) and not self._succeeds(new, old.module):
            return None
        alike = old.whole.to(new.whole)
        enough = alike >= (SAME_NAME if is_named else RENAMED_NEAR)
        return _Candidate(Target(new.module), alike, is_method=False) if enough else None

    def _by_name(self, target: Target) -> Whereabouts:
        """Say where something of that name is; nothing is known of what it was."""
        found: set[Target] = set()
        for paths in self._around.stages(target.module, 0):
            for page in self._here.pages(paths):
                is_named = _last(page.module) == _last(target.module)
                if target.qualname in page.names | page.tops if target.qualname else is_named:
                    found.add(Target(page.module, target.qualname))
            if found:
                break
        there = [one for one in found if self._is_there(one)]
        if len(there) != 1:
            return GONE  # several are no answer
        words = f"something of that name is at {there[0]}, by name only"
        return Whereabouts(there[0], None, words)

    # --- evidence

    def _judged(
        self, page: Page, definitions: Iterable[Definition], lost: _Lost
    ) -> Iterator[_Candidate]:
        """Compare definitions that are there, and were not there beside what is looked for."""
        kind, before = "class" if lost.is_class else "def", self._names_before(lost)
        for one in definitions:
            sibling = f"{lost.around}{one.name}"
            if one.kind != kind or (sibling != lost.target.qualname and sibling in before):
                continue
            if self._was_there(page, one.qualname, lost.target):
                continue
            theirs = page.likeness(one)
            if theirs is not None:
                is_method = "." in one.qualname and not lost.is_class
                place = Target(page.module, one.qualname)
                yield _Candidate(place, lost.likeness.to(theirs), is_method)

    def _alike(self, pages: Sequence[Page], lost: _Lost) -> Iterator[_Candidate]:
        """Compare definitions that share the rarest words of what is looked for."""
        rare = rarest(lost.text, pages, _RARE)
        if not rare:
            return
        kind = "class" if lost.is_class else "def"
        for page in pages:
            if not _shares(page.text, rare):
                continue
            several = (one for one in page.definitions if one.kind == kind)
            alike = [one for one in several if _shares(page.quoted(one), rare)]
            yield from self._judged(page, alike, lost)

    def _was_there(self, page: Page, qualname: str, target: Target) -> bool:
        """Whether the other release has it too: at the same place, or where it came from itself."""
        if self._there is None:
            return False
        if not self._around.has_changed(page.path):
            return True
        before = self._before(page)
        if before is not None:
            return qualname in before.names
        left = self._there.named(_last(page.module)) - self._here.paths
        others = (one for one in self._there.pages(left) if one.module != target.module)
        return any(qualname in one.names for one in others)

    def _before(self, page: Page) -> Page | None:
        """Return what the other release has in a file."""
        return self._there.page(page.path) if self._there else None

    def _names_before(self, lost: _Lost) -> frozenset[str]:
        """List what the target's module defined beside it."""
        old = self._old_page(lost.target.module)
        return old.names if old else frozenset()

    def _best(self, found: Iterable[_Candidate], near: Target) -> _Candidate | None:
        """Choose the likest that is really there; of equals the nearest."""
        several = sorted(
            found,
            key=lambda one: (one.likeness, nearness(one.place.module, near.module), str(one.place)),
            reverse=True,
        )
        return next((one for one in several if self._is_there(one.place)), None)

    def _is_there(self, place: Target) -> bool:
        return self._new.resolve(place).state == "present"

    def _succeeds(self, page: Page, module: str) -> bool:
        """Whether a file took two, and half, of what a module defined."""
        old = self._old_page(module)
        if old is None or not self._around.has_changed(page.path):
            return False
        before = self._before(page)
        taken = (page.tops - (before.tops if before else frozenset())) & old.tops
        return len(taken) >= 2 and len(taken) * 2 >= len(old.tops)

    def _lost(self, old: Resolution) -> _Lost | None:
        node = old.nodes[0] if old.nodes else None
        if not isinstance(node, _DEFINED) or old.defined is None:
            return None
        is_class = isinstance(node, ast.ClassDef)
        return _Lost(old.defined, is_class, old.source.encode(), Likeness([node]))

    def _page(self, place: Target) -> Page | None:
        tree = self._new.modules.get(place.module)
        return self._here.page(tree.path) if tree and tree.path else None

    def _old_page(self, module: str) -> Page | None:
        if self._old is None or self._there is None:
            return None
        tree = self._old.modules.get(module)
        return self._there.page(tree.path) if tree and tree.path else None


def _split(target: Target) -> tuple[Target, str]:
    """Return what holds a target, and what has to be written after that."""
    last = target.steps[-1]
    step = str(last) if isinstance(last, Item) else f".{last}"
    qualname = target.qualname[: -len(step)] if len(target.steps) > 1 else ""
    return Target(target.module, qualname), step


def _last(module: str) -> str:
    return module.rpartition(".")[2]


def _shares(text: bytes, rare: Sequence[bytes]) -> bool:
    return sum(word in text for word in rare) * 2 >= len(rare)


def _at(place: Target, old: Resolution, found: Resolution, words: str) -> Whereabouts:
    """Say that it is at a place that is sure for other reasons than its source."""
    if not (old.nodes and found.nodes):
        return Whereabouts(place, None, words)
    alike = Likeness(old.nodes[:1]).to(Likeness(found.nodes[:1]))
    return Whereabouts(place, alike, f"{words}, {alike:.0%} alike")


def _told(found: _Candidate, how: str) -> Whereabouts:
    words = f"{how} {found.place}, {found.likeness:.0%} alike"
    return Whereabouts(found.place, found.likeness, words)


def _renaming(place: Target, target: Target) -> str:
    return "renamed to" if place.module == target.module else "moved and renamed to"
