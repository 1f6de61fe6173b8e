"""Tells which `class` statements make interfaces of zope, which are no classes."""

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

INTERFACE = "it is an interface of zope, which is no class"
"""Why the kind of what such a statement defines is not sure."""
_INTERFACES = frozenset(
    {"zope.interface.Interface", "zope.interface.interface.Interface"}
)


def is_interface(lookup: Lookup, value: Value, scope: Scope) -> bool:
    """Whether a `class` statement makes an interface of zope, which is no class.

    Args:
        lookup: The release.
        value: What the statement defines.
        scope: Where it stands.
    """
    for base in value.class_statement.bases:
        name = dotted(base).rpartition(".")[2]
        # By convention an interface begins with I; this spares other classes the search.
        if not name.startswith("I"):
            continue
        for found in lookup.evaluate(base, scope):
            if found.dotted in _INTERFACES or found.reason == INTERFACE:
                return True
    return False
