"""Follows a class into the functions of the release that a metaclass passes it to."""

import ast

from patchkit.analysis.upstream.resolving.metaclass_source import (
    OPEN,
    MetaclassSettings,
    PassingCall,
    settings_by_parameter,
)
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, dotted
from patchkit.analysis.upstream.resolving.values import (
    AS_METHOD,
    Kind,
    Lookup,
    Scope,
    Value,
)

_DEPTH = 3
"""How deep calls are followed: a function that calls another, and so on."""
_HARMLESS = frozenset(
    {
        "builtins.callable",
        "builtins.dir",
        "builtins.hash",
        "builtins.id",
        "builtins.object.__new__",
        "builtins.repr",
        "builtins.str",
        "inspect.getattr_static",
        "inspect.getmembers",
        "inspect.isabstract",
        "inspect.isclass",
        "inspect.signature",
    }
)
"""Functions outside the release that set nothing on a class, and do not return it."""
_FUNCTIONS = frozenset({*AS_METHOD, Kind.STATICMETHOD})
"""What is passed the arguments as they are."""
_UNWRAPPED: tuple[list[str], ...] = ([], ["staticmethod"], ["classmethod"])
"""The decorators that functions may have which are followed."""


def with_passing(
    lookup: Lookup, tree: ModuleTree, settings: MetaclassSettings, depth: int = 0
) -> MetaclassSettings:
    """Add what the functions set that a class is passed to.

    Args:
        lookup: The release.
        tree: The module of the code that passes the class.
        settings: What this code itself sets, with the calls.
        depth: How many calls led to it.

    Returns:
        The settings; `OPEN` if one of the functions is not known, or may set other attributes.
    """
    if settings.is_open or not settings.passing:
        return settings
    names = set(settings.names)
    removed = set(settings.removed)
    for passing in settings.passing:
        found = _set_by_call(lookup, tree, passing, depth)
        if found.is_open or (found.returns_class and not passing.is_statement):
            return OPEN
        names |= found.names
        removed |= found.removed
    return settings._replace(
        names=frozenset(names), removed=frozenset(removed), passing=()
    )


def _set_by_call(
    lookup: Lookup, tree: ModuleTree, passing: PassingCall, depth: int
) -> MetaclassSettings:
    """Return what one call sets on the class that it is passed."""
    called = lookup.evaluate(passing.call.func, Scope(tree))
    if len(called) != 1 or depth >= _DEPTH:
        return OPEN
    value = called[0]
    if value.dotted in _HARMLESS:
        return MetaclassSettings(frozenset())
    function = _followed(value)
    if function is None:
        return OPEN
    position = passing.position
    if value.kind not in _FUNCTIONS:
        position += _receiver(lookup, tree, passing.call, value)
    found = value.module_tree.remember_with_file(
        ("set by parameter", id(function), position),
        lambda: settings_by_parameter(function, position),
    )
    return with_passing(lookup, value.module_tree, found, depth + 1)


def _followed(value: Value) -> Def | None:
    """Return the `def` that is called; None for what may be another object."""
    if value.state != "present" or not value.is_sure or value.tree is None:
        return None
    if len(value.nodes) != 1 or not isinstance(value.nodes[0], DEFS):
        return None
    function = value.nodes[0]
    if [dotted(one) for one in function.decorator_list] not in _UNWRAPPED:
        return None
    return function


def _receiver(lookup: Lookup, tree: ModuleTree, call: ast.Call, value: Value) -> int:
    """Return 1 for a method that is passed what it is read from before the arguments, else 0."""
    if value.kind is Kind.CLASSMETHOD:
        return 1
    if not isinstance(call.func, ast.Attribute):
        return 0
    owners = lookup.evaluate(call.func.value, Scope(tree))
    return int(all(owner.instance_of is not None for owner in owners))
