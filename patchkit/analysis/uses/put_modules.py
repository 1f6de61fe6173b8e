"""Tells which modules of upstream a package puts into `sys.modules` by a function of its own.

Such as `alias("up.a", mine)`, where another file has
`def alias(name, module): sys.modules.setdefault(name, module)`.
"""

import ast
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, dotted, walk
from patchkit.analysis.uses.statements import assigned_texts, text_of

_SETDEFAULT = "sys.modules.setdefault"


class _Passed(NamedTuple):
    """A module that is named in a call.

    Args:
        function: The dotted name of what is called.
        parameter: The number of the argument, from 0, or the name of a keyword.
        module: The module.
    """

    function: str
    parameter: int | str
    module: str


class PutModules:
    """Collects functions that put modules into `sys.modules`, and calls that name a module.

    Args:
        roots: The import packages of upstream.
    """

    def __init__(self, roots: Collection[str]) -> None:
        names = "|".join(map(re.escape, roots))
        self._module = re.compile(rf"({names})(\.\w+)+")
        self._functions: set[tuple[str, int | str]] = {(_SETDEFAULT, 0)}
        self._passed: list[_Passed] = []

    def read(self, tree: ModuleTree) -> None:
        """Collect from a file of the package, in which a function and its calls may lie apart.

        Args:
            tree: The file.
        """
        if b"sys.modules" in tree.source:
            for node in walk(tree.tree):
                if isinstance(node, DEFS):
                    self._functions.update(_putting(node))
        if self._module.search(tree.source.decode("utf-8", "replace")):
            self._passed += self._modules_passed(tree.tree)

    def names(self) -> set[str]:
        """Return the modules, each with a colon behind it, as an `Assignment` has them."""
        return {
            f"{passed.module}:"
            for passed in self._passed
            if (passed.function, passed.parameter) in self._functions
            or (passed.function.rpartition(".")[2], passed.parameter) in self._functions
        }

    def _modules_passed(self, tree: ast.Module) -> Iterator[_Passed]:
        """Yield the modules of upstream that calls of a file are passed as texts."""
        texts = assigned_texts(tree.body)
        for call in walk(tree):
            if not isinstance(call, ast.Call):
                continue
            arguments: list[tuple[int | str, ast.expr]] = [*enumerate(call.args)]
            arguments += [(one.arg or "", one.value) for one in call.keywords]
            for parameter, value in arguments:
                module = text_of(value) or texts.get(dotted(value), "")
                if self._module.fullmatch(module):
                    yield _Passed(dotted(call.func), parameter, module)


def _putting(function: Def) -> Iterator[tuple[str, int | str]]:
    """Yield the name of a function with each parameter that it uses as a key of `sys.modules`."""
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if parameters[:1] in (["self"], ["cls"]):
        del parameters[0]
    for node in walk(function):
        key = dotted(_key_put(node))
        if key in parameters:
            yield function.name, parameters.index(key)
            yield function.name, key


def _key_put(node: ast.AST) -> ast.expr | None:
    """Return the key under which an expression puts a module; None for any other expression."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.slice if dotted(node.value) == "sys.modules" else None
    if isinstance(node, ast.Call) and dotted(node.func) == _SETDEFAULT:
        return node.args[0] if node.args else None
    return None
