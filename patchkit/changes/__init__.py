"""
The kinds of change, one module a kind: each prepares (looks and refuses) and then applies.

`prepare` changes nothing upstream. What it returns is applied later in one go with the other
changes of the patch, and its `apply` returns the undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.changes import calls, replace, wrap
from patchkit.declaration import AfterImport, BeforeImport, Change, Replace, Wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.changes.context import Context, Prepared

_KINDS: dict[type[Change], Callable[[Any, Context], Prepared]] = {
    Replace: replace.prepare,
    Wrap: wrap.prepare,
    BeforeImport: calls.prepare,
    AfterImport: calls.prepare,
}


def prepare(change: Change, context: Context) -> Prepared:
    """
    Resolve a change's target and its object in the body, and refuse what cannot be.

    Raises:
        TargetError: the target or the body's object is not there, or not of the right kind.

    """
    return _KINDS[type(change)](change, context)
