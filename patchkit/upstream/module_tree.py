"""A release's modules, parsed when they are asked for and kept."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchkit.upstream.source import Source

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

    def rebound_in_functions(self) -> dict[str, str]:
        """Names that functions declare global and bind, each with one such function's name."""
        found: dict[str, str] = self.noted("globals", self._find_globals)
        return found

    def noted(self, key: Any, work: Callable[[], Any]) -> Any:
        """Work something out about the tree once."""
        if key not in self.notes:
            self.notes[key] = work()
        return self.notes[key]

    def _find_globals(self) -> dict[str, str]:
        if not _GLOBAL.search(self.source):
            return {}
        found: dict[str, str] = {}
        for function in ast.walk(self.tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                declared = {
                    name
                    for one in ast.walk(function)
                    if isinstance(one, ast.Global)
                    for name in one.names
                }
                for name in declared & _stored_in(function):
                    found.setdefault(name, function.name)
        return found


class Modules:
    """
    The modules of one release, and of others beside it.

    Args:
        sources: where they lie; the first that has a module provides it.

    """

    def __init__(self, *sources: Source) -> None:
        self.sources = sources
        self._trees: dict[str, ModuleTree | None] = {}
        self._tops: frozenset[str] | None = None
        self._folders: frozenset[str] | None = None

    def __contains__(self, name: str) -> bool:
        return self._place(name) is not None

    def get(self, name: str) -> ModuleTree | None:
        """Parse a module; None where no source has it."""
        if name not in self._trees:
            self._trees[name] = self._read(name)
        return self._trees[name]

    def covers(self, name: str) -> bool:
        """Whether a module, if there were one, would be in these sources."""
        if self._tops is None:
            self._tops = frozenset(path.split("/", 1)[0] for path in self._paths())
        top = name.split(".", 1)[0]
        return top in self._tops or f"{top}.py" in self._tops

    def compiled(self, name: str) -> bool:
        """Whether a module is there without Python source."""
        path = name.replace(".", "/")
        return any(
            source.has(f"{path}{suffix}")
            for source in self.sources
            for suffix in (".abi3.so", ".so", ".pyi", ".pyd")
        )

    def all_paths(self) -> Iterator[tuple[Source, str]]:
        """Every Python file, with where it lies."""
        for source in self.sources:
            yield from ((source, path) for path in sorted(source.paths()) if path.endswith(".py"))

    def _paths(self) -> Iterator[str]:
        for source in self.sources:
            yield from source.paths()

    def _place(self, name: str) -> tuple[Source | None, str, bool] | None:
        base = name.replace(".", "/")
        for source in self.sources:
            if source.has(f"{base}/__init__.py"):
                return source, f"{base}/__init__.py", True
            if source.has(f"{base}.py"):
                return source, f"{base}.py", False
        return (None, "", True) if base in self._namespaces() else None

    def _namespaces(self) -> frozenset[str]:
        if self._folders is None:
            self._folders = frozenset(
                path[:at]
                for path in self._paths()
                for at, letter in enumerate(path)
                if letter == "/" and path.endswith(".py")
            )
        return self._folders

    def _read(self, name: str) -> ModuleTree | None:
        place = self._place(name)
        if place is None:
            return None
        source, path, is_package = place
        text = source.read(path) if source else b""
        if text is None:
            return None
        tree, fault = parse(text)
        return ModuleTree(name, path, is_package, tree, text, fault)


def parse(text: bytes) -> tuple[ast.Module, str]:
    """Parse a file; what cannot be parsed is an empty module and a fault in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's invalid escapes are not ours to report
            return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.Module([], []), f"this Python cannot parse it: {error}"


def module_name(path: str) -> str:
    """Name the module that lies at a path."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def lines_of(nodes: Sequence[ast.AST]) -> tuple[int, int] | None:
    """Find the first and last line of nodes, decorators included."""
    places = [node for one in nodes for node in (one, *getattr(one, "decorator_list", ()))]
    first = [node.lineno for node in places if hasattr(node, "lineno")]
    last = [getattr(node, "end_lineno", 0) or 0 for node in places]
    return (min(first), max(last)) if first else None


def _stored_in(function: ast.AST) -> set[str]:
    stored = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))
    }
    for node in ast.walk(function):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            stored |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            stored.add(node.name)
    return stored
