"""Lists the statements of a pile that change upstream, by rules of its own.

`adopt_piles.py` compares them with what `patchkit adopt` has in rows and in its list. Nothing of
patchkit is imported here: what its reader overlooks shall be seen.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_CHANGING = frozenset(
    {
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
        *("update", "setdefault", "popitem", "add", "discard", "register"),
        *("register_module", "register_model"),
    }
)
"""Methods that change what they are called on."""
_SETTERS = frozenset({"setattr", "delattr"})


class SiteScan(ast.NodeVisitor):
    """Finds the lines of a module that set, delete or change something of upstream.

    A name stands for upstream where an import, in any scope, or an assignment of a dotted name
    says so; a name that another scope uses for something else may count, too.

    Args:
        packages: The packages that are upstream.
    """

    def __init__(self, packages: Collection[str]) -> None:
        self.lines: set[int] = set()
        """The first lines of the statements."""
        self._packages = packages
        self._scopes: list[dict[str, bool]] = [{}]
        self._statement = 0

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and keep the line of the statement that it is in."""
        if isinstance(node, ast.stmt):
            self._statement = node.lineno
        super().visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Bind the names of an import."""
        for alias in node.names:
            is_upstream = alias.name.partition(".")[0] in self._packages
            name = alias.asname or alias.name.partition(".")[0]
            self._scopes[-1][name] = is_upstream

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind the names of an import."""
        top = (node.module or "").partition(".")[0]
        is_upstream = not node.level and top in self._packages
        for alias in node.names:
            self._scopes[-1][alias.asname or alias.name] = is_upstream

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit a function in a scope of its own, in which its parameters are unknown."""
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names = {each.arg: False for each in parameters}
        for each in (arguments.vararg, arguments.kwarg):
            if each is not None:
                names[each.arg] = False
        self._scopes[-1][node.name] = False
        self._scopes.append(names)
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Visit a function as any other."""
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit a class in a scope of its own."""
        self._scopes[-1][node.name] = False
        self._scopes.append({})
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        """Count what is set, and bind names that stand for a dotted name of upstream."""
        for target in node.targets:
            self._count_stores(target)
            if isinstance(target, ast.Name):
                self._scopes[-1][target.id] = self._is_alias(node.value)
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Count `lib.C.size += 1`."""
        self._count_stores(node.target)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Count `lib.size: int = 1`."""
        self._count_stores(node.target)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Count `del lib.f`."""
        for target in node.targets:
            self._count_stores(target)

    def visit_For(self, node: ast.For) -> None:
        """Bind the name of a loop over things of upstream that are spelled out."""
        elements = getattr(node.iter, "elts", [])
        if isinstance(node.target, ast.Name):
            self._scopes[-1][node.target.id] = any(map(self._is_alias, elements))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Count `setattr(lib, "f", f)`, `lib.TABLE.update(…)` and the like."""
        function = node.func
        is_setter = isinstance(function, ast.Name) and function.id in _SETTERS
        if is_setter and node.args and self._is_upstream(node.args[0]):
            self._note()
        if isinstance(function, ast.Attribute):
            is_changing = function.attr in _CHANGING or "register" in function.attr
            is_container = isinstance(function.value, (ast.Attribute, ast.Name))
            if is_changing and is_container and self._is_upstream(function.value):
                self._note()
        self.generic_visit(node)

    def _note(self) -> None:
        self.lines.add(self._statement)

    def _count_stores(self, target: ast.expr) -> None:
        for part in ast.walk(target):
            if not isinstance(part, (ast.Attribute, ast.Subscript)):
                continue
            is_set = not isinstance(part.ctx, ast.Load)
            if is_set and self._is_upstream(part.value):
                self._note()

    def _is_alias(self, value: ast.expr) -> bool:
        """Return whether a value is a dotted name of upstream, or a `getattr` of one."""
        if not isinstance(value, ast.Call) or not value.args:
            return self._is_upstream(value)
        function = ast.unparse(value.func)
        first = value.args[0]
        if function == "getattr":
            return self._is_upstream(first)
        if function.endswith("import_module") and isinstance(first, ast.Constant):
            return str(first.value).partition(".")[0] in self._packages
        return False

    def _is_upstream(self, node: ast.expr) -> bool:
        """Return whether an expression begins with a name that stands for upstream."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        if not isinstance(node, ast.Name):
            return False
        for scope in reversed(self._scopes):
            if node.id in scope:
                return scope[node.id]
        return False


def sites(source: bytes, packages: Collection[str]) -> Iterator[int]:
    """Yield the lines of the statements of a module that change upstream.

    Args:
        source: The text of the module.
        packages: The packages that are upstream.
    """
    scan = SiteScan(packages)
    scan.visit(ast.parse(source))
    yield from sorted(scan.lines)
