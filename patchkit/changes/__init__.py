"""
The kinds of change, one module a kind: each prepares (looks and refuses) and then applies.

Rooms hold what belongs together: `objects` (Replace, Wrap, Add), `source` (Edit), `fields`
(AddField), `modules` (Provide and import calls). They know nothing of one another; what lies
beside them, here, is shared by all.

`prepare` changes nothing upstream. What it returns is applied later in one go with the other
changes of the patch, and can take back what it has made.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from patchkit.changes.context import Context, Prepared
    from patchkit.rows.declaration import Change

_MODULES = {
    "Replace": "objects.replace",
    "Wrap": "objects.wrap",
    "Edit": "source.edit",
    "Add": "objects.add",
    "AddField": "fields.add_field",
    "Provide": "modules.provide",
    "BeforeImport": "modules.calls",
    "AfterImport": "modules.calls",
}
"""A kind's module is imported with its first change: some of them need half of the library."""


def prepare(change: Change, context: Context) -> Prepared:
    """
    Resolve a change's target and its object in the body, and refuse what cannot be.

    Raises:
        TargetError: the target or the body's object is not there, or not of the right kind.

    """
    kind = importlib.import_module(f"patchkit.changes.{_MODULES[change.kind]}")
    return cast("Prepared", kind.prepare(change, context))
