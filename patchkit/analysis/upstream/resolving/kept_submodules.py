"""Finds submodules of a package that puts another object in its place in `sys.modules`."""

import ast
import re
from collections.abc import Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, walk
from patchkit.analysis.upstream.resolving.values import Lookup, Values

_WORD = re.compile(r"[\w.]+")


def kept_submodule(
    lookup: Lookup, tree: ModuleTree, makers: Sequence[ModuleTree], name: str
) -> Values:
    """Return the submodule that a name stands for, whatever takes the place of its package.

    Python imports it when the object that took the place has no attribute of the name.

    Args:
        lookup: The release.
        tree: The package.
        makers: The modules whose code makes the object.
        name: The name.

    Returns:
        () if there is no such submodule, if the object may have the name itself, or if it is not
        told where it has its submodules.
    """
    if not tree.is_package or not makers or name.startswith("_"):
        return ()
    names = [_names_of(maker) for maker in makers]
    if not any("__path__" in found for found in names):
        return ()
    if any(name in found for found in names):
        return ()
    submodule = lookup.module(f"{tree.name}.{name}")
    if submodule.state != "present":
        return ()
    return (submodule,)


def _names_of(maker: ModuleTree) -> frozenset[str]:
    """Return all names in the code of a module, which is walked once."""
    return maker.remember_with_file("names in code", lambda: _names_in(maker.tree))


def _names_in(tree: ast.Module) -> frozenset[str]:
    """List all names in the code of a module, those in texts and of keywords included."""
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, (ast.keyword, ast.arg)):
            names.add(node.arg or "")
        elif isinstance(node, SCOPES):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.update({node.name, node.asname or ""})
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(_WORD.findall(node.value))
    return frozenset(names)
