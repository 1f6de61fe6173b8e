"""Tells which modules are being imported now, and calls back when an import ends."""

import sys
from _thread import get_ident
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from importlib import _bootstrap
from types import ModuleType
from typing import Any

Waiter = tuple[Callable[[str], None], str]
"""What is called at the end of an import, and the name of the module, which it is called with."""

_WAITERS = "_patchkit_waiters"
"""The attribute of a spec that holds its waiters by a key of each one's own."""


def is_half_imported(module: ModuleType) -> bool:
    """Whether a module is being imported now.

    Args:
        module: What `sys.modules` holds.
    """
    return is_initializing(spec_of(module))


def is_initializing(spec: object) -> bool:
    """Whether importlib is executing the module of a spec.

    Args:
        spec: The module's `__spec__`, or whatever it has in its place.
    """
    return bool(getattr(spec, "_initializing", False))


def being_imported() -> frozenset[str]:
    """Return the names of modules that importlib has locked, those that it executes among them."""
    bootstrap: Any = _bootstrap
    return frozenset(bootstrap._module_locks)  # noqa: SLF001 - nobody else knows


def spec_of(module: ModuleType) -> Any:
    """Return a module's spec or None, without loading a lazy module.

    Args:
        module: What `sys.modules` holds.
    """
    try:
        return object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None


def importer_awaited(thread: int) -> int | None:
    """Return the thread that imports the module for which another thread waits, or None.

    Args:
        thread: The identifier of the thread that may be waiting.
    """
    bootstrap: Any = _bootstrap
    awaited = (bootstrap._blocking_on or {}).get(thread)  # noqa: SLF001 - nobody else knows
    locks = [awaited]
    if isinstance(awaited, list):  # since Python 3.12
        locks = list(awaited)  # a copy, as the thread may go on at any time
    if not locks:
        return None
    return getattr(locks[-1], "owner", None)


def forget_imports(threads: Collection[int | None]) -> None:
    """In a forked child: let modules be imported again that lost threads were importing.

    Args:
        threads: The identifiers of the threads that the child does not have.
    """
    if not threads:
        return
    bootstrap: Any = _bootstrap
    locks = bootstrap._module_locks  # noqa: SLF001
    for name, reference in list(locks.items()):
        owner = getattr(reference(), "owner", None)
        if owner is None or owner == get_ident() or owner not in threads:
            continue
        locks.pop(name, None)
        module = sys.modules.get(name)
        if module and is_initializing(spec_of(module)):
            del sys.modules[name]


def culprit(error: Exception) -> str | None:
    """Find the half-imported module that explains an error.

    Args:
        error: What was raised where something was looked up or imported.

    Returns:
        The dotted name of the module; None where the error tells of none.
    """
    name = getattr(error, "name", None) or ""
    names = [name]
    if isinstance(error, AttributeError):
        module_name = getattr(getattr(error, "obj", None), "__name__", "")
        # A submodule becomes an attribute of its package only when its import ends.
        names = [f"{module_name}.{name}", module_name]
    for candidate in names:
        module = sys.modules.get(candidate)
        if module and is_initializing(spec_of(module)):
            return candidate
    return None


def when_initialized(spec: Any, call: Callable[[str], None], name: str) -> bool:
    """Call `call(name)` when importlib is done with a spec.

    No lock is needed: the end of the import stores the attribute, then takes the waiters; this
    adds a waiter, then reads the attribute. Either the end finds the waiter, or we find the end.

    Args:
        spec: The spec of a module that is being imported.
        call: What is called, in the thread that imports the module.
        name: What it is called with.

    Returns:
        Whether it is called; False where the import has ended before, or the class of the spec
        does not allow that.
    """
    waiters: dict[object, Waiter] = vars(spec).setdefault(_WAITERS, {})
    key = object()
    waiters[key] = (call, name)
    # A class of another layout, or one that nobody may derive from.
    with suppress(TypeError):
        if not _is_awaited(type(spec)):
            spec.__class__ = _awaited_kind(type(spec))
        if is_initializing(spec):
            return True
    _become_plain(spec)
    is_taken = waiters.pop(key, None) is None
    if not waiters:  # others' are left for the end to take
        vars(spec).pop(_WAITERS, None)
    return is_taken


def _become_plain(spec: Any) -> None:
    """Give a spec back the class that it had."""
    kind = type(spec)
    if _is_awaited(kind):
        spec.__class__ = kind.__base__


def _is_awaited(kind: type) -> bool:
    """Whether this is the class of a spec while somebody waits."""
    return vars(kind).get("__setattr__") is _set


def _awaited_kind(kind: type) -> type:
    """Make the class of a spec while somebody waits for the end of its module's import.

    The import ends when importlib sets `_initializing` to False. Reading that attribute, as the
    interpreter does at every import statement, works as before.
    """
    attributes = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__setattr__": _set,
    }
    # No mixin: with a second base the layout would differ, and no instance could change over.
    return type(kind.__name__, (kind,), attributes)


def _set(spec: object, key: str, value: object) -> None:
    """Set an attribute of an awaited spec, and call the waiters where that ends the import."""
    object.__setattr__(spec, key, value)
    if key == "_initializing" and not value:
        _become_plain(spec)
        waiters: dict[object, Waiter] = vars(spec).pop(_WAITERS, {})
        taken: dict[Waiter, None] = {}
        # It is empty: whoever waits takes its own away at the same time.
        with suppress(KeyError):
            while True:
                _, waiter = waiters.popitem()
                taken[waiter] = None
        for call, name in taken:
            call(name)


@contextmanager
def bound_in_parent(name: str, module: ModuleType) -> Iterator[None]:
    """Let bodies write `import a.b` and use `a.b` while it is being imported.

    importlib makes `b` an attribute of `a` only after that, and not at all where it fails, or where
    somebody executes the module without `sys.modules`.

    Args:
        name: The dotted name of the module.
        module: The module.

    Yields:
        Nothing; the attribute stays where the block does not fail.
    """
    parent, _, child = name.rpartition(".")
    try:
        # Not by `vars`, on which a lazy module loads.
        outer = object.__getattribute__(sys.modules.get(parent), "__dict__")
    except AttributeError:
        outer = None
    is_bound = not isinstance(outer, dict) or outer.get(child) is module
    if is_bound or sys.modules.get(name) is not module:
        yield
        return
    former = {child: outer[child]} if child in outer else {}
    outer[child] = module
    try:
        yield
    except BaseException:
        outer.pop(child, None)  # an undo may have done it
        outer.update(former)
        raise
