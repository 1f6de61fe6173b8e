"""Tells which modules are being imported now, and calls functions when an import ends."""

import sys
from _thread import get_ident
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from importlib import _bootstrap, import_module
from types import ModuleType
from typing import Any

Waiter = tuple[Callable[[str], None], str]
"""A function to call at the end of an import, and its argument, the name of the module."""

_LATE_CODE = (
    "patchkit.runtime.process.",
    "patchkit.runtime.changes.",
    "patchkit.runtime.copies.",
)
"""The modules that are imported when a patch, or a kind of change, is first applied."""

_WAITERS = "_patchkit_waiters"
"""The attribute of a spec that has its waiters, each by a key of its own."""


def is_half_imported(module: ModuleType) -> bool:
    """Whether a module is being imported now.

    Args:
        module: The module in `sys.modules`.
    """
    return is_initializing(spec_of(module))


def is_initializing(spec: object) -> bool:
    """Whether importlib is executing the module of a spec.

    Args:
        spec: The module's `__spec__`, which may be any object.
    """
    return bool(getattr(spec, "_initializing", False))


def being_imported() -> frozenset[str]:
    """Return the names of modules that importlib has locked, as it does with those it executes."""
    bootstrap: Any = _bootstrap
    return frozenset(bootstrap._module_locks)  # noqa: SLF001 - there is no public way


def spec_of(module: ModuleType) -> Any:
    """Return a module's spec or None, without loading a lazy module.

    A module of `importlib.util.LazyLoader` loads at the first `module.name`; this goes around that.

    Args:
        module: The module in `sys.modules`.
    """
    try:
        return object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None


def importer_awaited(thread: int) -> int | None:
    """Return the thread that imports the module that a thread waits for; None if it waits for none.

    A chain of such threads that ends at its beginning is a deadlock.

    Args:
        thread: The identifier of the thread that may be waiting.
    """
    bootstrap: Any = _bootstrap
    # Since Python 3.12, `_blocking_on` is None before importlib is set up.
    awaited = (bootstrap._blocking_on or {}).get(thread)  # noqa: SLF001 - there is no public way
    locks = [awaited]
    if isinstance(awaited, list):  # since Python 3.12
        locks = list(awaited)  # a copy, as the thread may change the list at any time
    if not locks:
        return None
    # The last lock is that of the innermost import, for which the thread waits now.
    return getattr(locks[-1], "owner", None)


def importers(names: Collection[str]) -> set[int]:
    """Return the threads that are importing modules.

    Args:
        names: The dotted names of the modules.
    """
    bootstrap: Any = _bootstrap
    threads: set[int] = set()
    for name in names:
        reference = bootstrap._module_locks.get(name)  # noqa: SLF001
        owner = getattr(reference(), "owner", None) if reference else None
        if owner is not None:
            threads.add(owner)
    return threads


def unfinished_own_code() -> str | None:
    """Find a module that applies patches, and that this thread is importing further out.

    Code that runs at any moment, such as a signal handler or a finalizer, may find one.

    Returns:
        The dotted name of the module; None if there is none.
    """
    for name in being_imported():
        module = sys.modules.get(name)
        if not name.startswith(_LATE_CODE) or module is None:
            continue
        if is_half_imported(module) and get_ident() in importers({name}):
            return name
    return None


def forget_lost_imports(
    bodies: Collection[str], threads: Collection[int | None]
) -> None:
    """In a forked child, forget the imports of bodies, and of patchkit's own modules.

    Args:
        bodies: The dotted names of the bodies.
        threads: The identifiers of threads of the parent whose imports are forgotten, too.
    """
    own = {name for name in being_imported() if name.startswith("patchkit.")}
    gone = importers(own.union(bodies)).union(threads)
    forget_imports(gone - {get_ident()})


def forget_imports(threads: Collection[int | None]) -> None:
    """In a forked child, forget the imports that the parent's other threads were making.

    Those threads do not exist in the child, and would hold the locks of their modules for ever. So
    the locks and the half-imported modules are removed, and the modules can be imported again.

    Args:
        threads: The identifiers of the parent's other threads.
    """
    if not threads:
        return
    bootstrap: Any = _bootstrap
    locks = bootstrap._module_locks  # noqa: SLF001
    for name, reference in list(locks.items()):  # weak references to the locks
        owner = getattr(reference(), "owner", None)
        # `threads` may also hold None, for a thread that never began, and this thread, if it is to
        # end and forks before that. Neither means a lock that nobody would release.
        if owner is None or owner == get_ident() or owner not in threads:
            continue
        locks.pop(name, None)
        module = sys.modules.get(name)
        if module and is_initializing(spec_of(module)):
            del sys.modules[name]


def culprit(error: Exception) -> str | None:
    """Find the half-imported module that lacks the attribute, or the name, of an error.

    Args:
        error: The error of an attribute access or an import.

    Returns:
        The dotted name of the module; None if no module that is being imported explains the error.
    """
    # An ImportError has the name of the module, an AttributeError that of the attribute.
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

    The spec gets a class that notices when importlib sets `_initializing` to False, see `_set`.

    No lock is needed: the end of the import sets the attribute, then takes the waiters; this
    function adds a waiter, then reads the attribute. So the end of the import finds the waiter, or
    this function finds that the import has ended.

    Args:
        spec: The spec of a module that is being imported.
        call: The function to call, in the thread that imports the module.
        name: Its argument.

    Returns:
        Whether it is called; False if the import has ended before, or the spec is of a class that
        cannot be replaced.
    """
    waiters: dict[object, Waiter] = vars(spec).setdefault(_WAITERS, {})
    key = object()
    waiters[key] = (call, name)
    # TypeError: the class cannot be derived from, or its instances cannot get another class.
    with suppress(TypeError):
        if not _is_awaited(type(spec)):
            spec.__class__ = _awaited_kind(type(spec))
        if is_initializing(spec):
            return True
    # The import has ended, or the class cannot be replaced: nobody else would take the waiter.
    _become_plain(spec)
    is_taken = waiters.pop(key, None) is None  # the end of the import was faster
    if not waiters:
        vars(spec).pop(_WAITERS, None)
    return is_taken


def _become_plain(spec: Any) -> None:
    """Give a spec the class back that it had before `when_initialized`, if it has another."""
    kind = type(spec)
    # `_awaited_kind` derives from the spec's own class, and from no other.
    if _is_awaited(kind):
        spec.__class__ = kind.__base__


def _is_awaited(kind: type) -> bool:
    """Whether a spec's class is one that `_awaited_kind` made."""
    # By `vars`, as a class that derives from such a class inherits `_set`.
    return vars(kind).get("__setattr__") is _set


def _awaited_kind(kind: type) -> type:
    """Derive the class that a spec has while there are waiters: it has another `__setattr__`.

    The import ends when importlib sets `_initializing` to False. Only setting is intercepted, as
    the interpreter reads that attribute at every import statement.
    """
    attributes = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__setattr__": _set,
    }
    # A mixin would not do: an instance cannot get a class with another memory layout.
    return type(kind.__name__, (kind,), attributes)


def _set(spec: object, key: str, value: object) -> None:
    """Set an attribute of an awaited spec; if that ends the import, call the waiters, each once."""
    object.__setattr__(spec, key, value)
    if key == "_initializing" and not value:
        _become_plain(spec)
        waiters: dict[object, Waiter] = vars(spec).pop(_WAITERS, {})
        taken: dict[Waiter, None] = {}
        # KeyError means empty. A loop over the dict would not do: other threads remove waiters.
        with suppress(KeyError):
            while True:
                _, waiter = waiters.popitem()
                taken[waiter] = None
        for call, name in taken:
            call(name)


@contextmanager
def bound_in_parent(name: str, module: ModuleType) -> Iterator[None]:
    """Make a module an attribute of its package, so that bodies can use `a.b` after `import a.b`.

    importlib does that itself, but only after the import of `a.b`, during which bodies run. Nothing
    is set if the import's module is not the one in `sys.modules`.

    Args:
        name: The dotted name of the module.
        module: The module, which is being imported.

    Yields:
        Nothing; if the block raises, the attribute is as before.
    """
    parent, _, child = name.rpartition(".")
    try:
        # `vars` would load a lazy module.
        outer = object.__getattribute__(sys.modules.get(parent), "__dict__")
    except AttributeError:
        outer = None
    # A module without a package, or with one that is no module, has nothing to be bound in.
    is_bound = not isinstance(outer, dict) or outer.get(child) is module
    if is_bound or sys.modules.get(name) is not module:
        yield
        return
    # The attribute as it was before; empty if there was none.
    former = {child: outer[child]} if child in outer else {}
    outer[child] = module
    try:
        yield
    except BaseException:
        outer.pop(child, None)  # an undo may have removed it already
        outer.update(former)
        raise


def lost_packages(top: str) -> set[str]:
    """List packages that are not in `sys.modules`, although submodules of them are.

    The import of a body may fail, as it needs a module that is being imported. Python then takes
    the packages out of `sys.modules` whose own import failed for that, but not the submodules that
    they had imported.

    Args:
        top: The top-level package of those to look for.

    Returns:
        Their dotted names.
    """
    lost: set[str] = set()
    for name in list(sys.modules):
        if not name.startswith(f"{top}."):
            continue
        package = name.rpartition(".")[0]
        while package and package not in sys.modules:
            lost.add(package)
            package = package.rpartition(".")[0]
    return lost


def mend(packages: set[str]) -> None:
    """Import packages that were lost, and make their submodules attributes of them.

    A submodule that is in `sys.modules` is not imported again with its package, so that nobody else
    does this: `a.b.f()` after `import a.b` would be an AttributeError.

    Args:
        packages: The dotted names of the packages; those that are imported now are taken out.
    """
    if not packages:
        return
    for package in sorted(packages):  # an outer one comes before those in it
        # Whoever imports the package next gets its error.
        with suppress(Exception):
            import_module(package)
    for name, module in list(sys.modules.items()):
        package, _, child = name.rpartition(".")
        if package in packages or name in packages:
            outer = sys.modules.get(package)
            if outer is not None and module is not None:
                vars(outer).setdefault(child, module)
    packages.difference_update(list(sys.modules))
