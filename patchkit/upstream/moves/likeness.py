"""
How alike two definitions are.

Both are written as the words that a fingerprint is made of, without name and decorators, and cut
into runs of four words: the likeness is the share of the runs that both have, of all that any has.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from patchkit.upstream.fingerprint import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

_RUN = 4
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Likeness:
    """
    A definition to which others are compared.

    Args:
        nodes: its statements, as a rule one.

    """

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        several = list(nodes)
        words = [word for node in several for word in _words(node)]
        self.size = len(words) - sum(_head(node) for node in several)
        """In words, of a function those of its body: `pass` has none, `return self.x` 12."""
        self._runs = frozenset(
            hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1))
        )

    def to(self, other: Likeness) -> float:
        """Tell from 0 to 1 how alike another one is."""
        shared = len(self._runs & other._runs)
        return round(shared / (len(self._runs) + len(other._runs) - shared), 3)


def _words(node: ast.AST) -> Iterable[str]:
    return canonical(_with(node, decorator_list=[]), named=False)


def _head(node: ast.AST) -> int:
    if not isinstance(node, _FUNCTIONS):
        return 0
    return sum(1 for _ in _words(_with(node, body=[])))


def _with(node: ast.AST, **changes: object) -> ast.AST:
    if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return node
    fields: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
    return type(node)(**{**fields, **changes})
