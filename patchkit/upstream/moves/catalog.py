"""What the files of one release define, listed as they are asked for; shared by all searches."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from patchkit.upstream.moves.definitions import Definition, block, node_of, scan
from patchkit.upstream.moves.likeness import Likeness
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
