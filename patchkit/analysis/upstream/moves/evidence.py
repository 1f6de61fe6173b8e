"""Finds evidence that a definition was moved or renamed between two releases.

Three things are no evidence: the name of a method alone, as half of all classes have a `forward`;
a body of a few tokens; and a definition that stood beside the target in the old release, as that
has not moved. The limits below were chosen on three pairs of vLLM's releases; docs/resolution.md
has the figures.
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
"""Likeness from which a definition anywhere is the same: one of another name, or any method."""

_RARE = 6
"""How many of the rarest words of a definition are looked for in other files."""


class LostDefinition(NamedTuple):
    """A class or function of the old release that is looked for in the new one.

    Args:
        target: Where the old release defines it.
        kind: `class` or `def`.
        text: Its source.
        likeness: Its source as it is compared with others.
    """

    target: Target
    kind: str
    text: bytes
    likeness: Likeness

    @classmethod
    def of(cls, old: Resolution) -> "LostDefinition | None":
        """Make it from the resolution of a target in the old release.

        Args:
            old: The target's resolution there.

        Returns:
            The definition; None if the target is neither a class nor a function.
        """
        if not old.nodes or old.defined is None:
            return None
        node = old.nodes[0]
        if not isinstance(node, SCOPES):
            return None
        kind = "def"
        if isinstance(node, ast.ClassDef):
            kind = "class"
        return cls(old.defined, kind, old.source.encode(), Likeness([node]))

    @property
    def name(self) -> str:
        """The last part of its qualname."""
        return self.target.qualname.rpartition(".")[2]


class Candidate(NamedTuple):
    """A definition of the new release that may be the one that is looked for.

    Args:
        target: The definition.
        likeness: How alike the sources are, from 0 to 1.
        is_method: Whether it is a function that is defined in a class.
    """

    target: Target
    likeness: float
    is_method: bool = False


class Evidence:
    """Searches the files of a new release for definitions that an old release had.

    A definition cannot have moved to a file that is the same in both releases. A file that both
    have is larger in the new one, as a rule, if a definition has moved there.

    Args:
        new: The new release.
        old: The old release; None if nothing is known of it.
        reach: How many bytes of changed files to fetch for one target; None for no limit.
    """

    def __init__(self, new: Resolver, old: Resolver | None, reach: int | None) -> None:
        self._new = new
        self._has_old = old is not None
        self._reach = reach
        self.new_catalog = Catalog(new.modules)
        if old is None:
            # An empty release, which has no file in common with the new one.
            no_release = Tree("no release", version=None, root=Path())
            self.old_catalog = Catalog(Modules(Files(no_release)))
        else:
            self.old_catalog = Catalog(old.modules)
        self.added_paths = self.new_catalog.paths - self.old_catalog.paths

    def stages(self, module: str, size: int) -> Iterator[list[SourceFile]]:
        """Read the files to which a definition may have moved, the likeliest first.

        Args:
            module: The module of the old release that had the definition.
            size: The size of the definition, in bytes.

        Yields:
            The files to search; each stage has those of the stage before, and more.
        """
        # First, files that are named as the module is, and those below it: it may be a package now.
        below = f"{module.replace('.', '/')}/"
        named = self.new_catalog.named(module.rpartition(".")[2])
        inside = {path for path in self.new_catalog.paths if path.startswith(below)}
        near = {path for path in named | inside if self._has_changed(path)}
        yield self.new_catalog.files(near)
        if self._has_old:
            # Then files that only the new release has, and last those that grew.
            near_or_added = near | self.added_paths
            yield self.new_catalog.files(near_or_added)
            grown = self._grown_within_reach(module, size)
            yield self.new_catalog.files(near_or_added.union(grown))
        elif self._reach is None:
            # Without an old release, any file may be new: all are read, unless `reach` limits that.
            yield self.new_catalog.files(self.new_catalog.paths)

    def _grown_within_reach(self, module: str, size: int) -> Iterator[str]:
        """Yield paths of files that grew between the releases, until `reach` bytes are used up.

        Args:
            module: The module to whose name the files' names are compared, the most similar first.
            size: The size of the definition that they may have gained, in bytes.
        """
        budget = self._reach
        shared_paths = self.new_catalog.paths - self.added_paths
        for path in sorted(
            shared_paths, key=lambda path: (-nearness(module_name(path), module), path)
        ):
            if not self._has_grown(path, size):
                continue
            mark = self.new_catalog.source.mark(path)  # None for a local file
            if budget is not None and mark is not None:
                budget -= mark.size
                if budget < 0:
                    return
            yield path

    def _has_grown(self, path: str, size: int) -> bool:
        """Whether a file of both releases has gained half of `size` bytes, or may have.

        Half, as something else may have been removed from the file meanwhile.
        """
        # A mark has the size and hash of a file; None if they are not known without reading it.
        new_mark = self.new_catalog.source.mark(path)
        old_mark = self.old_catalog.source.mark(path)
        if not new_mark or not old_mark:
            return True
        return new_mark != old_mark and new_mark.size >= old_mark.size + size // 2

    def _has_changed(self, path: str) -> bool:
        """Whether a file of the new release is new, or may have other content than before."""
        # A mark has the size and hash of a file; None if they are not known without reading it.
        new_mark = self.new_catalog.source.mark(path)
        return new_mark is None or new_mark != self.old_catalog.source.mark(path)

    def same_name(
        self, files: Iterable[SourceFile], lost: LostDefinition
    ) -> Iterator[Candidate]:
        """Yield definitions of the same name that are alike, or in a successor of the module.

        Args:
            files: The files to search.
            lost: The definition that is looked for.
        """
        for file in files:
            named = [item for item in file.definitions if item.name == lost.name]
            is_successor = bool(named) and self.succeeds(file, lost.target.module)
            for candidate in self.compared(file, named, lost):
                # In a successor of the module the name is enough, unless it is that of a method.
                is_same_by_name = is_successor and not candidate.is_method
                if is_same_by_name or _is_same(candidate, lost):
                    yield candidate

    def renamed(
        self, files: Sequence[SourceFile], lost: LostDefinition
    ) -> Iterator[Candidate]:
        """Yield definitions of any name that are very alike; in the same module less is enough.

        Args:
            files: The files to search.
            lost: The definition that is looked for.
        """
        if not lost.likeness.is_telling:
            return
        for candidate in self.alike(files, lost):
            # Methods are much alike in many classes, so that near is not enough for them.
            is_near = (
                candidate.target.module == lost.target.module
                and not candidate.is_method
            )
            limit = RENAMED
            if is_near:
                limit = RENAMED_NEAR
            if candidate.likeness >= limit:
                yield candidate

    def alike(
        self, files: Sequence[SourceFile], lost: LostDefinition
    ) -> Iterator[Candidate]:
        """Yield definitions of any name that share rare words with the one that is looked for.

        Args:
            files: The files to search.
            lost: The definition that is looked for.
        """
        rare = rarest(lost.text, files, _RARE)
        if not rare:
            return
        for file in files:
            if not _shares(file.text, rare):
                continue
            definitions = [item for item in file.definitions if item.kind == lost.kind]
            sharing = [
                item for item in definitions if _shares(block(file.text, item), rare)
            ]
            yield from self.compared(file, sharing, lost)

    def compared(
        self, file: SourceFile, definitions: Iterable[Definition], lost: LostDefinition
    ) -> Iterator[Candidate]:
        """Compare definitions with the one that is looked for.

        Args:
            file: The file of the definitions.
            definitions: The definitions; those that the old release had are left out, and those of
                another kind.
            lost: The definition that is looked for.

        Yields:
            A candidate for each of the others, however little alike it is.
        """
        siblings = self._siblings(lost)
        owner = lost.target.qualname.removesuffix(lost.name)  # `Class.`, or ''
        for definition in definitions:
            # The old release had both names side by side, so neither was renamed to the other.
            is_sibling = f"{owner}{definition.name}" in siblings
            if is_sibling or definition.kind != lost.kind:
                continue
            # What the old release had as well is not what the lost definition became.
            if self._is_in_old(file, definition.qualname, lost.target):
                continue
            likeness = file.likeness(definition)
            if likeness is not None:
                target = Target(file.module, definition.qualname)
                is_method = "." in definition.qualname and lost.kind == "def"
                yield Candidate(target, lost.likeness.to(likeness), is_method)

    def _siblings(self, lost: LostDefinition) -> frozenset[str]:
        """Return the qualnames of the other classes and functions of the old module."""
        old_file = self.old_catalog.module(lost.target.module)
        if old_file is None:
            return frozenset()
        return old_file.names - {lost.target.qualname}

    def best(self, candidates: Iterable[Candidate], near: Target) -> Candidate | None:
        """Choose the most alike candidate that the release really has.

        The scan of a file may have taken a line in a string for a definition, for example.

        Args:
            candidates: The candidates.
            near: Of candidates that are equally alike, the one whose module has the most similar
                name to that of this target is chosen.

        Returns:
            The candidate; None if the release has none of them.
        """

        def rank(candidate: Candidate) -> tuple[float, float, str]:
            target = candidate.target  # its text decides between equals
            return candidate.likeness, nearness(target.module, near.module), str(target)

        for candidate in sorted(candidates, key=rank, reverse=True):
            if self.is_present(candidate.target):
                return candidate
        return None

    def is_present(self, target: Target) -> bool:
        """Whether the new release has a target.

        Args:
            target: The target.
        """
        return self._new.resolve(target).state == "present"

    def succeeds(self, file: SourceFile, module: str) -> bool:
        """Whether a file took at least two, and half, of the names that a module defined.

        Then it is a successor of the module, in which a name alone tells what a definition became.

        Args:
            file: The file of the new release.
            module: The module of the old release.
        """
        old_file = self.old_catalog.module(module)
        if old_file is None:
            return False
        taken = self.gained(file) & old_file.tops
        return len(taken) >= 2 and len(taken) * 2 >= len(old_file.tops)

    def succession(self, old: SourceFile, new: SourceFile) -> Candidate | None:
        """Compare a module as a whole with a file that it may have become.

        Args:
            old: The file of the module in the old release.
            new: The file of the new release.

        Returns:
            The new module as a candidate; None if it is not the old one.
        """
        has_same_name = new.short_name == old.short_name
        # A module that defines nothing can have no name in common with another.
        has_common = bool(old.tops & new.tops) or not old.tops
        is_namesake = has_same_name and has_common
        if not is_namesake and not self.succeeds(new, old.module):
            return None
        likeness = old.file_likeness.to(new.file_likeness)
        limit = SAME_NAME if has_same_name else RENAMED_NEAR
        if likeness < limit:
            return None
        return Candidate(Target(new.module), likeness)

    def gained(self, file: SourceFile) -> frozenset[str]:
        """Return the names that a file defines outside of classes, and did not define before.

        Args:
            file: The file of the new release.
        """
        if not self._has_changed(file.path):
            return frozenset()
        old_file = self.old_catalog.file(file.path)
        if old_file is None:
            return file.tops
        return file.tops - old_file.tops

    def _is_in_old(self, file: SourceFile, qualname: str, target: Target) -> bool:
        """Whether the old release had a definition in the same file, or where that file came from.

        Args:
            file: The file of the new release.
            qualname: The definition in it.
            target: The definition that is looked for.
        """
        if not self._has_changed(file.path):
            return True
        old_file = self.old_catalog.file(file.path)
        if old_file is not None:
            return qualname in old_file.names
        # A new file may be one that was moved: an old one of the same name is gone.
        removed = self.old_catalog.named(file.short_name) - self.new_catalog.paths
        for origin in self.old_catalog.files(removed):
            # The target's own module does not count: it had the definition that is looked for.
            if origin.module != target.module and qualname in origin.names:
                return True
        return False


def _is_same(candidate: Candidate, lost: LostDefinition) -> bool:
    """Whether a definition of the same name is alike enough to be the one that is looked for."""
    # The name of a method says nothing: its body must be long, and nearly the same.
    if candidate.is_method:
        return lost.likeness.is_telling and candidate.likeness >= RENAMED
    return not lost.likeness.is_trivial and candidate.likeness >= SAME_NAME


def _shares(text: bytes, rare: Sequence[bytes]) -> bool:
    """Whether a text has at least half of the rare words."""
    shared = [word for word in rare if word in text]
    return len(shared) * 2 >= len(rare)
