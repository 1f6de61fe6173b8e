"""What stands where the author reckons with its absence: below `try`, `hasattr`, a version test."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
)
_WORD = re.compile(r"(?i).*version.*|find_spec|type_checking|envs|environ|getenv|signature")
_ASKS = frozenset({"hasattr", "getattr"})
_ENDS = (ast.Return, ast.Continue, ast.Break)
Deciding = (
    ast.With | ast.AsyncWith | ast.If | ast.IfExp | ast.Assert | ast.While | ast.Match | ast.BoolOp
)


def catches(node: ast.Try, *, at_import: bool = False) -> bool:
    """Whether a `try` reckons that something is not there; an import that ends so has failed."""
    handlers = [
        one for one in node.handlers if one.type is None or not _ERRORS.isdisjoint(_words(one.type))
    ]
    return any(not (at_import and isinstance(one.body[-1], ast.Raise)) for one in handlers)


class Guards:
    """The tests of a file that decide on what some import packages have."""

    def __init__(self, nodes: Sequence[ast.AST], roots: frozenset[str]) -> None:
        self._flags: set[str] = set()
        imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom))]
        ours = [one for one in imports if not roots.isdisjoint(_tops(one))]
        self._imported = {name for one in ours for name in _stored(one)}
        for node in nodes:
            is_try = isinstance(node, ast.Try) and catches(node)
            if is_try and not {*ours}.isdisjoint(ast.iter_child_nodes(node)):
                self._flags |= _stored(node)
        for node in nodes:
            if isinstance(node, ast.Assign) and self.tests(node.value):
                self._flags |= _stored(node)

    def decides(self, node: Deciding) -> bool:
        """Whether what stands in it runs, or ends well, only where something is there."""
        if isinstance(node, (ast.With, ast.AsyncWith)):
            words = {word for item in node.items for word in _words(item.context_expr)}
            return "suppress" in words and not _ERRORS.isdisjoint(words)
        if isinstance(node, ast.BoolOp):
            return any(map(self.tests, node.values))
        return self.tests(node.subject if isinstance(node, ast.Match) else node.test)

    def tests(self, test: ast.expr) -> bool:
        """Whether a test may ask which release is there, or whether something is."""
        words = _words(test)
        if _ASKS & words and self._imported & words:
            return True
        return any(word in self._flags or _WORD.fullmatch(word) for word in words)

    def leaves(self, node: ast.stmt, *, at_import: bool) -> bool:
        """Whether what comes behind a statement runs only if a test says so, and else is missed."""
        if not isinstance(node, ast.If) or not self.tests(node.test):
            return False
        ends = _ENDS if at_import else (*_ENDS, ast.Raise)
        return any(isinstance(body[-1], ends) for body in (node.body, node.orelse) if body)


def _tops(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module]
    return {(name or "").partition(".")[0] for name in names}


def _words(node: ast.AST) -> set[str]:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in walk(node))
    return {name for name in names if isinstance(name, str)}


def _stored(node: ast.AST) -> set[str]:
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
    return found
