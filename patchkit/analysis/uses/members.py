"""Lists what the body of a class defines, each of which may override something of a base."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    Signature,
    dotted,
    signature_of,
)

_TRANSPARENT_DECORATORS = frozenset({"override", "abstractmethod"})
"""Decorators that do not change how a method is called."""


class DefinedName(NamedTuple):
    """A name that the body of a class defines.

    Args:
        name: The name.
        node: The statement that defines it.
        signature: How it is called; None if it is no method, or a decorator may change that.
    """

    name: str
    node: ast.stmt
    signature: Signature | None = None


def members_of(node: ast.ClassDef) -> Iterator[DefinedName]:
    """Yield the methods and the attributes that the body of a class defines.

    Names that begin with two underscores are left out: every class may define special methods, and
    the others are the class's own. So are names that are defined under a condition.

    Args:
        node: The class.
    """
    for statement in node.body:
        for member in _defined_by(statement):
            if not member.name.startswith("__"):
                yield member


def _defined_by(statement: ast.stmt) -> Iterator[DefinedName]:
    """Yield what one statement of the body of a class defines."""
    if isinstance(statement, DEFS):
        yield DefinedName(statement.name, statement, plain_signature(statement))
        return
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield DefinedName(target.id, statement)


def plain_signature(function: Def) -> Signature | None:
    """Return the signature of a function.

    Args:
        function: The function.

    Returns:
        None if a decorator may change how it is called.
    """
    for decorator in function.decorator_list:
        name = dotted(decorator).rpartition(".")[2]
        if name not in _TRANSPARENT_DECORATORS:
            return None
    return signature_of(function.args)
