"""What the files of one release define, listed as they are asked for; shared by all searches."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from patchkit.upstream.moves.definitions import Definition, Likeness, block, node_of, scan
from patchkit.upstream.reading.files import parse
from patchkit.upstream.resolving.module_tree import module_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.upstream.reading.files import Files


_WORD = re.compile(rb"[A-Za-z_]\w{5,}")
_FIELDS = ("body", "orelse", "finalbody", "handlers")


class SourceFile:
    """
    One file.

    Args:
        path: where it lies.
        text: what it says.

    """

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.module = module_name(path)
        self.definitions = scan(text)
        self.text = text

    @cached_property
    def names(self) -> frozenset[str]:
        """The classes and functions that it defines, by qualname; no other names for them."""
        return frozenset(one.qualname for one in self.definitions if one.kind != "name")

    @cached_property
    def tops(self) -> frozenset[str]:
        """What it defines for itself and not for a class, variables too."""
        return frozenset(one.qualname for one in self.definitions if "." not in one.qualname)

    def quoted(self, definition: Definition) -> bytes:
        """Quote one of its definitions."""
        return block(self.text, definition)

    def likeness(self, definition: Definition) -> Likeness | None:
        """Parse one of its definitions; None where there is none after all."""
        node = node_of(self.text, definition) or self._whole.get(definition.qualname)
        return Likeness([node]) if node else None

    @cached_property
    def whole(self) -> Likeness:
        """All of it."""
        return Likeness(self._tree.body)

    @cached_property
    def _tree(self) -> ast.Module:
        return parse(self.text)[0]

    @cached_property
    def _whole(self) -> dict[str, ast.stmt]:
        return dict(_defined(self._tree.body, ""))


def _defined(body: Iterable[ast.AST], around: str) -> Iterator[tuple[str, ast.stmt]]:
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            qualname = f"{around}.{one.name}" if around else one.name
            yield qualname, one
            if isinstance(one, ast.ClassDef):
                yield from _defined(one.body, qualname)
            continue
        for field in _FIELDS:
            yield from _defined(getattr(one, field, ()), around)


class Catalog:
    """
    The files of one release.

    Args:
        files: where they lie.

    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self._pages: dict[str, SourceFile | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every Python file."""
        return frozenset(self.files.python())

    def named(self, last: str) -> frozenset[str]:
        """List the files of the modules whose name ends like this."""
        return self._by_name.get(last, frozenset())

    @cached_property
    def _by_name(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for path in self.paths:
            found.setdefault(module_name(path).rpartition(".")[2], set()).add(path)
        return {name: frozenset(paths) for name, paths in found.items()}

    def pages(self, paths: Iterable[str]) -> list[SourceFile]:
        """Read files, all that are not known yet at once; in the order of their paths."""
        wanted = sorted(paths)
        missing = [path for path in wanted if path not in self._pages]
        if missing:
            self.files.prefetch(missing)
        for path in missing:
            text = self.files.read(path)
            self._pages[path] = None if text is None else SourceFile(path, text)
        return [page for path in wanted if (page := self._pages[path])]

    def page(self, path: str) -> SourceFile | None:
        """Read one file; None where there is none."""
        return next(iter(self.pages([path] if path in self.paths else [])), None)


def rarest(text: bytes, pages: Iterable[SourceFile], count: int) -> list[bytes]:
    """Pick the words of a text that the fewest files hold, of those that any does."""
    longest = sorted(set(_WORD.findall(text)), key=lambda word: (-len(word), word))[:40]
    several = list(pages)
    held = {word: sum(word in page.text for page in several) for word in longest}
    known = [word for word in longest if held[word]]
    return sorted(known, key=lambda word: (held[word], word))[:count]


REACH = 1 << 20
"""Bytes of files, unpacked, that are fetched in search of one target beyond those that are new."""


class Around:
    """
    Where to look in a release, by what lies in which of its files and of another's.

    Nothing moves to a file that is the same in both releases; what moves to one that both have
    makes it larger, as a rule.

    Args:
        new: the release that lacks something.
        old: the one that has it; None where there is none.
        reach: bytes of changed files to fetch for one target; None for all of them.

    """

    def __init__(self, new: Catalog, old: Catalog | None, reach: int | None) -> None:
        self._new = new
        self._old = old
        self._reach = reach
        self._fresh = new.paths - (old.paths if old else frozenset())

    def stages(self, module: str, size: int) -> Iterator[list[str]]:
        """
        List files to look into, a further stage where those before were not enough.

        Args:
            module: that had the target.
            size: of its source, in bytes.

        """
        near = sorted(self._near(module))
        yield near
        if self._old is None:
            if self._reach is None:
                yield sorted(self._new.paths)
            return
        yield sorted({*near, *self._fresh})
        yield sorted({*near, *self._fresh, *self._within_reach(module, size)})

    def fresh(self) -> frozenset[str]:
        """List the files that the other release lacks."""
        return self._fresh

    def has_changed(self, path: str) -> bool:
        """Whether a file is not the same in both releases."""
        if self._old is None:
            return True
        mark = self._new.files.mark(path)
        return mark is None or mark != self._old.files.mark(path)

    def _near(self, module: str) -> Iterator[str]:
        """List files of the module's name, and what a module that became a package holds."""
        last, inside = module.rpartition(".")[2], module.replace(".", "/")
        below = (path for path in self._new.paths if path.startswith(f"{inside}/"))
        for path in {*self._new.named(last), *below}:
            if self.has_changed(path):
                yield path

    def _within_reach(self, module: str, size: int) -> Iterator[str]:
        left = self._reach
        for path in sorted(self._grown(size), key=lambda one: (-_nearness(one, module), one)):
            mark = self._new.files.mark(path)
            if left is not None and mark is not None:
                left -= mark.size
                if left < 0:
                    return
            yield path

    def _grown(self, size: int) -> Iterable[str]:
        assert self._old is not None
        for path in self._new.paths - self._fresh:
            mark, before = self._new.files.mark(path), self._old.files.mark(path)
            if (
                mark is None
                or before is None
                or (mark != before and mark.size >= before.size + size // 2)
            ):
                yield path


def _nearness(path: str, module: str) -> float:
    return nearness(module_name(path), module)


def nearness(one: str, other: str) -> float:
    """Tell from 0 to 1 how many parts two dotted names have in common."""
    ours, theirs = one.split("."), other.split(".")
    return len(set(ours) & set(theirs)) / max(len(ours), len(theirs))
