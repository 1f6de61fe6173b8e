"""Reads what a function does, as far as that concerns the attributes of its argument."""

import ast
from collections.abc import Container, Iterable
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.certain_changes import done_in_any_case
from patchkit.analysis.upstream.resolving.signature_settings import signatures_set
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    argument_values,
    dotted,
    walk,
)

SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})
"""Functions that set or delete an attribute whose name they are passed."""
_SUPER = "super"
"""Stands for `super()`, whose methods have the class itself as their first argument."""


class FunctionCode(NamedTuple):
    """What a function does, as far as that concerns the attributes of its argument.

    Args:
        stored: The attributes that it assigns to or deletes, of any object, and what
            `signatures_set` returns.
        setters: Its calls of `setattr` and the like.
        called: Its other calls: `("cls.helper", "run")` for `cls.helper.run()`.
        passing: Those of its other calls that pass on one of the parameters below.
        parameters: The first parameter of the function, and of each inner function that it
            returns.
        supers: What holds a `super()`, whose methods are passed the first parameter.
        deleted: Those of the stored attributes that it deletes.
        certain: Those of the stored attributes that it sets on its first parameter in any case.
        certain_calls: Its calls that it makes in any case, and passes this parameter first.
    """

    stored: set[str]
    setters: list[ast.Call]
    called: set[tuple[str, str]]
    passing: set[tuple[str, str]]
    parameters: set[str]
    supers: set[str]
    deleted: set[str]
    certain: set[str]
    certain_calls: set[tuple[str, str]]

    @classmethod
    def read(cls, function: ast.AST) -> "FunctionCode":
        """Collect these facts from a function, inner functions included.

        Args:
            function: The function.

        Returns:
            The facts.
        """
        stored: set[str] = set()
        stores: list[ast.Attribute] = []
        deleted: set[str] = set()
        setters: list[ast.Call] = []
        called: set[tuple[str, str]] = set()
        passed: dict[tuple[str, str], set[str]] = {}
        returned: set[str] = set()
        functions: list[Def] = []
        for node in walk(function):
            if isinstance(node, ast.Attribute):
                if isinstance(node.ctx, (ast.Store, ast.Del)):
                    stored.add(node.attr)
                    stores.append(node)
                if isinstance(node.ctx, ast.Del):
                    deleted.add(node.attr)
            elif isinstance(node, ast.Return):
                returned.add(dotted(node.value))
            elif isinstance(node, DEFS):
                functions.append(node)
            elif isinstance(node, ast.Call) and not _reads_docstring(node):
                owner, _, name = name_called(node).rpartition(".")
                if name in SETTERS:
                    setters.append(node)
                else:
                    called.add((owner, name))
                    arguments = {dotted(value) for value in argument_values(node)}
                    passed.setdefault((owner, name), set()).update(arguments)
        parameters = _first_parameters(function, functions, returned)
        # What inner functions do is read with the outer one, so calls of them are left out.
        inner_names = {inner.name for inner in functions if inner is not function}
        others = parameters | inner_names
        stored |= signatures_set([*stores, *setters], others)
        passing = {
            call
            for call, arguments in passed.items()
            if arguments & parameters and call[-1] not in inner_names
        }
        certain, certain_calls = done_in_any_case(function)
        return cls(
            stored,
            setters,
            called,
            passing,
            parameters,
            _supers(function),
            deleted,
            certain,
            certain_calls,
        )


def _first_parameters(
    function: ast.AST, functions: Iterable[Def], returned: Container[str]
) -> set[str]:
    """Return the first parameter of a function, and of those in it that it returns.

    A function that is returned is called in the place of the outer one, with the same argument.
    """
    return {
        inner.args.args[0].arg
        for inner in functions
        if inner.args.args and (inner is function or inner.name in returned)
    }


def name_called(call: ast.Call) -> str:
    """Return the dotted name that a call begins with: `f` for `f(x)` and for `f(…)(x)`.

    It is `super.f` for `super().f(x)`.

    Args:
        call: The call.
    """
    function = call.func
    while isinstance(function, ast.Call):
        function = function.func
    if isinstance(function, ast.Attribute) and _is_super(function.value):
        return f"{_SUPER}.{function.attr}"
    return dotted(function)


def _supers(function: ast.AST) -> set[str]:
    """Return what stands for a `super()`: the call itself, and variables that hold one."""
    names = {_SUPER}
    for node in walk(function):
        if isinstance(node, ast.Assign) and _is_super(node.value):
            names.update(map(dotted, node.targets))
    return names


def _is_super(node: ast.AST) -> bool:
    """Whether an expression is `super()` or `super(C, cls)`."""
    return isinstance(node, ast.Call) and dotted(node.func) == "super"


def _reads_docstring(call: ast.Call) -> bool:
    """Whether a call is `f(x.__doc__)`: with a docstring alone, `f` cannot set anything on x."""
    attributes = [getattr(argument, "attr", "") for argument in argument_values(call)]
    return isinstance(call.func, ast.Name) and attributes == ["__doc__"]
