"""A release's modules, parsed when they are asked for and kept."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from patchkit.analysis.upstream.reading.files import Files, Parsed, Question

T = TypeVar("T")
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Where statements hold others."""
_GLOBAL = re.compile(rb"^\s+global\s+\w", re.MULTILINE)


@dataclass(eq=False)
class ModuleTree:
    """One module: where it lies, what it says, and notes of what was worked out about it."""

    name: str
    path: str  # of its file; '' for a namespace package
    is_package: bool
    tree: ast.Module  # empty where it cannot be read
    source: bytes = b""
    fault: str = ""  # why it cannot be read, in words; '' where it can
    conclusions: dict[Any, Any] = field(default_factory=dict, repr=False)
    file_conclusions: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What its file alone tells; it stays as long as the file stays parsed."""

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

    def rebound_in_functions(self) -> dict[str, set[str]]:
        """Names that functions declare global and bind, each with those functions' names."""
        return self.remember_with_file("globals", self._find_globals)

    def remember(self, key: Any, work: Callable[[], T]) -> T:
        """Work something out about the tree once."""
        return _once(self.conclusions, key, work)

    def remember_with_file(self, key: Any, work: Callable[[], T]) -> T:
        """Work something out once that no other file has to do with."""
        return _once(self.file_conclusions, key, work)

    def _find_globals(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        is_likely = b"global" in self.source and _GLOBAL.search(self.source)
        first: tuple[ast.AST, frozenset[str]] = (self.tree, frozenset())
        nodes = [first] if is_likely else []
        for node, around in nodes:  # it grows
            inside = around
            if isinstance(node, ast.Global) and around:
                for name in node.names:
                    found.setdefault(name, set()).update(around)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = around | {node.name}
            blocks = (getattr(node, block, ()) for block in BLOCKS)
            nodes += [(inner, inside) for block in blocks for inner in block]
        return found


class Modules:
    """The modules of one release."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.answers: dict[Question, str] = {}
        """All that was asked of the files, with the answers: what came of them depends on it."""
        self._trees: dict[str, ModuleTree | None] = {}

    def __contains__(self, name: str) -> bool:
        return self._place(name) is not None

    def forget(self) -> None:
        """Let go of modules at the end, and do not leave it to the collector of circles."""
        for tree in filter(None, self._trees.values()):
            tree.conclusions.clear()

    def get(self, name: str) -> ModuleTree | None:
        """Parse a module; None where the release has none."""
        return _once(self._trees, name, lambda: self._read(name))

    def covers(self, name: str) -> bool:
        """Whether a module, if there were one, would be in this release."""
        return self._is("top", name.split(".", 1)[0])

    def compiled(self, name: str) -> bool:
        """Whether Python would find an extension module."""
        base = name.replace(".", "/")
        return self._is("compiled", base) or self._is("compiled", f"{base}/__init__")

    def has_stub(self, name: str) -> bool:
        """Whether a stub tells of a module, which need not be there."""
        return self._is("file", f"{name.replace('.', '/')}.pyi")

    def _place(self, name: str) -> tuple[str, bool] | None:
        base = name.replace(".", "/")
        for path, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if self._is("file", path):
                # Python imports an extension module before a source file of that name.
                return None if self._is("compiled", path[:-3]) else (path, is_package)
        is_namespace = not self._is("compiled", base) and self._is("folder", base)
        return ("", True) if is_namespace else None

    def _is(self, kind: str, path: str) -> bool:
        question = Question(kind, path)
        return bool(_once(self.answers, question, lambda: self.files.answer(question)))

    def _read(self, name: str) -> ModuleTree | None:
        place = self._place(name)
        if place is None:
            return None
        path, is_package = place
        parsed = self.files.parsed(path) if path else Parsed(b"", ast.Module([], []), "", {})
        if parsed is None:
            return None
        text, tree, fault, notes = parsed
        return ModuleTree(name, path, is_package, tree, text, fault, file_conclusions=notes)


def module_name(path: str) -> str:
    """Name the module that lies at a path."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def lines_of(nodes: Sequence[ast.AST]) -> tuple[int, int] | None:
    """Find the first and last line of nodes, decorators included."""
    places = [node for one in nodes for node in (one, *getattr(one, "decorator_list", ()))]
    first = [node.lineno for node in places if hasattr(node, "lineno")]
    last = [getattr(node, "end_lineno", 0) or 0 for node in places]
    return (min(first), max(last)) if first else None


def _once(memo: dict[Any, Any], key: Any, work: Callable[[], T]) -> T:
    if key not in memo:
        memo[key] = work()
    found: T = memo[key]
    return found
