"""Edit: part of a function's own source is replaced, and recompiled into the same function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.changes.source.code_site import CodeEdit, CodeSites
from patchkit.changes.source.functions import caches_at, function_at
from patchkit.changes.source.rewriting import TextEdit
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from patchkit.changes.context import Context
    from patchkit.changes.sites import Site
    from patchkit.changes.source.code_site import Built, CodeSite
    from patchkit.rows.declaration import Edit


@dataclass
class PreparedEdit:
    """
    An edit that was built once to see that it can be.

    Args:
        code: where it goes.
        edit: what goes there.
        built: the function with it.

    """

    code: CodeSite
    edit: CodeEdit
    built: Built
    sites: tuple[Site, ...] = ()  # the function stays the same object: no copy is ever stale

    def apply(self) -> None:
        """Put the edit on."""
        self.code.put(self.edit, self.built)

    def undo(self) -> None:
        """Take the edit off."""
        self.code.take(self.edit)


def prepare(change: Edit, context: Context) -> PreparedEdit:
    """
    Resolve the function, and build it with the edit.

    Raises:
        TargetError: there is no function with a source of its own, it is only inherited or
            replaced, `old` does not occur `count` times or is `new`, or the edited text does not
            compile.

    """
    assert context.module is not None
    words = f"Edit({change.target!r})"
    if change.old.strip() == change.new.strip():
        raise TargetError(
            f"{words}: found new={change.new!r}, the same as old, expected other code"
        )
    try:
        function = function_at(context.module, change.place.qualname, context.sites)
        sites = context.sites.extra(CodeSites, CodeSites)  # noqa: S610 - no database here
        code = sites.at(function)
        code.forget_in(caches_at(context.module, change.place.qualname, context.sites))
    except TargetError as error:
        raise TargetError(f"{words}: {error}") from error
    edit = CodeEdit(words, TextEdit(change.old, change.new, change.count), context.rank)
    return PreparedEdit(code, edit, code.prepare(edit))
