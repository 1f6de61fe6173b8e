"""Defines what a change is prepared with, what preparing returns, and the route to a target.

Changes of a row of which one decides what the target of another is are prepared in *waves*.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, Protocol

from patchkit.core.record import Record
from patchkit.core.rows.declaration import Add, Change, Decorate, Replace, SetByCall
from patchkit.core.rows.target import Item, TargetStep, steps_of
from patchkit.errors import TargetError, near
from patchkit.runtime.changes.owners import MISSING, namespace, peek
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites

_Placed = tuple[int, Change]
"""The index of a change in its row, and the change."""

RouteStep = tuple[Any, TargetStep, Any]
"""One step on the way to a target: the owner, the attribute or item, and its value."""


class Context(Record):
    """What a change is prepared with.

    Args:
        module: The target's module; None before it has been imported.
        body: The loaded body; the pack itself for a patch without one.
        sites: All changed attributes of this process.
        patch: The name of the patch; "" for patchkit's own changes.
        rank: The position of the row among rows, and of the change in its row.
    """

    module: ModuleType | None
    body: ModuleType
    sites: Sites
    patch: str = ""
    rank: tuple[int, int] = (0, 0)

    def layer(self, make: Callable[[Any], Any], *, base: bool = False) -> Layer:
        """Return a new layer of this change, which is on no site yet.

        Args:
            make: A function that takes the value below the layer and returns the changed one.
            base: Whether the layer replaces the original, and does not wrap it.
        """
        return Layer(make, base, self.rank, self.patch)

    def object_named(self, name: str) -> object:
        """Return the object that the body has under a name.

        Args:
            name: The name, as `function` or `Class.method`.

        Raises:
            TargetError: The body has no such object.
        """
        value: object = self.body
        for part in name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError as error:
                public = sorted(
                    word for word in vars(self.body) if not word.startswith("__")
                )
                hint = near(name, public) or f"; it has {', '.join(public)}"
                raise TargetError(
                    f"body {self.body.__name__} has no {name!r}{hint}"
                ) from error
        return value


class Prepared(Protocol):
    """A change that has been checked and can be applied."""

    @property
    def sites(self) -> Collection[Site]:
        """The attributes that get another object, so that copies of the former one are stale."""

    def apply(self) -> None:
        """Apply the change."""

    def undo(self) -> None:
        """Undo what `apply` did, even if it was interrupted; do nothing if it never ran."""


class PreparedLayers(Record, frozen=False):
    """Layers that are put on sites together and removed together.

    Args:
        parts: Each layer, with the site that it is for.
    """

    parts: Sequence[tuple[Site, Layer]]

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites of all parts."""
        return tuple(site for site, _ in self.parts)

    def apply(self) -> None:
        """Put the layers on their sites, in order."""
        for site, layer in self.parts:
            site.put(layer)

    def undo(self) -> None:
        """Remove the layers, in the same order; then raise the first error, if there was one."""
        # `unwind` runs the last undo first.
        undos: list[Callable[[], None]] = [
            partial(site.remove, layer) for site, layer in reversed(self.parts)
        ]
        errors = unwind(undos)
        if errors:
            raise errors[0]


def unwind(undos: list[Callable[[], None]]) -> list[BaseException]:
    """Run undos, the last first; an error does not stop the others, nor does `sys.exit()`.

    Args:
        undos: The undos; the list is empty afterwards.

    Returns:
        The errors, in the order in which they were raised.
    """
    errors: list[BaseException] = []
    while undos:
        undo = undos.pop()
        try:
            undo()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the caller reports them
            errors.append(error)
    return errors


def in_waves(changes: Iterable[_Placed]) -> list[list[_Placed]]:
    """Divide changes so that each is resolved after those that decide what its target is.

    With `Replace("m:C")` and `Wrap("m:C.f")` in one row, the method of the new class is wrapped.

    Args:
        changes: the changes in declared order, with their indices in the row.

    Returns:
        The waves, each to be resolved after those before it are made.
    """
    wave: list[_Placed] = []
    waves = [wave]
    for index, change in changes:
        if any(_needs_own_wave(change, earlier) for _, earlier in wave):
            wave = []
            waves.append(wave)
        wave.append((index, change))
    return waves


def _needs_own_wave(change: Change, earlier: Change) -> bool:
    """Whether a change must be resolved after an earlier one of its row was made.

    That is so if the target of one lies in what the other puts there, and if one replaces what the
    other edits.
    """
    kinds = {change.kind, earlier.kind}
    if kinds == {"Edit", "Replace"} and change.place == earlier.place:
        return True
    for part in change.parts:
        for earlier_part in earlier.parts:
            if _is_inside(part, earlier_part) or _is_inside(earlier_part, part):
                return True
    return False


def _is_inside(change: Change, other: Change) -> bool:
    """Whether a target lies in what another change puts there, as `m:C.f` does in `m:C`."""
    puts_object = isinstance(other, (Replace, Decorate, Add, SetByCall))
    if not (puts_object and change.inside_module):
        return False
    outer = other.place
    inner = change.place
    length = len(outer.steps)
    is_deeper = outer.module == inner.module and len(inner.steps) > length
    return is_deeper and inner.steps[:length] == outer.steps


def parts_of(changes: Iterable[_Placed]) -> list[Change]:
    """Return changes, each followed by those of further targets that it changes.

    Args:
        changes: the changes, with their indices in the row.
    """
    return [part for _, change in changes for part in change.parts]


# -- the way to a target ---------------------------------------------------------------------------


class Route(NamedTuple):
    """The objects on the way to a target when it was changed: its module, a class, an attribute.

    Args:
        target: The target, as its change names it.
        steps: The steps, the module first; without the change's own sites, which are compared
            separately.
        edited: The function that an Edit changed, and the code that it had then.
    """

    target: str
    steps: tuple[RouteStep, ...]
    edited: tuple[FunctionType, CodeType] | None = None


def route_of(
    target: str,
    module: ModuleType,
    qualname: str,
    sites: Iterable[Site],
    edited: FunctionType | None = None,
) -> Route:
    """Walk to a target, and note the object at each step, to compare them later.

    Args:
        target: The target, for messages.
        module: Its module.
        qualname: The name in the module that leads to it.
        sites: The change's own sites, which are compared separately and left out of the route.
        edited: The function whose code an Edit has changed; None for another change.

    Returns:
        The route for `stranger_on`.
    """
    own_keys = {(id(site.owner), site.name) for site in sites}
    stops: list[tuple[Any, TargetStep, Any]] = []
    name = module.__name__
    # `runpy` puts other modules under the name `__main__` for a time.
    if name != "__main__" and sys.modules.get(name) is module:
        stops.append((sys.modules, Item(name), module))
    owner: Any = module
    for step in steps_of(qualname):
        value = peek(owner, step)
        if value is MISSING:
            break
        is_stored = isinstance(step, Item) or step in namespace(owner)
        is_descriptor = hasattr(type(value), "__get__")
        is_bound = is_descriptor and not isinstance(owner, type)
        if is_bound and not is_stored:
            break  # a method or property of the object's class, which is a new object each time
        if (id(owner), step) not in own_keys:
            stops.append((owner, step, value))
        owner = value
    if edited is None:
        return Route(target, tuple(stops))
    return Route(target, tuple(stops), (edited, edited.__code__))
