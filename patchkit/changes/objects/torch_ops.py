"""
Custom operators of torch: the dispatcher holds their kernels, whatever the module's names hold.

A kernel is overridden with a `torch.library.Library`, and comes back when that is taken down.
Shapes (fake kernels) and gradients stay.

torch is never imported here: a target that is one of its operators has imported it.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.changes.owners import Location
from patchkit.errors import TargetError
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from patchkit.changes.sites import Sites

_KEYS = (
    *("CPU", "CUDA", "PrivateUse1", "XPU", "HPU", "MPS", "XLA", "MTIA", "MAIA", "IPU", "VE"),
    *("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
    "CompositeImplicitAutograd",
)
"""Dispatch keys under which an operator's own code lies."""


class Op(NamedTuple):
    """
    Where a change of an operator has to be made.

    Args:
        places: one for each kernel.
        like: how it is called, for signatures.
        closed: why the kernels cannot be called from a wrapper, if so.

    """

    places: tuple[Location, ...]
    like: Any
    closed: str = ""


def op_at(location: Location, sites: Sites) -> Op | None:
    """
    Return what a location is of torch's operators, or None.

    Args:
        location: of an operator (`torch.ops.ns.op`) or a CustomOpDef.
        sites: every changed attribute of this process.

    Raises:
        TargetError: it is one that has no kernel, or several overloads.

    """
    torch = loaded_torch()
    if torch is None:
        return None
    value = getattr(location.value, "_opoverload", location.value)  # of a CustomOpDef
    return _of_op(torch, _overload(value), sites) if _is_op(torch, value) else None


def loaded_torch() -> Any:
    """Return torch where it has been imported, and is no stand-in without operators; else None."""
    torch = sys.modules.get("torch")
    parts = ("_C", "_library", "_ops", "library", "ops")
    return torch if all(hasattr(torch, part) for part in parts) else None


def has_python_kernel(overload: Any) -> bool:
    """Whether Python has registered a kernel of an operator."""
    known = loaded_torch().library._impls  # noqa: SLF001 - the kernels that came from Python
    return any(_note(overload, key) in known for key in _KEYS)


def _of_op(torch: Any, overload: Any, sites: Sites) -> Op:
    kernels = _kernels(torch, overload, sites)
    places = tuple(kernels.at(key) for key in _KEYS if kernels.has(key))
    if not places:
        raise TargetError(
            f"{overload} has no kernel of its own here; let an AfterImport register one with a "
            "torch.library.Library"
        )
    return Op(places, _like(overload), _closed(torch))


def _is_op(torch: Any, value: Any) -> bool:
    return isinstance(value, (torch._ops.OpOverloadPacket, torch._ops.OpOverload))  # noqa: SLF001


def _overload(op: Any) -> Any:
    if not hasattr(op, "overloads"):
        return op
    names = op.overloads()
    if len(names) != 1:
        raise TargetError(f"{op} has the overloads {', '.join(names)}; name one of them")
    return getattr(op, names[0])


# -- the dispatcher's kernels ---------------------------------------------------------------------


class Kernels:
    """
    An operator's kernels by dispatch key: items that a site can read, set and delete.

    Args:
        torch: the module.
        overload: the operator.

    """

    def __init__(self, torch: Any, overload: Any) -> None:
        self.thing = overload
        self.__name__ = f"torch.ops.{overload}"
        self.__module__ = overload.__module__
        self._torch = torch
        self._originals: dict[str, Any] = {}
        self._held: dict[str, tuple[Any, Any]] = {}
        self._noted: dict[str, bool] = {}

    def at(self, key: str) -> Location:
        """Return the location of a kernel."""
        return Location(self, Item(key), self[key], own=True)

    def has(self, key: str) -> bool:
        """Whether there is a kernel for this very key."""
        has = self._torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - the only way
        return key in _keys(self._torch) and bool(has(self.thing.name(), key))

    def __getitem__(self, key: str) -> Any:
        if key in self._held:
            return self._held[key][0]
        if key not in self._originals:
            self._originals[key] = _former(self._torch, self.thing, key)
        return self._originals[key]

    def __setitem__(self, key: str, function: Any) -> None:
        if function is self._originals.get(key):
            del self[key]
            return
        note = _note(self.thing, key)
        self._noted.setdefault(key, note in self._torch.library._impls)  # noqa: SLF001 - for undo
        library = _override(self._torch, self.thing, key, function)
        _, before = self._held.get(key, (None, None))
        self._held[key] = (function, library)
        self._take_down(key, before)

    def __delitem__(self, key: str) -> None:
        _, library = self._held.pop(key, (None, None))
        self._take_down(key, library)

    def _take_down(self, key: str, library: Any) -> None:
        if library is None:
            return
        # torch notes which kernels come from Python, and forgets it for every library at once.
        library._op_impls.clear()  # noqa: SLF001
        library._destroy()  # noqa: SLF001 - as `torch.library._scoped_library` does
        if not self._noted[key] and key not in self._held:
            self._torch.library._impls.discard(_note(self.thing, key))  # noqa: SLF001


class _Known(dict[Any, Kernels]):
    """The kernels of each operator that was changed."""


def _keys(torch: Any) -> Any:
    return torch._C.DispatchKey.__members__  # noqa: SLF001


def _kernels(torch: Any, overload: Any, sites: Sites) -> Kernels:
    """Return the one that earlier changes of this operator have used, or the first."""
    known = sites.extra(_Known, _Known)  # noqa: S610 - no database here
    return known.setdefault(overload, Kernels(torch, overload))


def _note(overload: Any, key: str) -> str:
    return f"{overload.namespace}/{overload.name().partition('::')[2]}/{key}"


def _override(torch: Any, overload: Any, key: str, function: Any) -> Any:
    library = torch.library.Library(overload.namespace, "IMPL")
    with warnings.catch_warnings():
        # That a kernel is overridden is the point.
        warnings.filterwarnings("ignore", message="Warning only once", category=UserWarning)
        library.impl(overload.name().partition("::")[2], function, key)
    return library


def _closed(torch: Any) -> str:
    if hasattr(torch.library, "get_kernel"):
        return ""
    return f"torch {torch.__version__} does not hand out an operator's kernel; Replace can do it"


def _former(torch: Any, overload: Any, key: str) -> Any:
    """Return a function that runs the kernel that is there now, also once it is overridden."""
    get: Any = getattr(torch.library, "get_kernel", lambda *_: None)
    runs_as = _running_key(torch, overload, key)
    kernel = get(overload, runs_as)
    keys = torch._C.DispatchKeySet(_keys(torch)[runs_as])  # noqa: SLF001

    def former(*args: Any, **kwargs: Any) -> Any:
        return kernel.call_boxed(keys, *args, **kwargs)

    former.__name__ = former.__qualname__ = overload.name().partition("::")[2]
    return former


def _running_key(torch: Any, overload: Any, key: str) -> str:
    """Return a key under which this kernel runs: those for any device are found at a device's."""
    if not key.startswith("Composite"):
        return key
    has = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001
    devices = (
        device for device in _KEYS if device in _keys(torch) and not device.startswith("Composite")
    )
    return next(device for device in devices if not has(overload.name(), device))


def _like(overload: Any) -> Any:
    """Return a function with the signature of the operator's schema."""

    def like() -> None: ...

    parameters = [
        inspect.Parameter(
            argument.name,
            inspect.Parameter.KEYWORD_ONLY
            if argument.kwarg_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default_value
            if argument.has_default_value()
            else inspect.Parameter.empty,
        )
        for argument in overload._schema.arguments  # noqa: SLF001
    ]
    like.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return like
