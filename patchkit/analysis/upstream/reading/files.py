"""What files a release has, what is in them, and what tells them from those of another release."""

import ast
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from patchkit.errors import UpstreamError

MAX_FILE = 16 << 20  # bytes of one Python file; the largest of vLLM, torch and Ray have 1 MB
ROOTS = ("", "src/", "python/")
"""Where in its tree a project keeps its import packages, in this order; the last is Ray's."""

_EXTENSION = re.compile(r"((?:[^/]+/)*[^\W\d]\w*)(?:\.[^/]+)?\.(?:so|pyd)")


class ContentMark(NamedTuple):
    """What tells a file's content from another without reading it: bytes, and their CRC-32."""

    size: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.size:x} {self.checksum:08x}"


class ReleaseSource(Protocol):
    """One release of an upstream package, as files below its import packages.

    Paths are posix and relative to site-packages: `vllm/v1/engine/core.py`. Each method may raise
    UpstreamError: the release, or this file of it, cannot be read.
    """

    @property
    def name(self) -> str:
        """For messages: `vllm 0.32.0`, `the tree at …`, `wheel FILE`."""

    @property
    def version(self) -> str | None:
        """As released, such as `0.32.0`; None where unknown."""

    def read(self, path: str) -> bytes | None:
        """One Python file; None where there is no such file."""

    def has(self, path: str) -> bool:
        """Whether there is such a file."""

    def paths(self) -> frozenset[str]:
        """Every `.py`, `.pyi` and extension module (`.so`, `.pyd`) below the import packages."""

    def mark(self, path: str) -> ContentMark | None:
        """Tell a file's content from another; None without file, or where only reading tells."""

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch several at once, those that exist; may do nothing."""


def is_python(path: str) -> bool:
    """Whether a path is a source file or a stub."""
    return path.endswith((".py", ".pyi"))


def compiled(path: str) -> str | None:
    """Return the path, without suffix, of the module that an extension file is; None for others."""
    match = _EXTENSION.fullmatch(path) if path.endswith((".so", ".pyd")) else None
    return match[1] if match else None


def is_listed(path: str) -> bool:
    """Whether a path is one that an import may lead to."""
    return is_python(path) or compiled(path) is not None


def check_size(path: str, size: int) -> None:
    """Refuse, with an UpstreamError, a file that is too large to be source."""
    if size > MAX_FILE:
        raise UpstreamError(
            f"{path} in it has {size:,} bytes; Python files of up to {MAX_FILE:,} are read"
        )


_THERE = "+"
_KEPT = 3 << 18  # bytes of source that stay parsed; a tree takes some thirty times as much


class Question(NamedTuple):
    """A question about the files of a release that tells whether another answers like it."""

    kind: str  # `file`, `folder` (of modules), `compiled`, or `top` (directly in site-packages)
    path: str  # without suffix where it is none of a file


FileKey = tuple[str, ContentMark | None]


class Parsed(NamedTuple):
    """A file: as it lies there, and parsed, which gives an empty module where it cannot be."""

    text: bytes
    tree: ast.Module
    fault: str  # why it cannot be parsed, in words; '' where it can
    notes: dict[Any, Any]  # what was worked out from it alone, by who worked it out


class ParsedFiles:
    """The files that were asked for last, parsed, up to a limit of bytes; safe for threads."""

    def __init__(self, limit: int = _KEPT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._files: dict[FileKey, Parsed] = {}
        self._met: set[FileKey] = set()
        self._size = 0

    def get(self, key: FileKey, read: Callable[[], bytes | None]) -> Parsed | None:
        """Return what is known by a key, or read and parse it; None where there is no file."""
        with self._lock:
            found = self._files.pop(key, None)
            if found:
                self._files[key] = found
                return found
        if (text := read()) is None:
            return None
        new = Parsed(text, *parse(text), {})
        with self._lock:
            self._met.add(key)
            found = self._files.setdefault(key, new)
            self._size += len(text) if found is new else 0
            while self._size > self._limit and len(self._files) > 1:
                self._size -= len(self._files.pop(next(iter(self._files))).text)
            return found

    def __contains__(self, key: object) -> bool:
        return key in self._files

    def met(self) -> frozenset[FileKey]:
        """List the files that were ever parsed, whichever release they are in."""
        with self._lock:
            return frozenset(self._met)

    def forget(self) -> None:
        """Let go of all."""
        with self._lock:
            self._files.clear()
            self._size = 0


class Files:
    """The Python files of one release; what `shared` keeps is parsed once for several releases."""

    def __init__(self, source: ReleaseSource, *, shared: ParsedFiles | None = None) -> None:
        self.source = source
        self._own = ParsedFiles()
        self._shared = shared or self._own
        self._answers: dict[Question, str] = {}

    def answer(self, question: Question) -> str:
        """Answer a question; '' where there is no such thing. Equal answers mean equal content."""
        if question not in self._answers:
            self._answers[question] = self._answer(question)
        return self._answers[question]

    def _answer(self, question: Question) -> str:
        kind, path = question
        if kind == "file":
            return str(self.source.mark(path) or _THERE) if self.source.has(path) else ""
        return _THERE if path in self._listed[kind] else ""

    def parsed(self, path: str) -> Parsed | None:
        """Read and parse a file; None where there is none."""
        mark = self.source.mark(path)
        kept = self._shared if mark else self._own
        return kept.get((path, mark), lambda: self.source.read(path))

    def prefetch_unparsed(self, paths: Iterable[str]) -> None:
        """Fetch what is not parsed of some files, and what is new of those that others parsed."""
        met, mark = self._shared.met(), self.source.mark
        others = {path for path, _ in met}.difference(several := set(paths))
        new = (one for one in others if (one, mark(one)) not in met)
        unparsed = (one for one in several if (one, mark(one)) not in self._shared)
        self.source.prefetch((*unparsed, *new))

    def python(self) -> Iterator[str]:
        """Every `.py` path."""
        return (path for path in self.source.paths() if path.endswith(".py"))

    @cached_property
    def _listed(self) -> dict[str, set[str]]:
        paths = self.source.paths()
        extensions = set(filter(None, map(compiled, paths)))
        tops = {path.partition("/")[0].removesuffix(".py") for path in (*paths, *extensions)}
        folders: set[str] = set()
        for folder in {path.rpartition("/")[0] for path in (*self.python(), *extensions)}:
            folders.update(accumulate(folder.split("/"), "{}/{}".format))
        return {"compiled": extensions, "folder": folders - {""}, "top": tops}


def parse(text: bytes) -> tuple[ast.Module, str]:
    """Parse a file; what cannot be parsed is an empty module and a fault in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's invalid escapes are not ours to report
            return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.Module([], []), f"this Python cannot parse it: {error}"
