"""What stands where the author reckons with its absence: below `try`, `hasattr`, a version test."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
)
_WORD = re.compile(
    r"(?i)(?:.*version.*|hasattr|getattr|find_spec|type_checking|envs(?:_.*)?|environ|getenv"
    r"|_*has_.*|.*_available|signature)"
)
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def catches(node: ast.Try) -> bool:
    """Whether a `try` goes on where something is not there."""
    return any(
        one.type is None or not _ERRORS.isdisjoint(_words(one.type)) for one in node.handlers
    )


def suppresses(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a `with` goes on where something is not there."""
    words = {word for item in node.items for word in _words(item.context_expr)}
    return "suppress" in words and not _ERRORS.isdisjoint(words)


class Guards:
    """The tests of a file that decide on what is there."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self._flags: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Try) and catches(node):
                self._flags |= {name for one in node.body for name in _stored(one)}
                self._flags |= {name for one in node.handlers for name in _stored(one)}
        for node in nodes:
            if isinstance(node, ast.Assign) and self.tests(node.value):
                self._flags |= _stored(node)

    def tests(self, test: ast.expr) -> bool:
        """Whether a test may ask which release is there, or whether something is."""
        return any(word in self._flags or _WORD.fullmatch(word) for word in _words(test))

    def leaves(self, node: ast.stmt) -> bool:
        """Whether what comes behind a statement runs only if a test says so."""
        if not isinstance(node, ast.If) or not self.tests(node.test):
            return False
        return any(_ends(body) for body in (node.body, node.orelse))


def _ends(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], _ENDS)


def _words(node: ast.AST) -> Collection[str]:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node))
    return {name for name in names if isinstance(name, str)}


def _stored(node: ast.AST) -> set[str]:
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
    return found
