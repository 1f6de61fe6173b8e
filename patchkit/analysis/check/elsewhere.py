"""Judges changes of targets that are stored elsewhere than where the row names them."""

from patchkit.analysis.check import codes
from patchkit.analysis.check.calls import VALUES
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.upstream.facts import OF_PROPERTY, Facts
from patchkit.analysis.upstream.resolving.named_elsewhere import (
    OF_CLASS,
    OF_FROZEN,
    OF_METACLASS,
    OF_OBJECT,
    OF_OPERATOR,
    OF_SLOT,
    OF_TUPLE,
)
from patchkit.analysis.upstream.resolving.natures import TO_CALL, Nature
from patchkit.analysis.upstream.resolving.storage import HOOKS
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import (
    Add,
    Decorate,
    Replace,
    SetByCall,
    Wrap,
)

_FIXES = {
    OF_METACLASS: "name the metaclass, or change what the class itself has",
    OF_CLASS: "name the class",
    OF_PROPERTY: "name the property itself",
    OF_TUPLE: "Replace the whole tuple",
    OF_SLOT: "Replace the class by one that derives from it",
    OF_FROZEN: "name the class, or Replace the object",
    OF_OPERATOR: "name the operator, module:torch.ops.namespace.name, or Edit the function",
    OF_OBJECT: "change the __init__, or Replace the class by one that derives from it",
}
"""What to do instead, by where the target is."""


def storage_elsewhere(
    change: Wrap | Replace | Decorate, facts: Facts, ours: Facts | None
) -> str:
    """Say where a target is stored, if setting it where it is named would have no effect.

    A hook such as `__post_init__` of a struct was read when the class was made.

    Args:
        change: The change.
        facts: What the release says of its target.
        ours: What the body says of its object; None where the row has no body.

    Returns:
        Words for the report; '' if the target can be set.
    """
    if facts.is_sure and facts.storage in _FIXES:
        is_property = ours is not None and ours.kind == Kind.PROPERTY
        return "" if facts.storage == OF_SLOT and is_property else facts.storage
    # That a Wrap needs something to call is said first.
    if isinstance(change, Wrap) and facts.nature not in (*TO_CALL, Nature.UNKNOWN):
        return ""
    # Only values may be stored elsewhere, and only hooks may be read already.
    if facts.kind not in VALUES and change.place.steps[-1] not in HOOKS:
        return ""
    # Of what is not sure, only a field of an attrs class is certain to be stored elsewhere.
    if not facts.is_sure and facts.kind != Kind.FIELD:
        return ""
    # A property takes effect whatever instances have.
    if ours is None or ours.kind == Kind.PROPERTY:
        return ""
    return facts.storage


def elsewhere(
    change: Wrap | Replace | Decorate | Add | SetByCall, facts: Facts
) -> Fault:
    """Make the fault of a target that is not stored on its class, or not read there any more.

    Args:
        change: The change.
        facts: What the release says of its target.

    Returns:
        The fault, which names what to change instead.
    """
    message = f"found {change.place}, {facts.storage}; expected what lies on its class"
    fix = "Replace the class by one that derives from it"
    if facts.storage in _FIXES:
        message = (
            f"found {change.place}, {facts.storage}; expected what can be set there"
        )
        fix = _FIXES[facts.storage]
    elif "an enum" in facts.storage:
        fix = "let an AfterImport change its members"
    if isinstance(change, SetByCall):
        fix = f"leave it out of sets, and let {change.call} return what takes the change back"
    return Fault(codes.KIND_CHANGED, message, fix)
