"""Tells what calls of a function return, and which classes its `super` is given."""

import ast
import re
from collections.abc import Iterator

from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted

_TRANSPARENT = frozenset(
    {"abstractmethod", "classmethod", "final", "override", "property", "staticmethod"}
)
"""Decorators that leave what a call returns as it is."""

_LAZY_RESULT = re.compile(
    r"\b(Async)?(Awaitable|Coroutine|Future|Task|Iterator|Iterable|Generator)\b"
    r"|\b(Any|object)\b"
)
"""Found in the annotation of what may be a coroutine or a generator."""


def returned_by(node: ast.AST) -> str:
    """Say what kind of thing a call returns, in the words that a patched process has for it.

    Args:
        node: The definition.

    Returns:
        "" for no function, and where that cannot be told from the definition alone.
    """
    if not isinstance(node, DEFS):
        return ""
    decorators = {
        dotted(decorator).rpartition(".")[2] for decorator in node.decorator_list
    }
    if not decorators <= _TRANSPARENT:
        return ""
    is_generator = any(
        isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own_parts(node)
    )
    if isinstance(node, ast.AsyncFunctionDef):
        return "an asynchronous generator" if is_generator else "a coroutine"
    if is_generator:
        return "a generator"
    # A plain function may make any of them: one that is to be overridden, or that says so.
    is_stub = "abstractmethod" in decorators or any(
        isinstance(part, ast.Name) and part.id == "NotImplementedError"
        for part in ast.walk(node)
    )
    if is_stub or (node.returns and _LAZY_RESULT.search(ast.unparse(node.returns))):
        return ""
    return "its result"


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is inside a function, but not inside functions and classes in it.

    Args:
        node: The function.
    """
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*SCOPES, ast.Lambda)):
            yield child
            yield from own_parts(child)


def classes_of_super(node: ast.AST) -> set[str]:
    """Name the classes that are given to `super`, but not inside classes in the function.

    Args:
        node: A function.

    Returns:
        Their dotted names; "" among them for `super()`.
    """
    names = set()
    for part in _parts_outside_classes(node):
        if isinstance(part, ast.Call) and dotted(part.func) == "super":
            name = ""
            if part.args:
                name = dotted(part.args[0])
            names.add(name)
    return names


def _parts_outside_classes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.ClassDef):
            yield child
            yield from _parts_outside_classes(child)


def naming_itself(node: ast.AST) -> tuple[str, ...]:
    """Return the methods of a class that say `super(Name, self)` with its own name.

    Args:
        node: The definition of the class; anything else has none.
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
    """Whether a function reads an attribute of a name, as to call a method of it.

    Args:
        node: The function.
        name: The name.
    """
    return any(
        isinstance(part, ast.Attribute) and part.attr == name for part in ast.walk(node)
    )
