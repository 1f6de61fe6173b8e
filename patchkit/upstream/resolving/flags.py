"""Names that stand for conditions: `NEW = sys.version_info >= (3, 14)`, `MYPY = False`."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

from patchkit.upstream.resolving.bindings import bound_names
from patchkit.upstream.resolving.conditions import Platform, UndecidedError, decide, evaluate

if TYPE_CHECKING:
    from patchkit.upstream.resolving.module_tree import Modules, ModuleTree

_DEPTH = 5

Flag = ast.expr | tuple[str, str]
"""What a name is bound to: an expression, or a name of a module ('' for the module itself)."""


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
        return decide(test, self._platform, lambda name: self._known(name, tree, 0))

    def _known(self, name: str, tree: ModuleTree, depth: int) -> Any:
        head, _, rest = name.partition(".")
        flag = _flags(tree).get(head)
        if flag is None or depth > _DEPTH:
            raise UndecidedError(name)
        if isinstance(flag, ast.expr):
            if rest:
                raise UndecidedError(name)
            return evaluate(flag, self._platform, lambda one: self._known(one, tree, depth + 1))
        return self._imported(*flag, rest, depth)

    def _imported(self, module: str, name: str, rest: str, depth: int) -> Any:
        dotted = ".".join(filter(None, (module, name, rest)))
        facts = self._platform.facts()
        if dotted in facts:
            return facts[dotted]
        other = self._modules.get(module) if name and not rest else None
        if other is None:
            raise UndecidedError(dotted)
        return self._known(name, other, depth + 1)


def _flags(tree: ModuleTree) -> dict[str, Flag]:
    found: dict[str, Flag] = tree.noted("flags", lambda: _found(tree))
    return found


def _found(tree: ModuleTree) -> dict[str, Flag]:
    """List what a module binds once, outside of branches."""
    counts = Counter(bound_names(tree.body))
    found: dict[str, Flag] = {}
    for one in tree.body:
        if isinstance(one, ast.Import):
            found.update({each.asname: (each.name, "") for each in one.names if each.asname})
        elif isinstance(one, ast.ImportFrom) and (module := tree.absolute(one.module, one.level)):
            found.update({each.asname or each.name: (module, each.name) for each in one.names})
        elif isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            if isinstance(target, ast.Name):
                found[target.id] = one.value
    again = tree.rebound_in_functions()
    return {name: flag for name, flag in found.items() if counts[name] == 1 and name not in again}
