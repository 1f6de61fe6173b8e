"""A release's modules, parsed when they are asked for and kept."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.upstream.reading.files import Parsed, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchkit.upstream.reading.files import Files


_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
_GLOBAL = re.compile(rb"^\s+global\s+\w", re.MULTILINE)


@dataclass(eq=False)
class ModuleTree:
    """
    One module: where it lies and what it says.

    Args:
        name: dotted.
        path: of its file; '' for a namespace package.
        is_package: whether it holds submodules.
        tree: parsed source, empty where it cannot be read.
        source: as it lies in the file.
        fault: why it cannot be read, in words; '' where it can.

    """

    name: str
    path: str
    is_package: bool
    tree: ast.Module
    source: bytes = b""
    fault: str = ""
    notes: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What was worked out about the tree, by who worked it out."""
    file_notes: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What its file alone tells; it stays as long as the file stays parsed."""

    @property
    def body(self) -> list[ast.stmt]:
        """The statements that run at import."""
        return self.tree.body

    @property
    def package(self) -> str:
        """What relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def absolute(self, module: str | None, level: int) -> str | None:
        """Name what `from ..module import` means here; None beyond the top."""
        if not level:
            return module
        parts = self.package.split(".")
        if level > len(parts) or not self.package:
            return None
        base = ".".join(parts[: len(parts) - level + 1])
        return f"{base}.{module}" if module else base

    def rebound_in_functions(self) -> dict[str, frozenset[str]]:
        """Names that functions declare global and bind, each with those functions' names."""
        found: dict[str, frozenset[str]] = self.by_file("globals", self._find_globals)
        return found

    def noted(self, key: Any, work: Callable[[], Any]) -> Any:
        """Work something out about the tree once."""
        if key not in self.notes:
            self.notes[key] = work()
        return self.notes[key]

    def by_file(self, key: Any, work: Callable[[], Any]) -> Any:
        """Work something out once that no other file has to do with."""
        if key not in self.file_notes:
            self.file_notes[key] = work()
        return self.file_notes[key]

    def _find_globals(self) -> dict[str, frozenset[str]]:
        if not _GLOBAL.search(self.source):
            return {}
        found: dict[str, frozenset[str]] = {}
        for name, function in _declared(self.body, ()):
            found[name] = found.get(name, frozenset()) | {function}
        return found


class Modules:
    """
    The modules of one release.

    Args:
        files: the release's.

    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.asked: dict[Question, str] = {}
        """All that was asked of the files, with the answers: what came of them depends on it."""
        self._trees: dict[str, ModuleTree | None] = {}

    def __contains__(self, name: str) -> bool:
        return self._place(name) is not None

    def forget(self) -> None:
        """Let go of modules at once, and do not leave it to the collector of circles."""
        for tree in self._trees.values():
            if tree:
                tree.notes.clear()
        self._trees.clear()

    def get(self, name: str) -> ModuleTree | None:
        """Parse a module; None where the release has none."""
        if name not in self._trees:
            self._trees[name] = self._read(name)
        return self._trees[name]

    def covers(self, name: str) -> bool:
        """Whether a module, if there were one, would be in this release."""
        return self._is(Question("top", name.split(".", 1)[0]))

    def compiled(self, name: str) -> bool:
        """Whether Python would find an extension module."""
        base = name.replace(".", "/")
        return self._is_compiled(base) or self._is_compiled(f"{base}/__init__")

    def has_stub(self, name: str) -> bool:
        """Whether a stub tells of a module, which need not be there."""
        return self._is(Question("file", f"{name.replace('.', '/')}.pyi"))

    def _place(self, name: str) -> tuple[str, bool] | None:
        base = name.replace(".", "/")
        for path, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if self._is(Question("file", path)):
                # Python imports an extension module before a source file of that name.
                return None if self._is_compiled(path[:-3]) else (path, is_package)
        if self._is_compiled(base):
            return None
        return ("", True) if self._is(Question("folder", base)) else None

    def _is_compiled(self, base: str) -> bool:
        return self._is(Question("compiled", base))

    def _is(self, question: Question) -> bool:
        if question not in self.asked:
            self.asked[question] = self.files.answer(question)
        return bool(self.asked[question])

    def _read(self, name: str) -> ModuleTree | None:
        place = self._place(name)
        if place is None:
            return None
        path, is_package = place
        found = self.files.parsed(path) if path else Parsed(b"", ast.Module([], []), "", {})
        if found is None:
            return None
        own = (found.tree, found.text, found.fault)
        return ModuleTree(name, path, is_package, *own, file_notes=found.notes)


def module_name(path: str) -> str:
    """Name the module that lies at a path."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def lines_of(nodes: Sequence[ast.AST]) -> tuple[int, int] | None:
    """Find the first and last line of nodes, decorators included."""
    places = [node for one in nodes for node in (one, *getattr(one, "decorator_list", ()))]
    first = [node.lineno for node in places if hasattr(node, "lineno")]
    last = [getattr(node, "end_lineno", 0) or 0 for node in places]
    return (min(first), max(last)) if first else None


def _declared(body: Sequence[ast.AST], around: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """List what is declared global, each with the functions around."""
    for node in body:
        if isinstance(node, ast.Global):
            yield from ((name, function) for name in node.names for function in around)
        inside = around
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = (*around, node.name)
        for block in _BLOCKS:
            yield from _declared(getattr(node, block, ()), inside)
