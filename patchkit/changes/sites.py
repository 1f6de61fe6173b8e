"""
Changed attributes. Several patches may lie on one; any of them can be taken off, in any order.

A site remembers the original and the layers on it, so the value is always the original with the
layers that are left, and the very original once none is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.changes.resolve import MISSING, Location, stored
from patchkit.errors import UndoError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(eq=False)
class Layer:
    """
    One patch's part in a site.

    Args:
        make: from the value below to the value with this layer.
        base: takes the place of the original (Replace), so it lies below what wraps.

    """

    make: Callable[[Any], Any]
    base: bool = False


@dataclass(eq=False)
class Site:
    """
    One attribute of one owner.

    Args:
        owner: module, class or instance.
        name: the attribute.
        original: the stored value before any patch.
        own: False where the owner inherited it, so that taking all off deletes the attribute.
        layers: in the order in which they came.
        current: what the attribute holds.
        aliases: copies that go with it: a namespace and a name in it.
        wrappers: what it held before, as far as it was made here: who has one, has it from here.
        replacements: what it held before that is a body's own.
        rebind: repoint copies in other modules.

    """

    owner: Any
    name: str
    original: Any
    own: bool
    layers: list[Layer] = field(default_factory=list)
    current: Any = None
    aliases: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    wrappers: list[Any] = field(default_factory=list)
    replacements: list[Any] = field(default_factory=list)
    rebind: bool = False

    def __post_init__(self) -> None:
        self.current = self.original

    def push(self, layer: Layer) -> Callable[[], None]:
        """Put a layer on and return what takes it off."""
        self._set([*self.layers, layer])
        return lambda: self._remove(layer)

    def is_intact(self) -> bool:
        """Whether the attribute still holds what was last put there."""
        return stored(self.owner, self.name)[0] is self.current

    def _remove(self, layer: Layer) -> None:
        if not self.is_intact():
            self.layers.remove(layer)
            where = getattr(self.owner, "__name__", self.owner)
            raise UndoError(
                f"{where}.{self.name} was overwritten by somebody else with "
                f"{stored(self.owner, self.name)[0]!r}; it is left as it is"
            )
        self._set([kept for kept in self.layers if kept is not layer])

    def _set(self, layers: list[Layer]) -> None:
        value = self.original
        for layer in sorted(layers, key=lambda one: not one.base):
            value = layer.make(value)
        self._outdate()
        former, self.layers, self.current = self.current, layers, value
        if layers or self.own:
            setattr(self.owner, self.name, value)
        else:
            delattr(self.owner, self.name)
        self._repoint(former)

    def _outdate(self) -> None:
        if self.layers:
            replaced = all(layer.base for layer in self.layers)
            (self.replacements if replaced else self.wrappers).append(self.current)

    def _repoint(self, former: Any) -> None:
        for namespace, name in self.aliases:
            if namespace.get(name, MISSING) is former:
                namespace[name] = self.current


class Sites:
    """Every changed attribute of this process, by owner and name."""

    def __init__(self) -> None:
        self._sites: dict[tuple[int, str], Site] = {}

    def at(self, location: Location) -> Site:
        """
        Return the site for a location.

        A site that is no longer intact (its module was reloaded, somebody overwrote it) is
        forgotten: what stands there now is the original of a new one.
        """
        key = (id(location.owner), location.name)
        site = self._sites.get(key)
        if site is None or site.owner is not location.owner or not site.is_intact():
            site = Site(location.owner, location.name, location.value, location.own)
            self._sites[key] = site
        return site

    def holds(self, owner: object, name: str) -> bool:
        """Whether a patch lies on this very attribute."""
        site = self._sites.get((id(owner), name))
        return site is not None and site.owner is owner and bool(site.layers)

    def rebound(self) -> list[Site]:
        """Every site whose copies are repointed with it."""
        return [site for site in self._sites.values() if site.rebind]
