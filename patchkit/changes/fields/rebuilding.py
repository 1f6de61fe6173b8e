"""
What follows a change of a dataclass's or pydantic class's members: the class is built anew.

Once for all changes of a group, and once more when they are taken back. A member that nothing is
built from (a plain method) costs two look-ups.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from patchkit.changes.built_classes import FIELDS, is_built, is_pydantic
from patchkit.errors import TargetError, UndoError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.changes.context import Prepared
    from patchkit.changes.prepared import PreparedLayers
    from patchkit.changes.sites import Site, Sites


class Rebuild:
    """
    The rebuilding that one group of changes asks for.

    Args:
        changed: classes whose fields the changes alter themselves.
        members: changed members of dataclasses and pydantic classes.
        sites: every changed attribute of this process.

    """

    def __init__(self, changed: Iterable[type], members: Iterable[Site], sites: Sites) -> None:
        self._changed = list(changed)
        self._members = list(members)
        self._sites = sites
        self._built: list[type] = []
        self._defaults: list[PreparedLayers] = []

    def apply(self) -> None:
        """
        Carry the changes, which are made, into what was built from the members.

        Raises:
            TargetError: pydantic cannot build a class any more.

        """
        built = dict.fromkeys(self._changed)
        for site in self._members:
            if self._is_default(site):
                self._set_default(site)
                built[site.owner] = None
            elif self._matters(site):
                built[site.owner] = None
        if built and "pydantic" in sys.modules:
            self._built = list(built)
            self._build()

    def undo(self) -> None:
        """
        Build again without the changes, which are taken back; nothing before `apply`.

        Raises:
            UndoError: something could not be taken back; the rest was.

        """
        defaults, self._defaults = self._defaults, []
        built, self._built = self._built, []
        errors: list[Exception] = []
        for parts in defaults:
            try:
                parts.undo()
            except UndoError as error:
                errors.append(error)
        if built:
            from patchkit.changes.fields.rebuilt import rebuilt  # noqa: PLC0415 - few changes need it

            errors += rebuilt(self._sites).without(self, built)
        if errors:
            raise UndoError("; ".join(str(error) for error in errors))

    def _build(self) -> None:
        from patchkit.changes.fields.rebuilt import rebuilt  # noqa: PLC0415 - few changes need it

        errors = rebuilt(self._sites).build(self, self._built)
        if errors:
            raise TargetError("; ".join(str(error) for error in errors)) from errors[0]

    def _is_default(self, site: Site) -> bool:
        return site.name in vars(site.owner).get(FIELDS, ())

    def _matters(self, site: Site) -> bool:
        if not is_pydantic(site.owner):
            return False
        from patchkit.changes.fields.pydantic_classes import matters  # noqa: PLC0415 - is loaded by now

        return matters(site.owner, str(site.name), (site.original, site.current))

    def _set_default(self, site: Site) -> None:
        from patchkit.changes.fields.defaults import default_parts  # noqa: PLC0415 - few need it

        for parts in default_parts(site, self._sites):
            self._defaults.append(parts)
            parts.apply()


def rebuild_after(prepared: Iterable[Prepared], sites: Sites) -> Rebuild | None:
    """Prepare what has to follow these changes; None where nothing does."""
    prepared = list(prepared)
    changed = [cls for change in prepared for cls in getattr(change, "classes", ())]
    members = [site for change in prepared for site in change.sites if is_built(site.owner)]
    return Rebuild(changed, members, sites) if changed or members else None
