"""Tells what kind of thing a function returns, and which classes it passes to `super`."""

import ast
import re
from collections.abc import Iterator

from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    child_nodes,
    dotted,
    walk,
)

_OTHER_SCOPES = (*SCOPES, ast.Lambda)
"""What is inside a function, and runs when something else is called."""
PLAIN_RESULT = "its result"
"""What a function returns that is neither a coroutine function nor a generator."""
_TRANSPARENT = frozenset(
    {
        "abstractmethod",
        "cache",
        "cached_property",
        "classmethod",
        "final",
        "lru_cache",
        "override",
        "property",
        "staticmethod",
    }
)
"""Decorators that leave what a call returns as it is."""

_LAZY_RESULT = re.compile(
    r"\b(Async)?(Awaitable|Coroutine|Future|Task|Iterator|Iterable|Generator)\b"
    r"|\b(Any|object)\b"
)
"""Found in an annotation of results if the result may be a coroutine or a generator."""


def returned_by(node: ast.AST) -> str:
    """Say what kind of thing a call returns: "a coroutine", "a generator", "its result".

    The words are those that a patched process uses when it compares a body with its target.

    Args:
        node: The definition.

    Returns:
        The words; "" if it is no function, or if its definition alone does not tell.
    """
    if not isinstance(node, DEFS):
        return ""
    decorators = set()
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        decorators.add(dotted(function).rpartition(".")[2])
    if not decorators <= _TRANSPARENT:
        return ""
    is_generator = any(
        isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own_parts(node)
    )
    if isinstance(node, ast.AsyncFunctionDef):
        return "an asynchronous generator" if is_generator else "a coroutine"
    if is_generator:
        return "a generator"
    if "abstractmethod" in decorators or _is_stub(node):
        return ""  # its overrides may return something else
    # A plain `def` that is annotated with `Awaitable` or the like may return a coroutine.
    if node.returns and _LAZY_RESULT.search(ast.unparse(node.returns)):
        return ""
    return PLAIN_RESULT


def _is_stub(node: Def) -> bool:
    """Whether a function mentions `NotImplementedError`, so that others override it."""
    return any(
        isinstance(part, ast.Name) and part.id == "NotImplementedError"
        for part in walk(node)
    )


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes inside a function; functions and classes in it are left out.

    Args:
        node: The function.

    Yields:
        The nodes, in no order that matters.
    """
    return _parts_outside(node, _OTHER_SCOPES)


def classes_of_super(node: ast.AST) -> set[str]:
    """Name the classes that a function passes to `super`.

    Args:
        node: The function; classes inside it are left out.

    Returns:
        Their dotted names: {"Base"} for `super(Base, self)`; "" stands for a bare `super()`.
    """
    names = set()
    for part in _parts_outside(node, (ast.ClassDef,)):
        if isinstance(part, ast.Call) and dotted(part.func) == "super":
            name = ""
            if part.args:
                name = dotted(part.args[0])
            names.add(name)
    return names


def _parts_outside(
    node: ast.AST, scopes: tuple[type[ast.AST], ...]
) -> Iterator[ast.AST]:
    """Yield the nodes inside a function, in no order that matters.

    Args:
        node: The function.
        scopes: Kinds of nodes that are left out, with all that is in them.
    """
    pending = [node]
    while pending:
        for child in child_nodes(pending.pop()):
            if not isinstance(child, scopes):
                yield child
                pending.append(child)


def naming_itself(node: ast.AST) -> tuple[str, ...]:
    """Return the names of the methods in a class `Name` that call `super(Name, self)`.

    If a subclass takes the place of the class, `Name` in them is the subclass, and such a call
    finds the same method again: endless recursion, which `check` reports.

    Args:
        node: The definition of the class; for anything else the result is empty.
    """
    if not isinstance(node, ast.ClassDef):
        return ()
    return tuple(
        method.name
        for method in node.body
        if isinstance(method, DEFS) and node.name in classes_of_super(method)
    )


def method_of(node: ast.AST, name: str) -> Def | None:
    """Return a method in the body of a class; None if it has none of that name.

    Args:
        node: The definition of the class.
        name: The name.
    """
    for method in getattr(node, "body", ()):
        if isinstance(method, DEFS) and method.name == name:
            return method
    return None


def mentions(node: ast.AST, name: str) -> bool:
    """Whether a function has `.name` in it, on whatever object: it may call that method.

    Args:
        node: The function.
        name: The name of the attribute.
    """
    return any(
        isinstance(part, ast.Attribute) and part.attr == name for part in walk(node)
    )
