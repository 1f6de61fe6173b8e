"""The files of the package, read and parsed once, with the wing and the room of each."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TypeGuard

PACKAGE = "patchkit"
PACKS = ("platform", "worker", "data_llm")
"""The folders of the packs that are shipped with the package."""
WINGS = ("core", "runtime", "analysis", "authoring", "cli")
"""The folders that hold rooms; a folder beside them is a room of its own."""
DOORS = "doors"
"""The modules that lie flat in the package, taken as one wing."""

_NOT_COUNTED = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
"""Nodes that only say how their parent is meant."""
_NO_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
        tokenize.INDENT,
        tokenize.NEWLINE,
        tokenize.NL,
    }
)


@dataclass(frozen=True)
class Module:
    """A Python file of the package.

    Args:
        name: The dotted name that it is imported by.
        file: Its path below the folder of the package, with `/`.
        text: What is in it.
    """

    name: str
    file: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of its syntax tree, the tree's own first."""
        return list(ast.walk(self.tree))

    @cached_property
    def node_count(self) -> int:
        """How many syntax nodes it has, without expression contexts and operators."""
        return sum(not isinstance(node, _NOT_COUNTED) for node in self.nodes)

    @cached_property
    def code_lines(self) -> list[int]:
        """The numbers of the lines that have code, which is neither a comment nor a docstring."""
        numbers: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _NO_CODE:
                numbers.update(range(token.start[0], token.end[0] + 1))
        return sorted(numbers.difference(self._docstring_lines()))

    @property
    def line_count(self) -> int:
        """How many lines the file has, blank ones included."""
        return len(self.text.splitlines())

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__.py` of a folder."""
        return self.file.rpartition("/")[2] == "__init__.py"

    @property
    def wing(self) -> str:
        """The folder at the top of the package that it lies in; `doors` for a flat module."""
        folder, slash, _ = self.file.partition("/")
        if slash:
            return folder
        return DOORS

    @property
    def room(self) -> str:
        """The folder or the flat module that it belongs to, by its dotted name below the package.

        Within a wing the rooms are the wing's own folders and flat modules.
        """
        parts = self.name.split(".")[1:]
        depth = 1
        if self.wing in WINGS:
            depth = 2
        return ".".join(parts[:depth])

    def _docstring_lines(self) -> Iterator[int]:
        """Name the lines of strings that stand for themselves: docstrings, also of attributes."""
        for node in self.nodes:
            if is_docstring(node):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def is_docstring(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a node is a string that stands for itself, as those do that document an attribute.

    Args:
        node: The node of a syntax tree.
    """
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def read_package(repository: Path) -> list[Module]:
    """Read every module of the package, packs included.

    Args:
        repository: The folder that the package's own folder lies in.

    Returns:
        The modules, in the order of their files.
    """
    folder = repository / PACKAGE
    return [
        Module(
            _dotted(path.relative_to(repository)),
            path.relative_to(folder).as_posix(),
            text,
        )
        for path in sorted(folder.rglob("*.py"))
        for text in [path.read_text(encoding="utf-8")]
    ]


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)
