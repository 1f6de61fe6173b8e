"""Tells what sets, replaces or deletes attributes of a class once its body has run."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from patchkit.analysis.upstream.resolving.classes import class_effects
from patchkit.analysis.upstream.resolving.computed_names import reason_to_set
from patchkit.analysis.upstream.resolving.descriptors import (
    assigns_objects,
    set_by_descriptors,
)
from patchkit.analysis.upstream.resolving.importer_changes import (
    set_by_instances,
    set_by_text,
)
from patchkit.analysis.upstream.resolving.later_changes import changes_below
from patchkit.analysis.upstream.resolving.metaclasses import set_on_classes
from patchkit.analysis.upstream.resolving.signature_settings import setter_of_signature
from patchkit.analysis.upstream.resolving.values import (
    AS_METHOD,
    METHODS,
    Kind,
    Lookup,
    Value,
    Values,
    undecided,
)

_FUNCTIONS = METHODS | {*AS_METHOD}


def deletes_below(lookup: Lookup, owner: Value, name: str) -> bool:
    """Whether code below a class deletes an attribute of it.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
    """
    setting = changes_below(lookup, owner).names.get(name)
    return setting is not None and setting.deletes


def set_later(
    lookup: Lookup,
    owner: Value,
    name: str,
    values: Sequence[Value],
    search_following: Callable[[], Values],
) -> Values | None:
    """Return an attribute that a decorator, a hook or a later statement sets, after the body.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
        values: What the body of the class binds it to; () if it does not bind it.
        search_following: Looks the attribute up in the bases of the class.

    Returns:
        None if nothing that is known sets it.
    """
    effects = class_effects(lookup, owner)
    setter = effects.touched.get(name, "")
    is_deleted = name in effects.removed
    setting = changes_below(lookup, owner).names.get(name)
    if setting is not None:
        setter = setting.text
        is_deleted = is_deleted or setting.deletes
        # The statement is part of what defines the attribute.
        values = [
            replace(value, nodes=(*value.nodes, setting.statement)) for value in values
        ]
    if not setter:
        return None
    reason = f"{setter} sets {name}"
    if is_deleted:
        return (undecided(f"{setter} deletes {name}"),)
    if not values and _is_certain(lookup, owner, name):
        return (owner.own_attribute(name, Kind.GENERATED).unsure(reason),)
    if not values:
        # Whatever sets it, the class has it from a base. Of special names, which most bases
        # have, it counts who writes them.
        values = () if name.startswith("__") else search_following()
        if not values or any(value.state != "present" for value in values):
            return (undecided(reason),)
    return tuple(value.unsure(reason) for value in values)


def _is_certain(lookup: Lookup, owner: Value, name: str) -> bool:
    """Whether an attribute is set on a class in any case that something may set."""
    if name in class_effects(lookup, owner).certain:
        return True
    return name in changes_below(lookup, owner).certain


def as_replaced(
    lookup: Lookup, owner: Value, name: str, values: Sequence[Value]
) -> Values | None:
    """Return what the body of a class binds, for code that may replace it, or the class.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
        values: What the body of the class binds it to.

    Returns:
        None if there is no such code.
    """
    doubt = _replaced_reason(lookup, owner, name)
    if class_effects(lookup, owner).is_other:
        return (undecided(doubt),)
    if not doubt and any(value.kind in _FUNCTIONS for value in values):
        line = set_by_text(owner.module_tree, owner.qualname).get(name, 0)
        line = line or set_by_instances(owner.module_tree, name)
        if line:
            doubt = f"line {line} may set {name} once it runs"
        elif assigns_objects(owner):  # most classes have none, and are spared the rest
            doubt = set_by_descriptors(lookup, [owner], name)
    if not doubt:
        return None
    return tuple(value.unsure(doubt) for value in values)


def as_resigned(lookup: Lookup, owner: Value, name: str, values: Values) -> Values:
    """Return what the body of a class binds, without a signature that code may change.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
        values: What the body of the class binds it to.
    """
    if all(value.signature is None for value in values):
        return values
    below = changes_below(lookup, owner).names
    reason = (
        setter_of_signature(class_effects(lookup, owner).touched, name)
        or setter_of_signature(set_on_classes(lookup, owner), name)
        or setter_of_signature({one: below[one].text for one in below}, name)
    )
    if not reason:
        return values
    return tuple(
        replace(value, signature=None, reason=value.reason or reason)
        for value in values
    )


def _replaced_reason(lookup: Lookup, owner: Value, name: str) -> str:
    """Say what may replace a class, or an attribute whose name it computes; '' for nothing."""
    effects = class_effects(lookup, owner)
    if effects.flavour == "pydantic" and name == "__init__":
        return "pydantic puts its own __init__ in the place of this one"
    return (
        effects.replaced_reason
        or effects.computed_reason
        or changes_below(lookup, owner).replaced_reason
        or reason_to_set(effects.patterns, name)
        or reason_to_set(changes_below(lookup, owner).patterns, name)
    )
