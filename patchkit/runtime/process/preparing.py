"""Prepares changes of every kind: their modules in `runtime.changes` are imported when needed."""

import importlib
from typing import cast

from patchkit.core.rows.declaration import Change
from patchkit.runtime.changes.context import Context, Prepared

_MODULES = {
    "Replace": "objects.replace",
    "Wrap": "objects.wrap",
    "Decorate": "objects.decorate",
    "Edit": "source.edit",
    "Add": "objects.replace",
    "AddField": "fields.add_field",
    "Provide": "modules",
    "BeforeImport": "modules",
    "AfterImport": "modules",
}
"""By kind of change, the module in `runtime.changes` that makes it, imported when first needed."""


def prepare(change: Change, context: Context) -> Prepared:
    """Resolve a change's target and its object in the body; nothing upstream is changed.

    Args:
        change: the change.
        context: its module, body and rank.

    Returns:
        An object whose `apply` makes the change, and whose `undo` undoes it.

    Raises:
        TargetError: the target or the object does not exist, or the change is refused.
    """
    name = _MODULES[type(change).__name__]
    if change.sets_targets:
        name = "set_by_call"
    kind = importlib.import_module(f"patchkit.runtime.changes.{name}")
    return cast("Prepared", kind.prepare(change, context))
