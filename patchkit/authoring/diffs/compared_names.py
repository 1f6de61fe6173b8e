"""Compares the definitions of two versions of a module by their names and their syntax."""

import ast
from collections.abc import Collection

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import dotted

_DATACLASS_DECORATORS = ("dataclass", "config")


def outermost(
    names: Collection[str], baseline: Collection[str], remade: Collection[str] = ()
) -> list[str]:
    """List the names that a baseline lacks, without the members of a class that it lacks.

    Args:
        names: qualified names.
        baseline: the qualified names that are there.
        remade: the names of definitions that become whole other ones; their members do not count,
            either.

    Returns:
        The names, in their order.
    """
    missing = [name for name in names if name not in baseline]
    outermost_names: list[str] = []
    for name in missing:
        owner, _, _ = name.rpartition(".")
        if owner not in missing and owner not in remade:
            outermost_names.append(name)
    return outermost_names


def definition_hash(node: ast.stmt) -> str:
    """Hash a definition, to tell whether it has changed.

    Of a class, only bases, keywords and decorators count: its members are compared one by one.

    Args:
        node: the definition.

    Returns:
        The hash; comments and layout make no difference.
    """
    if not isinstance(node, ast.ClassDef):
        return of_nodes([node])
    without_members = ast.ClassDef(
        name=node.name,
        bases=node.bases,
        keywords=node.keywords,
        body=[],
        decorator_list=node.decorator_list,
    )
    return of_nodes([without_members])


def made_alike(old: ast.stmt, new: ast.stmt) -> bool:
    """Whether two versions of a definition are of one kind, with the same decorators.

    Args:
        old: the old version.
        new: the new version.
    """
    if type(old) is not type(new):
        return False
    old_decorators = getattr(old, "decorator_list", [])
    new_decorators = getattr(new, "decorator_list", [])
    return of_nodes(old_decorators) == of_nodes(new_decorators)


def is_dataclass(node: ast.stmt) -> bool:
    """Return whether a class has a decorator that makes dataclasses; vLLM's own is `config`.

    Args:
        node: the class.
    """
    for decorator in getattr(node, "decorator_list", ()):
        function = getattr(decorator, "func", decorator)
        _, _, name = dotted(function).rpartition(".")
        if name in _DATACLASS_DECORATORS:
            return True
    return False
