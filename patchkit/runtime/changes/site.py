"""A site: one changed attribute or item, with the layers that patches have put on it.

Its value is the original, replaced or wrapped by each layer in turn. Layers can be removed in any
order; once none remains, the value is the very original again.

Its copies (`from module import name` in other modules) get each new value, too. A site may itself
be a copy of another one, its source: a new value there becomes the original here.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NoReturn
from weakref import getweakrefcount

from patchkit.core.record import Record, field
from patchkit.core.rows.target import Item, TargetStep
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.foreign import described, is_equal
from patchkit.runtime.changes.owners import (
    MISSING,
    SiteKey,
    function_of,
    read,
    restore,
    words,
    write,
)


class Layer(Record, frozen=False, eq=False):
    """What one change puts on a site.

    Args:
        make: A function that takes the value below the layer and returns the changed one.
        base: Whether the layer replaces the original (Replace), so that it lies below those that
            wrap.
        rank: Orders layers with the same `base`: the position of the row, and of the change in it.
        patch: The name of the patch; "" for patchkit's own layers.
        value: The result of `make` while the layer is on the site.
    """

    make: Callable[[Any], Any]
    base: bool = False
    rank: tuple[int, int] = (-1, 0)
    patch: str = ""
    value: Any = None

    @property
    def height(self) -> tuple[bool, tuple[int, int]]:
        """Sort key of layers, innermost first: those that replace the original, then by rank."""
        return not self.base, self.rank


class Site(Record, frozen=False, eq=False):
    """A changed attribute of an owner, or a changed item of a container.

    Args:
        owner: The module, class, other object or container.
        name: The attribute, or the item.
        original: The value below all layers: the one before any patch, or the newer one of its
            source; MISSING if there was none.
        own: Whether the owner itself has it, and does not inherit it; otherwise the attribute is
            deleted with the last layer.
        shared: Whether other objects may have referred to the first original before it was changed.
        layers: The layers on it, the innermost first.
        current: The value that was stored last.
        aliases: The copies that are repointed with it: owner and name, by their keys.
        wrappers: Former values made by Wrap that something still refers to.
        replacements: Former values that are a body's own objects and that something still refers
            to.
        former_originals: The first original and the last one, if its source has changed since.
        rebind: The packages whose copies are repointed.
        home: The module in which a row names it; "" for none.
        guard: The lock to hold while the site is changed or compared.
        is_patched: Tells whether an attribute has a site with layers. A copy that has one is not
            repointed with this site.
        update_deriving: Updates the sites whose original comes from this one; returns those of
            their copies that could not be set, with the errors.
    """

    owner: Any
    name: TargetStep
    original: Any
    own: bool
    shared: bool = True
    layers: list[Layer] = field(default_factory=list)
    current: Any = None
    aliases: dict[SiteKey, tuple[Any, TargetStep]] = field(default_factory=dict)
    wrappers: list[Any] = field(default_factory=list)
    replacements: list[Any] = field(default_factory=list)
    former_originals: list[Any] = field(default_factory=list)
    rebind: frozenset[str] = frozenset()
    home: str = ""
    guard: threading.RLock = field(default_factory=threading.RLock)
    is_patched: Callable[[Any, TargetStep], bool] = lambda _owner, _name: False
    update_deriving: Callable[["Site"], list[str]] = lambda _site: []

    def __post_init__(self) -> None:
        self.current = self.original
        self._is_wrapper = False
        """Whether the current value is a function made by Wrap, and no body's own object."""
        self._is_being_updated = False
        self._code: CodeType | None = None
        """The code of the current value when it was stored, for `code_since`."""

    @property
    def words(self) -> str:
        """The name of the attribute or item for messages."""
        return words(self.owner, self.name)

    @property
    def patches(self) -> list[str]:
        """The names of the patches with layers on it, the innermost first."""
        return list(dict.fromkeys(layer.patch for layer in self.layers if layer.patch))

    def put(self, layer: Layer) -> None:
        """Add a layer in the place that its rank gives it, and store the new value.

        Args:
            layer: The layer, which is not on the site yet.

        Raises:
            TargetError: The attribute or one of its copies does not keep the value that is stored.
        """
        with self.guard:
            if not (self.layers or self.own):
                # The value is inherited, and the same row may have changed it on the base.
                self.original = read(self.owner, self.name)
            refused = self._set(
                sorted([*self.layers, layer], key=lambda each: each.height)
            )
            if refused:
                raise TargetError(_refusal(refused))

    def remove(self, layer: Layer) -> None:
        """Remove a layer, if it is on the site, and store the value without it.

        Args:
            layer: The layer that `put` was called with, even if that was interrupted.

        Raises:
            UndoError: Somebody else has overwritten the attribute, so that it is left as it is; or
                a copy cannot be set to the former value. All other copies have been set by then.
        """
        with self.guard:
            if layer not in self.layers:
                return
            try:
                self._remove(layer)
            finally:
                if layer not in self.layers:
                    # A reference to the value would count as a copy of it.
                    layer.value = None

    def _remove(self, layer: Layer) -> None:
        """Remove a layer that is on the site; see `remove`."""
        errors: list[str] = []
        value = read(self.owner, self.name)
        is_known = self.knows(value)
        if not is_known:
            stranger = described(value)
            errors.append(
                f"{self.words} was overwritten by somebody else with {stranger}; "
                "it is left as it is"
            )
        remaining = [candidate for candidate in self.layers if candidate is not layer]
        try:
            refused = self._set(remaining, copies_only=not is_known)
        except Exception:
            self._repoint()  # restores the copies even if the attribute itself cannot be set
            raise
        if refused:
            errors.append(_refusal(refused))
        if errors:
            raise UndoError("; ".join(errors))

    def set_original(self, original: Any) -> list[str]:
        """Replace the original beneath the layers, since its source has another value now.

        Args:
            original: The new original.

        Returns:
            The copies that could not be set to the new value, with the errors.

        Raises:
            TargetError: The attribute does not keep the value that is stored.
        """
        with self.guard:
            # (Two sites may be copies of each other: their updates must not go round for ever.)
            if original is self.original or self._is_being_updated:
                return []
            former = self.original
            # An attribute that somebody else has set or deleted is left as it is.
            is_known = self.knows(read(self.owner, self.name)) and self._is_on_owner()
            # Only the first and the last: the source knows those between, which it has had itself.
            self.former_originals = [*self.former_originals[:1], former]
            self.original = original
            self.shared = True
            self._is_being_updated = True
            try:
                return self._set(self.layers, copies_only=not is_known)
            except Exception:
                self.original = former
                raise
            finally:
                self._is_being_updated = False

    def is_intact(self) -> bool:
        """Whether the attribute still has the value that was stored last."""
        return read(self.owner, self.name) is self.current

    def _is_on_owner(self) -> bool:
        """Whether the owner has the attribute itself; a class may inherit an equal value."""
        if not isinstance(self.owner, type) or isinstance(self.name, Item):
            return True
        return self.name in vars(self.owner)

    def code_since(self) -> tuple[FunctionType, CodeType] | None:
        """Return the function that was stored here, if its `__code__` has been replaced since.

        Returns:
            The function, and the code that it had when it was stored; None if it still has that
            code, or if the value is no function.
        """
        function = function_of(self.current)
        code = self._code
        if function is None or code is None or function.__code__ is code:
            return None
        return function, code

    def knows(self, value: Any) -> bool:
        """Whether a value is the original, or one that was ever stored here.

        Args:
            value: The value of this attribute or of a copy.
        """
        if value is self.current or value is self.original:
            return True
        former_values = (*self.wrappers, *self.replacements, *self.former_originals)
        return any(value is former for former in former_values)

    def followers(self) -> Iterator[tuple[Any, TargetStep, Any]]:
        """Yield owner, name and value of each copy that still has a value from here."""
        for owner, name in list(self.aliases.values()):
            value = read(owner, name)
            if (
                value is not MISSING
                and self.knows(value)
                and not self.is_patched(owner, name)
            ):
                yield owner, name, value

    def _set(self, layers: list[Layer], *, copies_only: bool = False) -> list[str]:
        """Compute the value from some layers, and store it in the attribute and its copies.

        Args:
            layers: The layers, the innermost first.
            copies_only: Whether to leave the attribute itself as it is.

        Returns:
            The copies that could not be set, with the errors.
        """
        value = self.original
        is_wrapper = False
        for layer in layers:
            below = value
            value = layer.make(below)
            layer.value = value
            # Decided by the outermost layer, which comes last.
            is_wrapper = value is not below and not layer.base
        state_before = (self.layers, self.current, self._is_wrapper)
        self._retire_current()
        # Before anything is stored, so that `remove` can undo it after an interruption.
        self.layers = layers
        self.current = value
        self._is_wrapper = is_wrapper
        if not copies_only:
            self._store(*state_before)
        # (Without layers, no function of a patch is here whose code could be replaced.)
        function = function_of(value) if layers else None
        self._code = None if function is None else function.__code__
        refused = self._repoint()
        return refused + self.update_deriving(self)

    def _store(self, layers: list[Layer], current: Any, is_wrapper: bool) -> None:
        """Store the current value in the attribute; if it does not stay there, restore and raise.

        The arguments are the state before: the layers, the value, and whether Wrap had made that.
        """
        if not self.layers and not self.own:
            restore(self.owner, self.name, self.original)
            return
        value = self.current
        if read(self.owner, self.name) is value and self._is_on_owner():
            return  # it is stored already
        try:
            write(self.owner, self.name, value)
        except Exception as error:  # an unknown `__setattr__` may raise anything
            if len(self.layers) < len(layers):
                raise  # an undo: it is the owner's own error
            raise TargetError(
                f"{self.words} cannot be set ({type(error).__name__}: {error}); use AfterImport "
                "and return an undo"
            ) from error
        if read(self.owner, self.name) is not value:
            self._reject(layers, current, is_wrapper)

    def _reject(self, layers: list[Layer], current: Any, is_wrapper: bool) -> NoReturn:
        """Restore the former state, and raise a TargetError: the attribute reads as another object.

        That is so if a descriptor, or an attribute in C, stores a converted value.
        """
        result = read(self.owner, self.name)
        self.layers = layers
        self.current = current
        self._is_wrapper = is_wrapper
        if layers or self.own:
            write(self.owner, self.name, current)
        else:
            restore(self.owner, self.name, self.original)
        restored = read(self.owner, self.name)
        changed = ""
        # Not by identity: such an attribute may make a new object whenever it is read.
        if not is_equal(restored, current):
            changed = f"; it is not as it was: it holds {described(restored)}"
        raise TargetError(
            f"{self.words}: assigning it does not store the object itself (reads back "
            f"{described(result)}); use AfterImport and return an undo{changed}"
        )

    def _retire_current(self) -> None:
        """Move the current value to the former ones; drop those that nothing refers to any more."""
        former_values = self.wrappers if self._is_wrapper else self.replacements
        if self.layers and all(
            value is not self.current for value in (self.original, *former_values)
        ):
            former_values.append(self.current)
        for values in (self.wrappers, self.replacements):
            if values:
                values[:] = held_elsewhere(values)

    def _repoint(self) -> list[str]:
        """Store the current value in the copies; return those that cannot be set, with errors."""
        refused: list[str] = []
        if self.current is MISSING:  # an added attribute was removed; its copies stay
            return refused
        for owner, name, value in self.followers():
            if value is self.current:
                continue
            try:
                write(owner, name, self.current)
            except Exception as error:  # noqa: BLE001 - an unknown metaclass may raise anything
                fault = f"{type(error).__name__}: {error}"
                refused.append(f"{words(owner, name)} ({fault})")
        return refused


def _refusal(refused: list[str]) -> str:
    """Return the message about copies that cannot be set."""
    if len(refused) == 1:
        return (
            f"cannot repoint the read-only copy {refused[0]}; "
            "make it writable or exclude it by `rebind`"
        )
    return (
        f"cannot repoint the read-only copies {', '.join(refused)}; "
        "make them writable or exclude them by `rebind`"
    )


def held_elsewhere(values: list[Any]) -> list[Any]:
    """Return the values of a list that something else refers to, if only by a weak reference.

    Args:
        values: The list. Nothing else of the caller may refer to its items.
    """
    # The count for an object in one list only, with the references that loop and call add.
    lone = [object()]
    (least_count,) = [sys.getrefcount(value) for value in lone]
    return [
        value
        for value in values
        if sys.getrefcount(value) > least_count or getweakrefcount(value)
    ]
