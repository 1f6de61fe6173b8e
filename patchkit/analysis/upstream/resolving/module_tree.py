"""Finds and parses the modules of one release when they are first needed."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from patchkit.analysis.upstream.reading.files import Files, Question

T = TypeVar("T")
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""The fields in which a statement holds others."""
_GLOBAL = re.compile(rb"global[\s\\]+\w+[ \t\f]*(?:[,;#\\\r\n]|\Z)")
"""A `global` statement; also "global" and a word at the end of a line of text."""

_MAKES_MODULES = re.compile(rb"sys\.meta_path\.|modules\[\s*__name__\s*\+")
"""Adds a finder of modules, or puts one below the own name into `sys.modules`."""
_Conclusions = dict[Any, Any]
"""Results that were worked out, by keys that the code which works them out chooses."""
_Enclosed = tuple[ast.AST, frozenset[str]]
"""A statement, and the names of the functions that it stands in."""


@dataclass(eq=False)
class ModuleTree:
    """One module: its file, its syntax tree, and the results that were worked out from them.

    Args:
        name: Its absolute name.
        path: The path of its file in the release; '' for a namespace package.
        is_package: Whether it may have submodules: it is an `__init__.py`, or a folder.
        tree: Its syntax tree; without statements if its file cannot be read.
        source: The content of its file.
        fault: Why the file cannot be read, for the report; '' if it can.
        conclusions: Results that hold in this release.
        file_conclusions: Results that depend on the file alone: they stay as long as the file
            stays parsed, and serve every release that has an equal file.
    """

    name: str
    path: str
    is_package: bool
    tree: ast.Module
    source: bytes = b""
    fault: str = ""
    conclusions: _Conclusions = field(default_factory=dict, repr=False)
    file_conclusions: _Conclusions = field(default_factory=dict, repr=False)

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        if self.is_package:
            return self.name
        package, _, _ = self.name.rpartition(".")
        return package

    def absolute(self, module: str | None, level: int) -> str | None:
        """Name the module that `from ..module import` means: `up.module` in the module `up.sub.x`.

        Args:
            module: What stands behind the dots, if anything does.
            level: The number of dots.

        Returns:
            None if the dots lead beyond the top-level package, or nothing is named.
        """
        if not level:
            return module
        package = self.package
        parts = package.split(".")
        if level > len(parts) or not package:
            return None
        depth = len(parts) - level + 1  # one dot is the package itself
        base = ".".join(parts[:depth])
        if module:
            return f"{base}.{module}"
        return base

    def may_make_modules(self) -> bool:
        """Whether the text of the module makes modules by code, as `six` makes `six.moves`."""
        return self.remember_with_file(
            "makes modules", lambda: _MAKES_MODULES.search(self.source) is not None
        )

    def rebound_in_functions(self) -> dict[str, set[str]]:
        """Return the names that functions of the module declare `global`, and so may rebind.

        Returns:
            For each name, the names of these functions, and of those that they stand in.
        """
        return self.remember_with_file("globals", self._find_globals)

    def remember(self, key: Any, compute: Callable[[], T]) -> T:
        """Return what was computed before under a key, or compute it now.

        Args:
            key: What tells this result from others of the module.
            compute: Returns the result, which may depend on the whole release.
        """
        return _remembered(self.conclusions, key, compute)

    def remember_with_file(self, key: Any, compute: Callable[[], T]) -> T:
        """Return what was computed before from the file alone, or compute it now.

        Args:
            key: What tells this result from others of the file.
            compute: Returns the result, which every release with an equal file will get.
        """
        return _remembered(self.file_conclusions, key, compute)

    def _find_globals(self) -> dict[str, set[str]]:
        """Search for `global` statements; see `rebound_in_functions`, which remembers them."""
        functions_by_name: dict[str, set[str]] = {}
        # Most modules have none: a search of the text spares them the walk.
        if not _GLOBAL.search(self.source):
            return functions_by_name
        for statement, functions in _with_enclosing_functions(self.tree):
            if isinstance(statement, ast.Global) and functions:
                for name in statement.names:
                    binders = functions_by_name.setdefault(name, set())
                    binders.update(functions)
        return functions_by_name


def _with_enclosing_functions(tree: ast.Module) -> Iterator[_Enclosed]:
    """Walk the statements of a module, each with the names of the functions that it stands in."""
    pending: list[_Enclosed] = [(tree, frozenset())]
    while pending:
        node, functions = pending.pop()
        yield node, functions
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            functions |= {node.name}
        for block in BLOCKS:
            statements = getattr(node, block, ())
            pending += [(inner, functions) for inner in statements]


class Modules:
    """The modules of one release.

    Args:
        files: The Python files of the release.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.answers: dict[Question, str] = {}
        """Every question that was asked about the files, with its answer.

        A release whose files give the same answers has the same results.
        """
        self._trees: dict[str, ModuleTree | None] = {}

    def __contains__(self, name: str) -> bool:
        return self._locate(name) is not None

    def forget(self) -> None:
        """Drop all results, which refer to each other, so that memory is freed at once."""
        for tree in self._trees.values():
            if tree is not None:
                tree.conclusions.clear()

    def get(self, name: str) -> ModuleTree | None:
        """Return a module, parsed.

        Args:
            name: The absolute name of the module.

        Returns:
            None if the release has no Python source of it. A namespace package has no statements.
        """
        return _remembered(self._trees, name, lambda: self._read(name))

    def path(self, name: str) -> str | None:
        """Return the path of a module's file, without reading it.

        Args:
            name: The absolute name of the module.

        Returns:
            '' for a namespace package; None if the release has no Python source of the module.
        """
        location = self._locate(name)
        if location is None:
            return None
        path, _ = location
        return path

    def covers(self, name: str) -> bool:
        """Whether a module, if it existed, would belong to this release.

        Args:
            name: The absolute name of the module, whose first part decides.
        """
        top, *_ = name.split(".", 1)
        return self._has("top", top)

    def compiled(self, name: str) -> bool:
        """Whether the release has an extension module of a name.

        Args:
            name: The absolute name of the module; a package may be one by its `__init__`.
        """
        base = name.replace(".", "/")
        if self._has("compiled", base):
            return True
        return self._has("compiled", f"{base}/__init__")

    def has_stub(self, name: str) -> bool:
        """Whether a module has a stub file, though perhaps no source.

        Args:
            name: The absolute name of the module.
        """
        base = name.replace(".", "/")
        return self._has("file", f"{base}.pyi")

    def _locate(self, name: str) -> tuple[str, bool] | None:
        """Return the path of a module's file, and whether it is a package; None for no source."""
        base = name.replace(".", "/")
        candidates = {f"{base}/__init__.py": True, f"{base}.py": False}
        for path, is_package in candidates.items():
            if self._has("file", path):
                # Python imports an extension module before a source file of that name.
                without_ending = path.removesuffix(".py")
                if self._has("compiled", without_ending):
                    return None
                return path, is_package
        if self._has("compiled", base):
            return None
        if not self._has("folder", base):
            return None
        return "", True  # a namespace package, which has no file

    def _has(self, kind: str, path: str) -> bool:
        """Ask a `Question` about the files of the release, and record the answer."""
        question = Question(kind, path)
        answer = _remembered(
            self.answers, question, lambda: self.files.answer(question)
        )
        return bool(answer)

    def _read(self, name: str) -> ModuleTree | None:
        """Find and parse a module; None without Python source. See `get`, which remembers it."""
        location = self._locate(name)
        if location is None:
            return None
        path, is_package = location
        if not path:
            no_statements = ast.Module([], [])
            return ModuleTree(name, path, is_package, no_statements)
        parsed = self.files.parsed(path)
        if parsed is None:
            return None
        return ModuleTree(
            name,
            path,
            is_package,
            parsed.tree,
            source=parsed.text,
            fault=parsed.fault,
            file_conclusions=parsed.notes,
        )


def module_name(path: str) -> str:
    """Return the name of the module whose source is the file at a path.

    Args:
        path: The path in the release, with slashes: `vllm/config/__init__.py` is `vllm.config`.
    """
    without_ending = path.removesuffix(".py")
    module_path = without_ending.removesuffix("/__init__")
    return module_path.replace("/", ".")


def lines_of(nodes: Sequence[ast.AST]) -> tuple[int, int] | None:
    """Return the first and last line of nodes, decorators included.

    Args:
        nodes: The nodes, which are of one file.

    Returns:
        The numbers of the lines, from 1; None if no node has one.
    """
    first_lines: list[int] = []
    last_lines: list[int] = []
    for node in nodes:
        decorators = getattr(node, "decorator_list", ())
        for part in (node, *decorators):
            last_line = getattr(part, "end_lineno", 0) or 0
            last_lines.append(last_line)
            if hasattr(part, "lineno"):
                first_lines.append(part.lineno)
    if not first_lines:
        return None
    return min(first_lines), max(last_lines)


def _remembered(memory: _Conclusions, key: Any, compute: Callable[[], T]) -> T:
    """Return the result of a key; compute it if it is not in the memory yet."""
    if key not in memory:
        memory[key] = compute()
    result: T = memory[key]
    return result
