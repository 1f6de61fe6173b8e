"""What names stand for in the scopes of a file, as far as imports alone decide it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchkit.rows.target import Target
from patchkit.upstream.resolving.bindings import has_walrus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from patchkit.upstream.resolving.module_tree import ModuleTree

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_INNER = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)
_LEAVES = (ast.Name, ast.Constant, ast.Import, ast.ImportFrom)
_LOAD = ast.Load()
_Bound = tuple[str, Target | None]


def imported(node: ast.stmt, tree: ModuleTree) -> Iterator[tuple[str, Target, Target]]:
    """Give each name that an import binds, what it stands for, and what is imported."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            whole = Target(alias.name)
            top = alias.name.partition(".")[0]
            yield (alias.asname, whole, whole) if alias.asname else (top, Target(top), whole)
    elif isinstance(node, ast.ImportFrom) and (module := tree.absolute(node.module, node.level)):
        for alias in node.names:
            whole = Target(module, "" if alias.name == "*" else alias.name)
            yield alias.asname or alias.name, whole, whole


class LexicalScope:
    """The names of a scope; what anything but one import may bind stands for nothing known."""

    def __init__(
        self,
        node: ast.AST,
        tree: ModuleTree,
        outer: LexicalScope | None = None,
        shared: Collection[str] = (),  # what functions bind in scopes around them
    ) -> None:
        self._outer = outer
        self._is_class = isinstance(node, ast.ClassDef)
        self._names: dict[str, set[Target | None]] = {}
        for name, place in _bound(_parts(node), tree):
            self._names.setdefault(name, set()).add(place)
        self._shared: Collection[str] = outer._shared if outer else shared  # noqa: SLF001 - of this class

    def find(self, name: str, *, inner: bool = False) -> Target | None:
        """Tell what a name stands for; None where that is not told, or not upstream's."""
        if name in self._shared:
            return None
        if name in self._names and not (inner and self._is_class):
            found = self._names[name]
            return next(iter(found)) if len(found) == 1 else None
        return self._outer.find(name, inner=True) if self._outer else None


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    if isinstance(node, COMPREHENSIONS):
        return [one.target for one in node.generators]
    if isinstance(node, FUNCTIONS):
        return [node.args, *(node.body if isinstance(node.body, list) else ())]
    return node.body if isinstance(node, (ast.Module, ast.ClassDef)) else ()


def _bound(nodes: Iterable[ast.AST], tree: ModuleTree) -> Iterator[_Bound]:
    waiting = list(nodes)
    is_deep = has_walrus(tree)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((name, place) for name, place, _ in imported(node, tree))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, None
        elif isinstance(node, ast.arg):
            yield node.arg, None
        elif isinstance(name := getattr(node, "name", getattr(node, "rest", None)), str):
            yield name, None  # a definition, a handler, a pattern
        if isinstance(node, COMPREHENSIONS) and is_deep:
            waiting += (one.target for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
        elif not isinstance(node, (*_LEAVES, *_INNER)):
            parts = ast.iter_child_nodes(node)
            waiting += (one for one in parts if is_deep or not _is_read(one))


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", _LOAD), ast.Load)
