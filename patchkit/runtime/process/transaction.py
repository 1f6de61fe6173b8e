"""What was made of one group of changes: all or none, resolved first, and undone on error."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, cast

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import AfterImport, Change, Edit, Replace
from patchkit.errors import TargetError
from patchkit.runtime.changes import in_waves, prepare, rebuild_after
from patchkit.runtime.changes.context import Context, Prepared, unwind
from patchkit.runtime.changes.overwrites import Route, route_of
from patchkit.runtime.changes.sites import Site, Sites
from patchkit.runtime.copies.scope import scope_of
from patchkit.runtime.imports.finder import home, others

Placed = tuple[int, Change]  # with its place in its row


class Transaction(Record, frozen=False, eq=False):
    """What was made of one group, all or nothing, and what takes it back."""

    patch: str = ""
    rank: int = 0  # place of its row among all rows
    undos: list[Callable[[], None]] = field(default_factory=list)  # as they were made
    calls: list[Callable[[], None]] = field(default_factory=list)  # those for one execution only
    sites: list[tuple[str, Site]] = field(default_factory=list)  # with the target that led there
    routes: list[Route] = field(default_factory=list)  # the ways to the targets, as they were
    targets: list[str] = field(default_factory=list)  # also what is no attribute

    def apply(
        self, changes: Iterable[Placed], module: ModuleType | None, body: ModuleType, sites: Sites
    ) -> None:
        """Make the changes, given with their places in the row, or none of them."""
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
        prepared = []
        for place, change in wave:
            context = Context(module, body, sites, self.patch, (self.rank, place))
            prepared.append((change, prepare(change, context)))
        for change, ready in prepared:
            if isinstance(change, Replace):  # all else acts above or below
                _refuse_to_discard(change, ready)
        rebuild = rebuild_after([ready for _, ready in prepared], sites)
        if rebuild is not None:
            self.undos.append(rebuild.undo)  # first: it runs once the changes are taken back
        for change, ready in prepared:
            self._make(change, ready)
        if rebuild is not None:
            rebuild.apply()
        for change, ready in prepared:
            target = change.place
            if module is not None and target.qualname:
                edited = cast("Any", ready).code.function if isinstance(change, Edit) else None
                route = route_of(str(target), module, target.steps, ready.sites, edited)
                self.routes.append(route)  # the way to it, so that it can be walked again

    def _make(self, change: Change, ready: Prepared) -> None:
        self.undos.append(ready.undo)  # first: what is torn off in the middle is taken back too
        if isinstance(change, AfterImport):
            self.calls.append(ready.undo)
        ready.apply()
        scope, words = scope_of(change.place.module, change.rebind), str(change.place)
        self.targets.append(words)
        for site in ready.sites:
            site.rebind |= scope
            self.sites.append((words, site))


def _refuse_to_discard(change: Change, ready: Prepared) -> None:
    """Refuse to put an object in place of one on which another copy of patchkit has patches."""
    for other in others():
        for site in ready.sites:
            if names := other.patches_on(site.owner, site.name):
                raise TargetError(
                    f"Replace({change.place!s}): it would discard {', '.join(names)} of another "
                    f"copy of patchkit, {home(other)}; expected one copy for both packs"
                )
