"""Prepares Decorate: the target becomes what a function of the body makes of it.

The function, the decorator, is called once for each value that lies below it: when the change is
made, and again when another patch has changed that value since. It gets what callers reach: the
function in a static or class method, the getter of a property. Its result is stored in that place.
"""

import copy
import functools
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.core.rows.declaration import Decorate
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.objects.kernels import operator_at
from patchkit.runtime.changes.objects.refusals import (
    refuse_fixed,
    refuse_members_and_slots,
    refuse_other_kind,
    refuse_unrelated,
    refused_call,
)
from patchkit.runtime.changes.owners import (
    MISSING,
    Location,
    locate,
    locate_free,
)
from patchkit.runtime.changes.site import Layer, Site

_OF_FUNCTIONS = (
    "__code__",
    "__defaults__",
    "__kwdefaults__",
    "__doc__",
    "__annotations__",
    "__name__",
    "__qualname__",
)
"""What a decorator may set on a function beside its own attributes."""

_IMMUTABLE = (int, float, complex, str, bytes, type(None))
"""Values that a decorator may give back: it cannot have changed them."""

_RESULT = "what the decorator returned"
_ESCAPE = "Replace with unrelated=True allows another"
_DESCRIPTORS = (staticmethod, classmethod, property, functools.cached_property)


def prepare(change: Decorate, context: Context) -> PreparedLayers:
    """Resolve a target, and find the decorator.

    Args:
        change: What the row declares.
        context: What it is prepared with; the target's module has been imported.

    Returns:
        The change, to be applied.

    Raises:
        TargetError: The target or the decorator is not there, or nothing can be put there.
    """
    assert context.module is not None
    label = f"Decorate({change.target!r})"
    qualname = change.place.qualname
    location = locate_free(context.module, qualname)
    decorator: Any = context.object_named(change.by)
    if not callable(decorator):
        raise TargetError(f"{label}: found {decorator!r}, expected a function")
    if operator_at(location, context.sites, label) is not None:
        raise TargetError(
            f"{label}: found an operator of torch, expected a function or a class; Wrap it, or "
            "Replace it"
        )
    if location.value is MISSING:
        locate(context.module, qualname)  # raises, and says what is near
    refuse_fixed(location, label)
    site = context.sites.at(location)
    decoration = _Decoration(decorator, location, site, label)
    parts = [(site, context.layer(decoration))]
    layers = PreparedLayers(parts)
    if isinstance(location.owner, type):
        from patchkit.runtime.changes.objects.creation import (  # noqa: PLC0415 - of classes only
            AbstractNames,
            PreparedMember,
        )

        names = AbstractNames(location.owner, str(location.name), context.sites)
        layers = PreparedMember(parts, names)
    return PreparedDecoration(parts, layers, decoration)


class PreparedDecoration(PreparedLayers, frozen=False):
    """A Decorate that has been checked; the decorator is called when the change is applied.

    Args:
        parts: The layer on the target, with its site.
        layers: The same, to be applied; for a class, this also updates its abstract methods.
        decoration: The layer's `make`, which calls the decorator.
    """

    layers: PreparedLayers
    decoration: "_Decoration"

    def apply(self) -> None:
        """Call the decorator, while no lock is held, and put its result in the target's place.

        Raises:
            TargetError: What it returns cannot serve in the target's place.
        """
        ((site, layer),) = self.parts
        # `decoration` keeps the result, and returns it once more when the layer is put on: then the
        # site is locked.
        self.decoration(_below(site, layer))
        self.layers.apply()

    def undo(self) -> None:
        """Put the target back, and restore what the decorator has changed in the target itself."""
        try:
            self.layers.undo()
        finally:
            self.decoration.forget()


def _below(site: Site, layer: Layer) -> Any:
    """Return what a layer will lie on once it is put on a site."""
    value = site.original
    for other in site.layers:
        # Those that replace the original always lie below those that wrap or decorate.
        if other.base or other.rank <= layer.rank:
            value = other.value
    return value


class _Decoration:
    """A layer's `make`: calls the decorator with the value below, once for each such value.

    Args:
        decorator: The body's function.
        location: The location of the target.
        site: The site of this location.
        label: The start of an error's message: the change, as its row declares it.
    """

    def __init__(
        self,
        decorator: Callable[[Any], Any],
        location: Location,
        site: Site,
        label: str,
    ) -> None:
        self._decorator = decorator
        self._location = location
        self._site = site
        self._label = label
        self._below: Any = MISSING
        self._value: Any = MISSING
        self._restores: list[Callable[[], None]] = []

    def __call__(self, below: Any) -> Any:
        """Return the decorator's result for the value below; call it only if that is a new one."""
        if below is not self._below:
            self._value = self._decorated(below)
            self._below = below
        return self._value

    def forget(self) -> None:
        """Take back what the decorator has changed in the target itself, and forget the target.

        A reference to the target would count as a copy of it.
        """
        self._below = MISSING
        self._value = MISSING
        while self._restores:
            self._restores.pop()()

    def _decorated(self, below: Any) -> Any:
        """Return the value to store in place of the one below; a descriptor stays of its kind."""
        if not isinstance(self._site.owner, type):
            return self._ask(self._bound(below))
        if isinstance(below, property):
            return self._in_kind(below.fget, below.getter)
        if isinstance(below, functools.cached_property):
            return self._in_kind(below.func, functools.partial(_cached_like, below))
        if isinstance(below, (staticmethod, classmethod)):
            return self._in_kind(below.__func__, type(below))
        return self._ask(below)

    def _bound(self, below: Any) -> Any:
        """Bind a method that an instance has from its class; return any other value as it is.

        The result is stored on the instance itself, where Python binds nothing. A value that is not
        the original is from another patch, and is bound already.
        """
        site = self._site
        # If the owner has the value itself (or is a module or container), nothing binds it.
        is_in_dict = (
            site.own
            or isinstance(site.owner, ModuleType)
            or isinstance(site.name, Item)
        )
        if below is not site.original or is_in_dict:
            return below
        if isinstance(below, FunctionType):
            return MethodType(below, site.owner)
        if isinstance(below, (classmethod, staticmethod)):
            return below.__get__(site.owner, type(site.owner))
        return below

    def _in_kind(self, function: Any, kind: Callable[[Any], Any]) -> Any:
        """Decorate the function in a descriptor; return the result in a descriptor of that kind.

        Args:
            function: The function in the descriptor.
            kind: Makes a descriptor like the original one of a function.
        """
        result = self._ask(function)
        if isinstance(result, _DESCRIPTORS):  # the decorator has made one itself
            return result
        return kind(result)

    def _ask(self, target: Any) -> Any:
        """Call the decorator, and refuse a result that cannot be used in the target's place."""
        former = _state_of(target)  # None if the target cannot be restored
        result = self._decorator(target)
        if result is target:
            if former is None and not isinstance(target, _IMMUTABLE):
                raise TargetError(
                    f"{self._label}: the decorator returned the very {type(target).__name__} that "
                    "it was given, expected another one, such as a changed copy, so that an undo "
                    "can give the target back"
                )
            if former is not None:
                self._restores.append(functools.partial(_restore, target, former))
            return result
        refuse_members_and_slots(self._location, result, self._label)
        self._refuse(target, result)
        return result

    def _refuse(self, target: Any, result: Any) -> None:
        """Raise a TargetError if callers of the target cannot use the result in its place."""
        label = self._label
        if result is None and callable(target):
            raise TargetError(
                f"{label}: the decorator returned None, expected what the target becomes"
            )
        refuse_unrelated(label, target, result, escape=_ESCAPE)
        refuse_other_kind(label, _RESULT, target, result, escape=_ESCAPE)
        fault = None
        # (Of a bound method, `refused_call` would count the `self`, too.)
        if not isinstance(target, MethodType):
            fault = refused_call(target, result)
        if fault is not None:
            raise TargetError(f"{label}: {_RESULT} {fault} ({_ESCAPE})")


def _cached_like(original: Any, function: Any) -> Any:
    """Return a cached property like another, with another function."""
    twin = copy.copy(original)
    twin.func = function
    return twin


def _state_of(target: Any) -> dict[str, Any] | None:
    """Return what a decorator may change in a class or a function; None for anything else."""
    if isinstance(target, type):
        return dict(vars(target))
    if isinstance(target, FunctionType):
        attributes = {name: getattr(target, name) for name in _OF_FUNCTIONS}
        return {**attributes, **vars(target)}
    return None


def _restore(target: Any, former: dict[str, Any]) -> None:
    """Set the attributes of a class or function that it had, and delete those that it had not.

    Args:
        target: The class or function.
        former: Its attributes before the decorator was called, from `_state_of`.
    """
    current = _state_of(target) or {}
    for name in current.keys() - former.keys():
        delattr(target, name)
    for name, value in former.items():
        if current.get(name, MISSING) is not value:
            setattr(target, name, value)
