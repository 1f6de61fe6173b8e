"""What files a release has, what is in them, and what tells them from those of another release."""

from __future__ import annotations

import ast
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.upstream.reading.archive import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.upstream.reading.source import Mark, Source

_THERE = "+"
_KEPT = 3 << 18
"""Bytes of source that stay parsed; a tree takes some thirty times as much."""


class Question(NamedTuple):
    """
    A question about the files of a release that tells whether another answers like it.

    Args:
        kind: `file`, `folder` (of modules), `compiled` (an extension module), or `top`: one
            directly in site-packages.
        path: without suffix where it is none of a file.

    """

    kind: str
    path: str


class Parsed(NamedTuple):
    """
    A file.

    Args:
        text: as it lies there.
        tree: parsed, empty where it cannot be.
        fault: why not, in words; '' where it can.
        notes: what was worked out from it alone, by who worked it out.

    """

    text: bytes
    tree: ast.Module
    fault: str
    notes: dict[str, Any]


class Files:
    """
    The Python files of one release, and of others beside it.

    Those that were asked for last stay parsed.

    Args:
        sources: where they lie; the first that has a file provides it.

    """

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._parsed: dict[str, Parsed | None] = {}
        self._size = 0

    def answer(self, question: Question) -> str:
        """Answer a question; '' where there is no such thing. Equal answers mean equal content."""
        kind, path = question
        if kind == "file":
            found = self._provider(path)
            return str(found.mark(path) or _THERE) if found else ""
        if kind == "folder":
            return _THERE if path in self._folders else ""
        if kind == "compiled":
            return _THERE if path in self._compiled else ""
        return _THERE if path in self._tops or f"{path}.py" in self._tops else ""

    def parsed(self, path: str) -> Parsed | None:
        """Read and parse a file; None where there is none."""
        if path in self._parsed:
            found = self._parsed.pop(path)
        else:
            text = self.read(path)
            found = None if text is None else Parsed(text, *parse(text), {})
            self._size += _size(found)
        self._parsed[path] = found
        while self._size > _KEPT and len(self._parsed) > 1:
            self._size -= _size(self._parsed.pop(next(iter(self._parsed))))
        return found

    def read(self, path: str) -> bytes | None:
        """Read a file; None where there is none."""
        found = self._provider(path)
        return found.read(path) if found else None

    def mark(self, path: str) -> Mark | None:
        """Tell a file's content from another; None without file, or where only reading tells."""
        found = self._provider(path)
        return found.mark(path) if found else None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch several files at once."""
        wanted = list(paths)
        for source in self._sources:
            source.prefetch(wanted)

    def python(self) -> Iterator[str]:
        """Every `.py` path."""
        return (path for path in self._paths() if path.endswith(".py"))

    def forget(self) -> None:
        """Let go of what was parsed."""
        self._parsed.clear()
        self._size = 0

    def _provider(self, path: str) -> Source | None:
        return next((one for one in self._sources if one.has(path)), None)

    @cached_property
    def _tops(self) -> frozenset[str]:
        return frozenset(path.split("/", 1)[0] for path in (*self._paths(), *self._compiled))

    @cached_property
    def _compiled(self) -> frozenset[str]:
        return frozenset(filter(None, map(compiled, self._paths())))

    @cached_property
    def _folders(self) -> frozenset[str]:
        modules = (*self.python(), *self._compiled)
        nearest = {path.rpartition("/")[0] for path in modules}
        return frozenset(above for folder in nearest for above in _above(folder))

    def _paths(self) -> Iterator[str]:
        for source in self._sources:
            yield from source.paths()


def _size(parsed: Parsed | None) -> int:
    return len(parsed.text) if parsed else 0


def _above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def parse(text: bytes) -> tuple[ast.Module, str]:
    """Parse a file; what cannot be parsed is an empty module and a fault in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's invalid escapes are not ours to report
            return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.Module([], []), f"this Python cannot parse it: {error}"
