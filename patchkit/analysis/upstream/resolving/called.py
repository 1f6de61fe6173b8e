"""Finds the functions that code calls, through imports, without evaluating anything else."""

import builtins
import sys
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def
from patchkit.analysis.upstream.resolving.values import Lookup

_IMPORTS = 8
"""How many imports are followed: a module that imports from a module, and so on."""
_SETS_ON_CLASSES = frozenset(
    {"attrgetter", "dataclass", "total_ordering", "update_wrapper"}
)
"""Functions of the standard library that may set attributes on what they are passed."""


class CalledFunction(NamedTuple):
    """A function that is called.

    Args:
        node: Its definition.
        tree: The module that defines it.
    """

    node: Def
    tree: ModuleTree


def function_named(lookup: Lookup, tree: ModuleTree, name: str) -> Def | None:
    """Find the `def` that a name of a module is bound to last.

    Args:
        lookup: The release.
        tree: The module.
        name: The name.

    Returns:
        None if the name is not bound, or the last of the statements that may bind it is no `def`.
    """
    cases = lookup.binding_cases(tree, name)
    nodes = [case.binding.node for case in cases if case.binding]
    if nodes and isinstance(nodes[-1], DEFS):
        return nodes[-1]
    return None


def function_called(
    lookup: Lookup, tree: ModuleTree, owner: str, name: str
) -> CalledFunction | None:
    """Find the function of the release that is called as `name()` or `owner.name()`.

    Args:
        lookup: The release.
        tree: The module of the call.
        owner: What stands before the last dot, which has to be a module; '' for a plain name.
        name: The name that is called.

    Returns:
        None if the name stands for anything else, or for one of several functions.
    """
    module = tree.name
    if owner:
        module = _module_of(lookup, tree, owner)
    for _ in range(_IMPORTS):
        found = lookup.modules.get(module)
        if found is None or found.fault:
            return None
        cases = [case for case in lookup.binding_cases(found, name) if case.binding]
        if not cases:
            return None
        binding = cases[-1].binding
        assert binding is not None  # the others were left out
        if isinstance(binding.node, DEFS):
            return CalledFunction(binding.node, found)
        if not binding.imported:
            return None  # it is no function, nor imported by its name
        # Look for it where it is imported from.
        module = binding.module
        name = binding.imported
    return None


def may_set_attributes(lookup: Lookup, tree: ModuleTree, owner: str, name: str) -> bool:
    """Whether a call of what is no function of the release may set attributes on an argument.

    Args:
        lookup: The release.
        tree: The module of the call.
        owner: What stands before the last dot; '' for a plain name.
        name: The name that is called.

    Returns:
        False for builtins and for what is imported from the standard library, but for a few.
    """
    # What the module itself binds: `a` for `a.b.f()`.
    first = (owner or name).partition(".")[0]
    cases = [case for case in lookup.binding_cases(tree, first) if case.binding]
    if not cases:
        return not hasattr(builtins, first)
    for case in cases:
        assert case.binding is not None  # the others were left out
        top = case.binding.module.partition(".")[0]
        if top not in sys.stdlib_module_names:
            return True
    return name in _SETS_ON_CLASSES


def _module_of(lookup: Lookup, tree: ModuleTree, dotted: str) -> str:
    """Name the module that a dotted name stands for, such as `helpers` or `up.helpers`; else ''."""
    first, _, rest = dotted.partition(".")
    for case in lookup.binding_cases(tree, first):
        binding = case.binding
        if binding is None or not binding.module:
            continue
        module = binding.module
        if binding.imported:
            module = f"{module}.{binding.imported}"
        if rest:
            module = f"{module}.{rest}"
        if lookup.has_module(module):
            return module
    return ""
