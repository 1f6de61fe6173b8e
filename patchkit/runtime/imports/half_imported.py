"""Modules that are being imported now, and how to be called when that ends."""

import sys
from _thread import get_ident
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib import _bootstrap
from types import ModuleType
from typing import Any

Waiter = tuple[Callable[[str], None], str]

_WAITERS = "_patchkit_waiters"


def is_half_imported(module: ModuleType) -> bool:
    """Whether a module is being imported now."""
    return is_initializing(spec_of(module))


def is_initializing(spec: object) -> bool:
    """Whether importlib is executing the module of this spec."""
    return bool(getattr(spec, "_initializing", False))


def being_imported() -> frozenset[str]:
    """Name the modules that importlib has locked, those that it executes among them."""
    bootstrap: Any = _bootstrap
    return frozenset(bootstrap._module_locks)  # noqa: SLF001 - nobody else knows


def spec_of(module: ModuleType) -> Any:
    """Return a module's spec or None, without loading a lazy module."""
    try:
        return object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None


def importer_awaited(thread: int) -> int | None:
    """Return the thread that imports the module for which another thread waits, or None."""
    bootstrap: Any = _bootstrap
    awaited = (bootstrap._blocking_on or {}).get(thread)  # noqa: SLF001 - nobody else knows
    locks = [*awaited] if isinstance(awaited, list) else [awaited]  # a list since Python 3.12
    return getattr(locks[-1], "owner", None) if locks else None


def forget_imports(threads: Collection[int | None]) -> None:
    """In a forked child: let modules be imported again that these lost threads were importing."""
    bootstrap: Any = _bootstrap
    locks = bootstrap._module_locks  # noqa: SLF001
    for name, reference in list(locks.items()) if threads else ():
        owner = getattr(reference(), "owner", None)
        if owner in threads and owner not in {None, get_ident()}:
            locks.pop(name, None)
            if (module := sys.modules.get(name)) and is_initializing(spec_of(module)):
                del sys.modules[name]


def culprit(error: Exception) -> str | None:
    """Name the half-imported module in which, by an error, something is missing, or None."""
    name = getattr(error, "name", None) or ""
    if isinstance(error, AttributeError):
        module = getattr(getattr(error, "obj", None), "__name__", "")
        names = [f"{module}.{name}", module]  # a submodule is its package's only once it is whole
    else:
        names = [name]
    there = [(name, sys.modules.get(name)) for name in names]
    half = (name for name, module in there if module and is_initializing(spec_of(module)))
    return next(half, None)


def when_initialized(spec: Any, call: Callable[[str], None], name: str) -> bool:
    """Call `call(name)` when importlib is done with a spec; False if that cannot be arranged.

    No lock is needed: the end of the import stores the attribute, then takes the waiters; this
    adds a waiter, then reads the attribute. Either the end finds the waiter, or we find the end.
    """
    waiters: dict[object, Waiter] = vars(spec).setdefault(_WAITERS, {})
    ours = object()
    waiters[ours] = (call, name)
    with suppress(TypeError):  # a class of another layout, or one that nobody may derive from
        if not _is_awaited(type(spec)):
            spec.__class__ = _awaited_kind(type(spec))
        if is_initializing(spec):
            return True
    _become_plain(spec)
    is_taken = waiters.pop(ours, None) is None
    if not waiters:  # others' are left for the end to take
        vars(spec).pop(_WAITERS, None)
    return is_taken


def _become_plain(spec: Any) -> None:
    kind = type(spec)
    if _is_awaited(kind):
        spec.__class__ = kind.__base__


def _is_awaited(kind: type) -> bool:
    return vars(kind).get("__setattr__") is _set


def _awaited_kind(kind: type) -> type:
    """Make the class of a spec while somebody waits for the end of its module's import.

    The import ends when importlib sets `_initializing` to False. Reading that attribute, as the
    interpreter does at every import statement, works as before.
    """
    home = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    # No mixin: with a second base the layout would differ, and no instance could change over.
    return type(kind.__name__, (kind,), {**home, "__setattr__": _set})


def _set(spec: object, key: str, value: object) -> None:
    object.__setattr__(spec, key, value)
    if key == "_initializing" and not value:
        _become_plain(spec)
        waiters: dict[object, Waiter] = vars(spec).pop(_WAITERS, {})
        taken: dict[Waiter, None] = {}
        with suppress(KeyError):  # it is empty: whoever waits takes its own away at the same time
            while True:
                taken[waiters.popitem()[1]] = None
        for call, name in taken:
            call(name)
