"""Prepare and apply one change between two modules in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.packages import module_of

from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.core.rows.declaration import Change

WATCHED = """
calls = []
def by(wrapped, instance, args, kwargs):
    calls.append((instance, args, kwargs))
    return wrapped(*args, **kwargs)
"""
"""A body whose wrapper notes what it was given and passes everything on."""


class Bench:
    """An upstream module and a body.

    Args:
        upstream: source.
        body: source; may use the upstream module under the name `upstream`.
    """

    def __init__(self, upstream: str, body: str = WATCHED) -> None:
        self.upstream: Any = module_of(upstream)
        self.body: Any = module_of("", "body")
        self.body.upstream = self.upstream
        vars(self.body).update(vars(module_of(body, "body")))
        self.sites = Sites()

    def apply(self, *changes: Change) -> Callable[[], None]:
        """Prepare all changes, then apply them; return the undo of the last one."""
        context = Context(self.upstream, self.body, self.sites)
        prepared_changes = [prepare(change, context) for change in changes]
        try:
            for prepared in prepared_changes:
                prepared.apply()
        except BaseException:
            for prepared in reversed(prepared_changes):
                prepared.undo()
            raise
        return prepared_changes[-1].undo
