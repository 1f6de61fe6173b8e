"""Names that stand for conditions: `NEW = sys.version_info >= (3, 14)`, `MYPY = False`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from patchkit.upstream.resolving.binders import Binders
from patchkit.upstream.resolving.conditions import Platform, UndecidedError, decide, evaluate

if TYPE_CHECKING:
    from patchkit.upstream.resolving.module_tree import Modules, ModuleTree

_DEPTH = 5


class Flags:
    """
    Tells whether conditions hold, through names that modules of a release bind once.

    Args:
        modules: the release's.
        platform: the Python that it is judged for.

    """

    def __init__(self, modules: Modules, platform: Platform) -> None:
        self._modules = modules
        self._platform = platform

    def decide(self, test: ast.expr, tree: ModuleTree) -> bool | None:
        """Tell whether a condition in a module holds; None where that cannot be told."""
        return decide(test, self._platform, lambda name: self._known(name, tree, _DEPTH))

    def _known(self, name: str, tree: ModuleTree, depth: int) -> Any:
        head, _, rest = name.partition(".")
        statement = Binders.of_scope(tree, tree.tree).only(head)
        if statement is None or not depth or head in tree.rebound_in_functions():
            raise UndecidedError(name)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return self._imported(statement, head, rest, tree, depth - 1)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value and not rest:
            assigned = (
                statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            )
            if isinstance(assigned, ast.Name):
                return evaluate(
                    statement.value, self._platform, lambda one: self._known(one, tree, depth - 1)
                )
        raise UndecidedError(name)

    def _imported(
        self, node: ast.Import | ast.ImportFrom, head: str, rest: str, tree: ModuleTree, depth: int
    ) -> Any:
        names = {alias.asname or alias.name: alias.name for alias in node.names}
        module = ""
        if isinstance(node, ast.ImportFrom):
            module = tree.absolute(node.module, node.level) or ""
        dotted = ".".join(filter(None, (module, names.get(head, ""), rest)))
        facts = self._platform.facts()
        if dotted in facts:
            return facts[dotted]
        other = self._modules.get(module) if module and not rest else None
        if other is None:
            raise UndecidedError(dotted)
        return self._known(names[head], other, depth)
