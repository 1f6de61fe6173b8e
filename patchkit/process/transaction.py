"""Makes one group of changes, all or none: resolves all first, and undoes what it made on error."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from patchkit.changes import in_waves, prepare, rebuild_after
from patchkit.changes.context import Context
from patchkit.changes.overwrites import route_of
from patchkit.copies.scope import scope_of
from patchkit.errors import TargetError
from patchkit.imports.finder import home, others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from patchkit.changes.context import Prepared
    from patchkit.changes.overwrites import Route
    from patchkit.changes.sites import Site, Sites
    from patchkit.changes.source.edit import PreparedEdit
    from patchkit.rows.declaration import Change

    Placed = tuple[int, Change]


class Transaction:
    """
    What was made of one group, all or nothing, and what takes it back.

    Args:
        patch: name of the patch.
        rank: place of its row among all rows.

    Attributes:
        undos: what takes the changes back, in the order in which they were made.
        calls: those of the undos that belong to one execution of the module, and run before the
            next.
        sites: changed attributes, each with the target that led to it.
        routes: the ways to the targets, as they were.
        targets: all that is changed, also where that is no attribute.

    """

    def __init__(self, patch: str = "", rank: int = 0) -> None:
        self.patch = patch
        self._rank = rank
        self.undos: list[Callable[[], None]] = []
        self.calls: list[Callable[[], None]] = []
        self.sites: list[tuple[str, Site]] = []
        self.routes: list[Route] = []
        self.targets: list[str] = []

    def apply(
        self, changes: Iterable[Placed], module: ModuleType | None, body: ModuleType, sites: Sites
    ) -> None:
        """
        Make the changes, or none of them.

        Args:
            changes: those that are for the versions here, with their places in the row.
            module: the group's module; None before it executes.
            body: the loaded body.
            sites: every changed attribute of this process.

        """
        try:
            for wave in in_waves(changes):
                self._apply_wave(wave, module, body, sites)
        except BaseException:
            unwind(self.undos)
            raise

    def take_back(self) -> list[Exception]:
        """Undo all that was made; return what went wrong on the way."""
        errors = unwind(self.undos)
        for noted in (self.calls, self.sites, self.routes, self.targets):
            noted.clear()
        return errors

    def _apply_wave(
        self, wave: Iterable[Placed], module: ModuleType | None, body: ModuleType, sites: Sites
    ) -> None:
        """Resolve all changes of a wave, then make them."""
        prepared = []
        for place, change in wave:
            context = Context(module, body, sites, self.patch, (self._rank, place))
            prepared.append((change, prepare(change, context)))
        for change, ready in prepared:
            _refuse_to_discard(change, ready)
        rebuild = rebuild_after([ready for _, ready in prepared], sites)
        if rebuild is not None:
            self.undos.append(rebuild.undo)  # first: it runs once the changes are taken back
        for change, ready in prepared:
            self._make(change, ready)
        if rebuild is not None:
            rebuild.apply()
        for change, ready in prepared:
            self._note_route(change, ready, module)

    def _make(self, change: Change, ready: Prepared) -> None:
        self.undos.append(ready.undo)  # first: what is torn off in the middle is taken back too
        if change.kind == "AfterImport":
            self.calls.append(ready.undo)
        ready.apply()
        place, words = change.place, str(change.place)
        self.targets.append(words)
        scope = scope_of(place.module, change.rebind)
        for site in ready.sites:
            site.rebind |= scope
            self.sites.append((words, site))

    def _note_route(self, change: Change, ready: Prepared, module: ModuleType | None) -> None:
        """Note the way to a target, so that it can be walked again."""
        place = change.place
        if module is not None and place.qualname:
            edited = cast("PreparedEdit", ready).code.function if change.kind == "Edit" else None
            self.routes.append(route_of(str(place), module, place.steps, ready.sites, edited))


def _refuse_to_discard(change: Change, ready: Prepared) -> None:
    """Refuse to put an object in place of one on which another copy of patchkit has patches."""
    if change.kind != "Replace":
        return  # all else acts above or below
    for site in ready.sites:
        for other in others():
            if names := other.patches_on(site.owner, site.name):
                raise TargetError(
                    f"Replace({change.place!s}): it would discard {', '.join(names)} of another "
                    f"copy of patchkit, {home(other)}; expected one copy for both packs"
                )


def unwind(undos: list[Callable[[], None]]) -> list[Exception]:
    """Run undos, the last first; one that fails does not stop the others. Empties the list."""
    errors: list[Exception] = []
    while undos:
        try:
            undos.pop()()
        except Exception as error:  # noqa: BLE001 - reported by the caller, once all have run
            errors.append(error)
    return errors
