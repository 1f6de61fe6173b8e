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
        text = tree.source.decode("utf-8", "replace")
        if self._module.search(text):
            self._passed += self._modules_passed(tree.tree)

    def names(self) -> set[str]:
        """Return the modules, each with a colon behind it, as an `Assignment` has them."""
        names = set()
        for passed in self._passed:
            plain = passed.function.rpartition(".")[2]
            for function in (passed.function, plain):
                if (function, passed.parameter) in self._functions:
                    names.add(f"{passed.module}:")
        return names

    def _modules_passed(self, tree: ast.Module) -> Iterator[_Passed]:
        """Yield the modules of upstream that calls of a file are passed as texts."""
        texts = assigned_texts(tree.body)
        for call in walk(tree):
            if not isinstance(call, ast.Call):
                continue
            function = dotted(call.func)
            for parameter, value in _arguments(call):
                module = text_of(value) or texts.get(dotted(value), "")
                if self._module.fullmatch(module):
                    yield _Passed(function, parameter, module)


def _arguments(call: ast.Call) -> Iterator[tuple[int | str, ast.expr]]:
    """Yield the arguments of a call, each with its number or its name."""
    yield from enumerate(call.args)
    for keyword in call.keywords:
        yield keyword.arg or "", keyword.value


def _putting(function: Def) -> Iterator[tuple[str, int | str]]:
    """Yield the name of a function with each parameter that it uses as a key of `sys.modules`."""
    arguments = function.args
    positional = (*arguments.posonlyargs, *arguments.args)
    parameters = [argument.arg for argument in positional]
    if parameters[:1] in (["self"], ["cls"]):
        del parameters[0]
    for node in walk(function):
        key = dotted(_key_put(node))
        if key in parameters:
            yield function.name, parameters.index(key)
            yield function.name, key


def _key_put(node: ast.AST) -> ast.expr | None:
    """Return the key under which an expression puts a module; None for any other expression."""
    is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
    if isinstance(node, ast.Subscript) and is_stored:
        return node.slice if dotted(node.value) == "sys.modules" else None
    if isinstance(node, ast.Call) and dotted(node.func) == _SETDEFAULT and node.args:
        return node.args[0]
    return None
