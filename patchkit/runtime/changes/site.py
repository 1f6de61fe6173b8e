"""One changed attribute or item, with the layers that patches have put on it.

Layers can be taken off in any order: its value is always the original with the layers that remain,
and the very original once none remains.
"""

import threading
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NoReturn

from patchkit.core.record import Record, field
from patchkit.core.rows.target import Item, TargetStep
from patchkit.errors import TargetError, UndoError
from patchkit.runtime.changes.foreign import described, is_equal
from patchkit.runtime.changes.owners import (
    MISSING,
    SiteKey,
    function_of,
    held_elsewhere,
    read,
    restore,
    site_key,
    words,
    write,
)


class Layer(Record, frozen=False, eq=False):
    """One patch's part in a site.

    Args:
        make: Makes the value with this layer of the value below it.
        base: Whether the layer takes the place of the original (Replace), so that it lies below
            those that wrap.
        rank: Orders layers of the same sort: the position of the row, and of the change in it.
        patch: The name of the patch; "" for patchkit's own layers.
        value: What `make` has returned, as long as the layer lies on the site.
    """

    make: Callable[[Any], Any]
    base: bool = False
    rank: tuple[int, int] = (-1, 0)
    patch: str = ""
    value: Any = None


class Site(Record, frozen=False, eq=False):
    """A changed attribute of an owner, or a changed item of a container.

    Args:
        owner: The module, class, other object or container.
        name: The attribute, or the item.
        original: What lies below all layers: what was stored before any patch, and follows what it
            was got from; MISSING if nothing was.
        own: Whether the owner held it itself; otherwise it is removed with the last layer.
        layers: The layers on it, the innermost first.
        current: What was last put there.
        aliases: The copies that are repointed with it: owner and name, by their keys.
        wrappers: Earlier values that somebody still holds, and that were made here.
        replacements: Earlier values that somebody still holds, and that are a body's own objects.
        former_originals: What lay below all layers before what it was got from changed: at first,
            and last.
        rebind: The packages whose copies are repointed.
        home: The module in which a row names it; "" for none.
        guard: The lock to hold while the site is changed or compared.
        is_patched: Whether a patch lies on an attribute of an owner; a copy there goes with that
            attribute's own site.
        carry_along: Has the sites that derive from this one follow it; returns the copies of these
            that refused that, with their errors.
    """

    owner: Any
    name: TargetStep
    original: Any
    own: bool
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
    carry_along: Callable[["Site"], list[str]] = lambda _site: []

    def __post_init__(self) -> None:
        self.current = self.original
        self._is_made = False
        self._is_carried = False
        self._code: CodeType | None = None

    @property
    def words(self) -> str:
        """Its name for messages."""
        return words(self.owner, self.name)

    @property
    def patches(self) -> list[str]:
        """Names of the patches that lie on it, the innermost first."""
        return list(dict.fromkeys(layer.patch for layer in self.layers if layer.patch))

    def put(self, layer: Layer) -> None:
        """Put a layer on, where its rank says.

        Args:
            layer: The layer, which does not lie on the site yet.

        Raises:
            TargetError: The attribute or one of its copies does not keep what it is given.
        """
        with self.guard:
            if not (self.layers or self.own):
                # Its base may have been changed since, by the same row.
                self.original = read(self.owner, self.name)
            refused = self._set(sorted([*self.layers, layer], key=_height))
            if refused:
                raise TargetError(_refusal(refused))

    def take(self, layer: Layer) -> None:
        """Take a layer off, if it is on; also one that was only half put on.

        Args:
            layer: The layer that `put` was given.

        Raises:
            UndoError: Somebody else has overwritten the attribute, and it is left as it is; or a
                copy refuses its earlier value, while the other copies have theirs again.
        """
        with self.guard:
            if layer not in self.layers:
                return
            try:
                self._take(layer)
            finally:
                if layer not in self.layers:
                    layer.value = None  # else it looked as if somebody had copied it

    def _take(self, layer: Layer) -> None:
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
            self._repoint()  # its copies go back even where it itself refuses
            raise
        if refused:
            errors.append(_refusal(refused))
        if errors:
            raise UndoError("; ".join(errors))

    def carry(self, original: Any) -> list[str]:
        """Put the layers on what the attribute got its original from, as that is now.

        Args:
            original: What lies below all layers from now on.

        Returns:
            The copies that refused the new value, with their errors.

        Raises:
            TargetError: The attribute does not keep what it is given.
        """
        with self.guard:
            if original is self.original or self._is_carried:
                return []
            former = self.original
            # What a stranger has put there, or deleted, stays as it is.
            is_known = self.knows(read(self.owner, self.name)) and self._is_held()
            # The first and the last: those between are the other site's to know.
            self.former_originals = [*self.former_originals[:1], former]
            self.original = original
            self._is_carried = True
            try:
                return self._set(self.layers, copies_only=not is_known)
            except Exception:
                self.original = former
                raise
            finally:
                self._is_carried = False

    def is_intact(self) -> bool:
        """Whether it still holds what was last put there."""
        return read(self.owner, self.name) is self.current

    def _is_held(self) -> bool:
        """Whether a class holds it itself, and does not only inherit an equal one."""
        if not isinstance(self.owner, type) or isinstance(self.name, Item):
            return True
        return self.name in vars(self.owner)

    def code_since(self) -> tuple[FunctionType, CodeType] | None:
        """Return the function that was put there, if its code was replaced since.

        Returns:
            The function, and the code that it had when it was put there; None if it still has that
            code, or if no function was put there.
        """
        function = function_of(self.current)
        code = self._code
        if function is None or code is None or function.__code__ is code:
            return None
        return function, code

    def knows(self, value: Any) -> bool:
        """Whether a value is the original, or was ever put there.

        Args:
            value: What is stored here, or in a copy.
        """
        if value is self.current or value is self.original:
            return True
        former_values = (*self.wrappers, *self.replacements, *self.former_originals)
        return any(value is former for former in former_values)

    def followers(self) -> Iterator[tuple[Any, TargetStep, Any]]:
        """Yield the copies that still hold what they have from here: owner, name and value."""
        for owner, name in list(self.aliases.values()):
            value = read(owner, name)
            if (
                value is not MISSING
                and self.knows(value)
                and not self.is_patched(owner, name)
            ):
                yield owner, name, value

    def forget(self, owner: Any, name: TargetStep) -> None:
        """Leave a copy alone from now on.

        Args:
            owner: What holds the copy.
            name: Its attribute or item.
        """
        self.aliases.pop(site_key(owner, name), None)

    def _set(self, layers: list[Layer], *, copies_only: bool = False) -> list[str]:
        """Put the value of some layers on the attribute, unless `copies_only`, and on its copies.

        Returns:
            The copies that refused the value, with their errors.
        """
        value = self.original
        is_made = False
        for layer in layers:
            below = value
            value = layer.make(below)
            layer.value = value
            is_made = value is not below and not layer.base
        former = (self.layers, self.current, self._is_made)
        self._retire_current()
        # Noted first, the layers before all: what is torn off in the middle can be taken back.
        self.layers = layers
        self.current = value
        self._is_made = is_made
        if not copies_only:
            self._store(*former)
        function = function_of(value) if layers else None
        self._code = None if function is None else function.__code__
        refused = self._repoint()
        return refused + self.carry_along(self)

    def _store(self, layers: list[Layer], current: Any, is_made: bool) -> None:
        """Put the current value on the attribute, or the former state back if it does not stay."""
        if not self.layers and not self.own:
            restore(self.owner, self.name, self.original)
            return
        value = self.current
        if read(self.owner, self.name) is value and self._is_held():
            return
        write(self.owner, self.name, value)
        if read(self.owner, self.name) is not value:
            self._reject(layers, current, is_made)

    def _reject(self, layers: list[Layer], current: Any, is_made: bool) -> NoReturn:
        """Return to the former state, since reading the attribute gives another object.

        So it does where a descriptor or an attribute in C keeps what it is given in its own form.
        """
        result = read(self.owner, self.name)
        self.layers = layers
        self.current = current
        self._is_made = is_made
        if layers or self.own:
            write(self.owner, self.name, current)
        else:
            restore(self.owner, self.name, self.original)
        restored = read(self.owner, self.name)
        changed = ""
        # Not identical: each look may make a new one.
        if not is_equal(restored, current):
            changed = f"; it is not as it was: it holds {described(restored)}"
        raise TargetError(
            f"{self.words}: assigning it does not store the object itself (reads back "
            f"{described(result)}); use AfterImport and return an undo{changed}"
        )

    def _retire_current(self) -> None:
        """List the current value among the earlier ones, and drop those that nobody holds."""
        former = self.replacements
        if self._is_made:
            former = self.wrappers
        if self.layers and all(
            value is not self.current for value in (self.original, *former)
        ):
            former.append(self.current)
        for values in (self.wrappers, self.replacements):
            if values:
                values[:] = held_elsewhere(values)

    def _repoint(self) -> list[str]:
        """Put the current value on the copies; return those that refused it, with their errors."""
        refused: list[str] = []
        if self.current is MISSING:
            return refused
        for owner, name, value in self.followers():
            if value is self.current:
                continue
            try:
                write(owner, name, self.current)
            except Exception as error:  # noqa: BLE001 - a stranger's metaclass may raise any
                fault = f"{type(error).__name__}: {error}"
                refused.append(f"{words(owner, name)} ({fault})")
        return refused


def _height(layer: Layer) -> tuple[bool, tuple[int, int]]:
    """Order layers: those that replace the original first, each sort by rank."""
    return not layer.base, layer.rank


def _refusal(refused: list[str]) -> str:
    if len(refused) == 1:
        return (
            f"cannot repoint the read-only copy {refused[0]}; "
            "make it writable or exclude it by `rebind`"
        )
    return (
        f"cannot repoint the read-only copies {', '.join(refused)}; "
        "make them writable or exclude them by `rebind`"
    )
