"""Changed attributes and items. Several patches may lie on one; any can be taken off, in any order.

A site remembers the original and the layers on it, so the value is always the original with the
layers that are left, and the very original once none is left.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

from patchkit.core.record import Record, field
from patchkit.core.rows.target import TargetStep
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.foreign import described
from patchkit.runtime.changes.owners import (
    MISSING,
    Location,
    Place,
    function_of,
    held_elsewhere,
    place_of,
    read,
    restore,
    words,
    write,
)

_Noted = TypeVar("_Noted")


class Layer(Record, frozen=False, eq=False):
    """One patch's part in a site."""

    make: Callable[[Any], Any]  # from the value below to the value with this layer
    base: bool = False  # takes the place of the original (Replace), so it lies below what wraps
    rank: tuple[int, int] = (-1, 0)  # orders layers of the same sort: the row's place, the change's
    patch: str = ""  # '' for patchkit's own
    value: Any = None  # what it has made, as long as it lies there


class Site(Record, frozen=False, eq=False):
    """One attribute of one owner, or one item of one container."""

    owner: Any
    name: TargetStep
    original: Any  # as stored before any patch; MISSING where there was none
    own: bool  # False where the owner did not hold it, so that taking all off removes it
    layers: list[Layer] = field(default_factory=list)  # the innermost first
    current: Any = None
    aliases: dict[Place, tuple[Any, TargetStep]] = field(
        default_factory=dict
    )  # copies that go with it
    # What it held before, as far as anybody still holds that: made here (who has one, has it from
    # here), or a body's own.
    wrappers: list[Any] = field(default_factory=list)
    replacements: list[Any] = field(default_factory=list)
    rebind: frozenset[str] = frozenset()  # packages whose copies are repointed
    guard: threading.RLock = field(default_factory=threading.RLock)
    # Whether a patch lies on a place; such a copy goes with that one.
    is_patched: Callable[[Any, TargetStep], bool] = lambda _owner, _name: False

    def __post_init__(self) -> None:
        self.current = self.original
        self._is_made = False
        self._code: CodeType | None = None

    @property
    def words(self) -> str:
        """For messages."""
        return words(self.owner, self.name)

    @property
    def patches(self) -> list[str]:
        """Names of the patches that lie on it, the innermost first."""
        return list(dict.fromkeys(layer.patch for layer in self.layers if layer.patch))

    def put(self, layer: Layer) -> None:
        """Put a layer on, where its rank says; a TargetError where it, or a copy, is not kept."""
        with self.guard:
            layers = sorted([*self.layers, layer], key=lambda each: (not each.base, each.rank))
            if refused := self._set(layers):
                raise TargetError(_refusal(refused))

    def take(self, layer: Layer) -> None:
        """Take a layer off, if it is on; also one that was put on by half.

        An UndoError where somebody else has overwritten it since, and it is left as it is; or
        where a copy refuses what it held before, and the others have it back.
        """
        with self.guard:
            if layer not in self.layers:
                return
            try:
                self._take([kept for kept in self.layers if kept is not layer])
            finally:
                if layer not in self.layers:
                    layer.value = None  # else it looked as if somebody had copied it

    def _take(self, left: list[Layer]) -> None:
        value = read(self.owner, self.name)
        errors: list[str] = []
        if not (known := self.knows(value)):
            what = f"overwritten by somebody else with {described(value)}"
            errors.append(f"{self.words} was {what}; it is left as it is")
        try:
            refused = self._set(left, copies_only=not known)
        except Exception:
            self._repoint()  # its copies go back even where it itself refuses
            raise
        if refused:
            errors.append(_refusal(refused))
        if errors:
            raise UndoError("; ".join(errors))

    def is_intact(self) -> bool:
        """Whether it still holds what was last put there."""
        return read(self.owner, self.name) is self.current

    def code_since(self) -> tuple[FunctionType, CodeType] | None:
        """The function that was put there, and its code then, where it has another by now."""
        function, code = function_of(self.current), self._code
        if function is None or code is None or function.__code__ is code:
            return None
        return function, code

    def knows(self, value: Any) -> bool:
        """Whether a value is the original, or was ever put there."""
        known = (self.current, self.original, *self.wrappers, *self.replacements)
        return any(value is held for held in known)

    def followers(self) -> Iterator[tuple[Any, TargetStep, Any]]:
        """The copies that still hold what they have from here: their places, and what it is."""
        for owner, name in list(self.aliases.values()):
            value = read(owner, name)
            if value is not MISSING and self.knows(value) and not self.is_patched(owner, name):
                yield owner, name, value

    def forget(self, owner: Any, name: TargetStep) -> None:
        """Leave a copy, which does not go with this one after all."""
        self.aliases.pop(place_of(owner, name), None)

    def _set(self, layers: list[Layer], *, copies_only: bool = False) -> list[str]:
        value, is_made = self.original, False
        for layer in layers:
            below, value = value, layer.make(value)
            layer.value = value
            is_made = value is not below and not layer.base
        former = self.layers, self.current, self._is_made
        self._outdate()
        # Noted first: what is torn off in the middle can be taken back.
        self.layers, self.current, self._is_made = layers, value, is_made
        if copies_only:
            pass
        elif not (layers or self.own):
            restore(self.owner, self.name, self.original)
        elif not self.is_intact():
            write(self.owner, self.name, value)
            if not self.is_intact():
                self._give_up(*former)
        function = function_of(self.current)
        self._code = function.__code__ if function is not None and layers else None
        return self._repoint()

    def _give_up(self, layers: list[Layer], current: Any, is_made: bool) -> None:
        """Refuse a place behind code that gives out something else, as C keeps what it is given."""
        kept = read(self.owner, self.name)
        self.layers, self.current, self._is_made = layers, current, is_made
        if layers or self.own:
            write(self.owner, self.name, current)
        else:
            restore(self.owner, self.name, self.original)
        now = read(self.owner, self.name)
        with contextlib.suppress(Exception):  # a stranger's `__eq__` may raise anything
            now = current if now == current else now  # each look may make a new one
        changed = "" if now is current else f"; it is not as it was: it holds {described(now)}"
        raise TargetError(
            f"{self.words} is kept elsewhere than in an attribute: it holds {described(kept)} "
            "after it was set, expected the very object; let an AfterImport set it and return "
            f"what takes that back{changed}"
        )

    def _outdate(self) -> None:
        former = self.wrappers if self._is_made else self.replacements
        if self.layers and all(value is not self.current for value in (self.original, *former)):
            former.append(self.current)
        for former in (self.wrappers, self.replacements):
            former[:] = held_elsewhere(former)

    def _repoint(self) -> list[str]:
        refused: list[str] = []
        for owner, name, value in self.followers() if self.current is not MISSING else ():
            if value is not self.current:
                try:
                    write(owner, name, self.current)
                except Exception as error:  # noqa: BLE001 - a stranger's metaclass may raise any
                    refused.append(f"{words(owner, name)} ({type(error).__name__}: {error})")
        return refused


def _refusal(refused: list[str]) -> str:
    return (
        f"cannot set {', '.join(refused)}, which has what it holds from there, and keeps that; "
        "let it be set, or leave it out of `rebind`"
    )


class Sites(Record, frozen=False, eq=False):
    """Every changed attribute of this process, by owner and name."""

    _sites: dict[Place, Site] = field(default_factory=dict)
    _led: dict[Place, Site] = field(default_factory=dict)
    _noted: dict[object, object] = field(default_factory=dict)
    _guard: threading.RLock = field(default_factory=threading.RLock)

    def after_fork(self) -> None:
        """Forget threads that were changing a site."""
        self._guard = threading.RLock()
        for site in self:
            site.guard = self._guard

    def __iter__(self) -> Iterator[Site]:
        return iter(list(self._sites.values()))

    def at(self, location: Location) -> Site:
        """Return the site for a location.

        A site that holds a stranger's value (its module was reloaded, somebody overwrote it) is
        forgotten: what stands there now is the original of a new one.
        """
        with self._guard:
            site = self.get(location.owner, location.name)
            if site is None or not site.knows(read(site.owner, site.name)):
                site = Site(location.owner, location.name, location.value, location.own)
                site.is_patched, site.guard = self.holds, self._guard
                self._sites[place_of(location.owner, location.name)] = site
        return site

    def get(self, owner: object, name: TargetStep) -> Site | None:
        """Return the latest site of an attribute that was changed."""
        return self._sites.get(place_of(owner, name))  # it keeps its owner alive

    def leader(self, owner: object, name: TargetStep) -> Site | None:
        """Return the site that a place was last repointed with."""
        site = self._led.get(place_of(owner, name))
        return site if site is not None and place_of(owner, name) in site.aliases else None

    def follow(self, site: Site, owner: Any, name: TargetStep) -> None:
        """Note that a place goes with a site from now on, and with no other."""
        place = place_of(owner, name)
        if (before := self._led.get(place)) is not None:
            before.aliases.pop(place, None)
        self._led[place] = site
        site.aliases[place] = (owner, name)

    def holds(self, owner: object, name: TargetStep) -> bool:
        """Whether a patch lies on this very attribute."""
        site = self.get(owner, name)
        return site is not None and bool(site.layers)

    def noted(self, kind: Callable[[], _Noted]) -> _Noted:
        """Return what a kind of change notes for this process, made when it is first asked for."""
        if kind not in self._noted:
            self._noted[kind] = kind()
        return cast("_Noted", self._noted[kind])
