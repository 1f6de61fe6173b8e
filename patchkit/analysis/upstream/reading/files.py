"""Defines how the files of a release are read, wherever they lie, and parses them.

A directory, an archive and a commit are each a `ReleaseSource`: files of import packages.
"""

import ast
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from patchkit.errors import UpstreamError

MAX_FILE = 4 << 20
"""Bytes of one Python file; the largest of vLLM, torch and Ray have 1 MB."""
ROOTS = ("", "src/", "python/")
"""Where in its tree a project keeps its import packages, in this order; the last is Ray's."""

_EXTENSION = re.compile(r"((?:[^/]+/)*[^\W\d]\w*)(?:\.[^/]+)?\.(?:so|pyd)")
"""Matches `vllm/_C.abi3.so` and `vllm/_C.so`; the group is `vllm/_C`, without the suffixes."""


class ContentMark(NamedTuple):
    """Size and checksum of a file: two files with the same mark have the same content.

    Args:
        size: Its bytes.
        checksum: Their CRC-32, or another number that only equal contents share.
    """

    size: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.size:x} {self.checksum:08x}"


class ReleaseSource(Protocol):
    """One release of an upstream package, as files below its import packages.

    Paths are relative to site-packages, with slashes: `vllm/v1/engine/core.py`. Each method may
    raise UpstreamError: the release, or this file of it, cannot be read.
    """

    @property
    def name(self) -> str:
        """Its name in messages: `vllm 0.32.0`, `the tree at …`, `wheel FILE`."""

    @property
    def version(self) -> str | None:
        """As released, such as `0.32.0`; None where unknown."""

    def read(self, path: str) -> bytes | None:
        """Read the Python file at `path`; return None where there is none."""

    def has(self, path: str) -> bool:
        """Whether there is a file at `path`."""

    def paths(self) -> frozenset[str]:
        """Return every `.py`, `.pyi` and extension module (`.so`, `.pyd`) of the packages."""

    def mark(self, path: str) -> ContentMark | None:
        """Return the mark of the file at `path` without reading it.

        That is None where there is no file, or where nobody has stored its checksum.
        """

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch the files at `paths` at once, as far as they exist; may do nothing."""


def is_python(path: str) -> bool:
    """Whether `path` is a source file or a stub."""
    return path.endswith((".py", ".pyi"))


def compiled(path: str) -> str | None:
    """Return the path of an extension module without its suffix.

    Args:
        path: Any path, such as `vllm/_C.abi3.so`.

    Returns:
        Such as `vllm/_C`; None where the path is not that of an extension module.
    """
    if not path.endswith((".so", ".pyd")):
        return None
    match = _EXTENSION.fullmatch(path)
    if match is None:
        return None
    return match[1]


def is_listed(path: str) -> bool:
    """Whether `path` is that of a Python file, a stub or an extension module."""
    return is_python(path) or compiled(path) is not None


def check_size(path: str, size: int) -> None:
    """Refuse a file that is too large to be source.

    Args:
        path: The file.
        size: Its bytes.

    Raises:
        UpstreamError: They are more than `MAX_FILE`.
    """
    # "It" is the release, whose name those who catch the error put in front.
    if size > MAX_FILE:
        raise UpstreamError(
            f"{path} in it has {size:,} bytes; Python files of up to {MAX_FILE:,} are read"
        )


CANNOT_PARSE = "this Python cannot parse it"
"""How the fault of a file begins that is no Python for the running one."""
_PRESENT = "+"
"""The answer to a question about something that exists, and has no mark."""
_PARSED_BYTES = 3 << 18
"""Bytes of source whose trees stay in memory; a tree takes some thirty times as much."""


class Question(NamedTuple):
    """A question about the files of a release; two releases may be compared by their answers.

    Args:
        kind: `file`, `folder` (of modules), `compiled` (an extension module), or `top` (a package
            or module directly in site-packages).
        path: The path in question, without suffix unless the kind is `file`.
    """

    kind: str
    path: str


FileKey = tuple[str, ContentMark | None]
"""The path of a file, and the mark of its content."""


class Parsed(NamedTuple):
    """A file and its syntax tree.

    Args:
        text: Its content.
        tree: Its syntax tree; that of an empty module where it cannot be parsed.
        fault: Why it cannot be parsed, in words; '' where it can.
        notes: Results that were worked out from this file alone, by keys that the code which
            works them out chooses.
    """

    text: bytes
    tree: ast.Module
    fault: str
    notes: dict[Any, Any]


class ParsedFiles:
    """A cache of parsed files, from which those not used for longest are dropped; safe for threads.

    Args:
        limit: How many bytes of source it may hold; the file that was used last always stays.
    """

    def __init__(self, limit: int = _PARSED_BYTES) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._files: dict[FileKey, Parsed] = {}  # the one used last at the end
        self._ever_parsed: set[FileKey] = set()
        self._size = 0

    def get(self, key: FileKey, read: Callable[[], bytes | None]) -> Parsed | None:
        """Return a parsed file; read and parse it if it is not in the cache.

        Args:
            key: The key of the file.
            read: Called to read the file; returns None where there is none.

        Returns:
            The file; None where there is none.
        """
        with self._lock:
            stored = self._files.pop(key, None)
            if stored:
                self._files[key] = stored  # at the end, as the one used last
                return stored
        # Without the lock, so that several files are parsed at a time.
        text = read()
        if text is None:
            return None
        tree, fault = parse(text)
        parsed = Parsed(text, tree, fault, {})
        with self._lock:
            return self._store(key, parsed)

    def _store(self, key: FileKey, parsed: Parsed) -> Parsed:
        """Store a file, unless another thread was faster; return the one that is stored."""
        self._ever_parsed.add(key)
        stored = self._files.setdefault(key, parsed)
        if stored is parsed:
            self._size += len(parsed.text)
        while self._size > self.limit and len(self._files) > 1:
            oldest = next(iter(self._files))  # the first was not used for longest
            dropped = self._files.pop(oldest)
            self._size -= len(dropped.text)
        return stored

    def __contains__(self, key: object) -> bool:
        return key in self._files

    def ever_parsed(self) -> frozenset[FileKey]:
        """Return the keys of all files that were ever parsed, in any release, if dropped or not."""
        with self._lock:
            return frozenset(self._ever_parsed)

    def forget(self) -> None:
        """Drop all files."""
        with self._lock:
            self._files.clear()
            self._size = 0


class Files:
    """The Python files of one release.

    Args:
        source: The release.
        shared: The cache of parsed files of several releases, so that equal files are parsed once;
            None for one of its own.
    """

    def __init__(
        self, source: ReleaseSource, *, shared: ParsedFiles | None = None
    ) -> None:
        self.source = source
        self._own = ParsedFiles()
        self._shared = shared or self._own
        self._answers: dict[Question, str] = {}

    def answer(self, question: Question) -> str:
        """Answer a `question`; two releases that give the same answer have the same content.

        Returns:
            '' where there is no such file, folder or name.
        """
        if question not in self._answers:
            self._answers[question] = self._answer(question)
        return self._answers[question]

    def _answer(self, question: Question) -> str:
        """Work out an answer: the mark of a file, "+" for anything else that exists, or ''."""
        kind, path = question
        if kind != "file":
            if path in self._listed[kind]:
                return _PRESENT
            return ""
        if not self.source.has(path):
            return ""
        return str(self.source.mark(path) or _PRESENT)

    def parsed(self, path: str) -> Parsed | None:
        """Read and parse the file at `path`; return None where there is none."""
        mark = self.source.mark(path)
        # Without a mark, another release may have other content under the same key.
        files = self._shared if mark else self._own
        return files.get((path, mark), lambda: self.source.read(path))

    def prefetch_unparsed(self, paths: Iterable[str]) -> None:
        """Fetch at once the files that will be parsed, and are not yet.

        Files that were parsed in another release, and have other content in this one, will
        probably be needed, too, and are fetched with them.

        Args:
            paths: The files that are needed for certain.
        """
        needed = set(paths)
        unparsed = [path for path in needed if self._key(path) not in self._shared]
        # Of the others, only those with new content: a file that was parsed before, and dropped
        # since, is fetched once it is needed.
        ever_parsed = self._shared.ever_parsed()
        likely = {path for path, _ in ever_parsed} - needed
        changed = [path for path in likely if self._key(path) not in ever_parsed]
        self.source.prefetch((*unparsed, *changed))

    def _key(self, path: str) -> FileKey:
        return path, self.source.mark(path)

    def python(self) -> Iterator[str]:
        """Yield every path of a `.py` file."""
        return (path for path in self.source.paths() if path.endswith(".py"))

    @cached_property
    def _listed(self) -> dict[str, set[str]]:
        """All extension modules, folders and top-level names, by the `kind` of a `Question`."""
        paths = self.source.paths()
        extensions: set[str] = set()
        for path in paths:
            module = compiled(path)
            if module:
                extensions.add(module)
        tops: set[str] = set()
        for path in (*paths, *extensions):
            top = path.partition("/")[0]
            tops.add(top.removesuffix(".py"))
        folders: set[str] = set()
        # Each folder above a file counts; those above one that is known were added with that.
        for path in (*self.python(), *extensions):
            folder = path.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return {"compiled": extensions, "folder": folders, "top": tops}


def parse(text: bytes) -> tuple[ast.Module, str]:
    """Parse the `text` of a Python file.

    Returns:
        The syntax tree, and ''; or the tree of an empty module, and why it cannot be parsed.
    """
    try:
        with warnings.catch_warnings():
            # Python warns of invalid escapes such as "\d", which nobody here can mend.
            warnings.simplefilter("ignore")
            return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.Module([], []), f"{CANNOT_PARSE}: {error}"
