"""What speaks for a definition having gone to another place.

What does not: the name of a method by itself (half of all classes have a `forward`), a body that
says next to nothing, and what was there beside the target already, for that has not moved. The
limits below were chosen on three pairs of vLLM's releases; docs/resolution.md has the figures.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.upstream.moves.catalog import (
    Catalog,
    Definition,
    Likeness,
    SourceFile,
    block,
    nearness,
    rarest,
)
from patchkit.analysis.upstream.reading.files import Files
from patchkit.analysis.upstream.reading.tree import Tree
from patchkit.analysis.upstream.resolving.module_tree import Modules, module_name
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.core.rows.target import Target

SAME_NAME = 0.3
"""Likeness from which a class or function of the same name is the same."""
RENAMED_NEAR = 0.6
"""Likeness from which one of another name is the same, in the same module or class."""
RENAMED = 0.8
"""Likeness from which it is anywhere else; and a method's body outside of its class."""

_RARE = 6


class Lost(NamedTuple):
    """A definition that is looked for; its kind is `class` or `def`."""

    target: Target
    kind: str
    text: bytes
    likeness: Likeness

    @classmethod
    def of(cls, old: Resolution) -> "Lost | None":
        """Make one of a class or function; None for anything else."""
        node = old.nodes[0] if old.nodes else None
        if not isinstance(node, SCOPES) or old.defined is None:
            return None
        kind = "class" if isinstance(node, ast.ClassDef) else "def"
        return cls(old.defined, kind, old.source.encode(), Likeness([node]))

    @property
    def name(self) -> str:
        """The last part of its qualname."""
        return self.target.qualname.rpartition(".")[2]


class Candidate(NamedTuple):
    """A definition that may be what is looked for; a method is defined in a class, and is none."""

    place: Target
    likeness: float
    is_method: bool = False


class Evidence:
    """Two releases, and what the files of one say of the definitions of the other.

    Nothing moves to a file that is the same in both; one that both have grows, as a rule.
    """

    def __init__(self, new: Resolver, old: Resolver | None, reach: int | None) -> None:
        self._new = new
        self._has_old = old is not None
        self._reach = reach
        nothing = Files(Tree("no release", None, Path()))
        self.here = Catalog(new.modules)
        self.there = Catalog(old.modules if old else Modules(nothing))
        self.fresh = self.here.paths - self.there.paths

    def stages(self, module: str, size: int) -> Iterator[list[SourceFile]]:
        """Read files to look into for what a module had, of a size in bytes; stage by stage."""
        # Files of the module's name, and what a module that became a package holds.
        below = f"{module.replace('.', '/')}/"
        named = self.here.named(module.rpartition(".")[2])
        inside = (path for path in self.here.paths if path.startswith(below))
        near = {path for path in (*named, *inside) if self._has_changed(path)}
        yield self.here.pages(near)
        if self._has_old:
            yield self.here.pages(near | self.fresh)
            grown = self._within_reach(module, size)
            yield self.here.pages({*near, *self.fresh, *grown})
        elif self._reach is None:
            yield self.here.pages(self.here.paths)

    def _within_reach(self, module: str, size: int) -> Iterator[str]:
        left = self._reach
        both = self.here.paths - self.fresh
        for path in sorted(both, key=lambda one: (-nearness(module_name(one), module), one)):
            mark, before = self.here.source.mark(path), self.there.source.mark(path)
            if mark and before and (mark == before or mark.size < before.size + size // 2):
                continue
            if left is not None and mark is not None:
                left -= mark.size
                if left < 0:
                    return
            yield path

    def _has_changed(self, path: str) -> bool:
        mark = self.here.source.mark(path)
        return mark is None or mark != self.there.source.mark(path)

    def same_name(self, pages: Iterable[SourceFile], lost: Lost) -> Iterator[Candidate]:
        """List definitions of the same name that are the same, or in a file that succeeds its."""
        for page in pages:
            named = [one for one in page.definitions if one.name == lost.name]
            is_heir = bool(named) and self.succeeds(page, lost.target.module)
            for candidate in self.judged(page, named, lost):
                if _is_same(candidate, lost) or (is_heir and not candidate.is_method):
                    yield candidate

    def renamed(self, pages: Sequence[SourceFile], lost: Lost) -> Iterator[Candidate]:
        """List definitions of any name whose source is that of what is looked for."""
        for candidate in self.alike(pages, lost) if lost.likeness.is_telling else ():
            is_near = candidate.place.module == lost.target.module and not candidate.is_method
            if candidate.likeness >= (RENAMED_NEAR if is_near else RENAMED):
                yield candidate

    def alike(self, pages: Sequence[SourceFile], lost: Lost) -> Iterator[Candidate]:
        """Compare definitions that share the rarest words of what is looked for."""
        rare = rarest(lost.text, pages, _RARE)
        for page in pages:
            if rare and _shares(page.text, rare):
                definitions = [one for one in page.definitions if one.kind == lost.kind]
                near = [one for one in definitions if _shares(block(page.text, one), rare)]
                yield from self.judged(page, near, lost)

    def judged(
        self, page: SourceFile, definitions: Iterable[Definition], lost: Lost
    ) -> Iterator[Candidate]:
        """Compare definitions that are there, and were not there beside what is looked for."""
        old = self.there.module(lost.target.module)
        beside = (old.names if old else frozenset()) - {lost.target.qualname}
        around = lost.target.qualname.removesuffix(lost.name)
        for definition in definitions:
            place = Target(page.module, definition.qualname)
            if definition.kind != lost.kind or f"{around}{definition.name}" in beside:
                continue
            if self._was_there(page, definition.qualname, lost.target):
                continue
            if (theirs := page.likeness(definition)) is not None:
                is_method = "." in definition.qualname and lost.kind == "def"
                yield Candidate(place, lost.likeness.to(theirs), is_method)

    def best(self, candidates: Iterable[Candidate], near: Target) -> Candidate | None:
        """Choose the likest that is really there; of equals the nearest."""
        several = sorted(
            candidates,
            key=lambda one: (one.likeness, nearness(one.place.module, near.module), str(one.place)),
            reverse=True,
        )
        return next((one for one in several if self.is_there(one.place)), None)

    def is_there(self, place: Target) -> bool:
        """Whether the release has a target."""
        return self._new.resolve(place).state == "present"

    def succeeds(self, page: SourceFile, module: str) -> bool:
        """Whether a file took two, and half, of what a module defined."""
        old = self.there.module(module)
        taken = self.gained(page) & old.tops if old else frozenset()
        return old is not None and len(taken) >= 2 and len(taken) * 2 >= len(old.tops)

    def succession(self, old: SourceFile, new: SourceFile) -> Candidate | None:
        """Compare a module as a whole with one of which it may be what became."""
        is_named = new.last == old.last
        shared = old.tops & new.tops or not old.tops
        if not (is_named and shared) and not self.succeeds(new, old.module):
            return None
        alike = old.whole.to(new.whole)
        enough = alike >= (SAME_NAME if is_named else RENAMED_NEAR)
        return Candidate(Target(new.module), alike) if enough else None

    def gained(self, page: SourceFile) -> frozenset[str]:
        """Name what a file has come to define by itself."""
        if not self._has_changed(page.path):
            return frozenset()
        before = self.there.page(page.path)
        return page.tops - before.tops if before else page.tops

    def _was_there(self, page: SourceFile, qualname: str, target: Target) -> bool:
        if not self._has_changed(page.path):
            return True
        before = self.there.page(page.path)
        if before is not None:
            return qualname in before.names
        others = self.there.pages(self.there.named(page.last) - self.here.paths)
        return any(qualname in one.names for one in others if one.module != target.module)


def _is_same(candidate: Candidate, lost: Lost) -> bool:
    if candidate.is_method:
        return lost.likeness.is_telling and candidate.likeness >= RENAMED
    return not lost.likeness.is_trivial and candidate.likeness >= SAME_NAME


def _shares(text: bytes, rare: Sequence[bytes]) -> bool:
    return sum(word in text for word in rare) * 2 >= len(rare)
