"""What runs past its name: kernels like Triton's, and custom operators of torch.

All launches `kernel[grid](…)` go through the kernel's `run`, so that is what is changed, on the
object itself: whoever has imported it launches the changed one, and the compiler still knows it.

torch's dispatcher holds an operator's kernels, whatever the module's names hold. One is overridden
with a `torch.library.Library`, and comes back when that is taken down. Shapes (fake kernels) and
gradients stay. torch is never imported here: a target that is an operator has imported it.
"""

import sys
import warnings
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.owners import Location, namespace, read
from patchkit.runtime.changes.sites import Sites

_COMPOSITE = (
    *("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
    "CompositeImplicitAutograd",
)
_DEVICES = ("CPU", "CUDA", "PrivateUse1", "XPU", "HPU", "MPS", "XLA", "MTIA", "MAIA", "IPU", "VE")
_KEYS = (*_DEVICES, *_COMPOSITE)
"""Dispatch keys under which an operator's own code lies."""


def is_kernel(value: Any) -> bool:
    """Whether this is a kernel like Triton's, or one with a tuner or heuristics around it."""
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    kind = type(value)
    return all(hasattr(kind, name) for name in ("__getitem__", "run")) and hasattr(value, "fn")


def launch(kernel: Any) -> Location:
    """Return the place that every launch goes through."""
    return Location(kernel, "run", read(kernel, "run"), "run" in namespace(kernel))


class Op(NamedTuple):
    """Where a change of an operator has to be made."""

    places: tuple[Location, ...]  # one for each kernel
    closed: str = ""  # why the kernels cannot be called from a wrapper, if so


def op_at(location: Location, sites: Sites) -> Op | None:
    """Return what a location is of torch's operators, or None; a TargetError for many overloads."""
    torch = loaded_torch()
    value = getattr(location.value, "_opoverload", location.value)  # of a CustomOpDef
    if torch is None or not isinstance(
        value,
        (torch._ops.OpOverloadPacket, torch._ops.OpOverload),  # noqa: SLF001
    ):
        return None
    overload = _overload(value)
    kernels = sites.noted(_Known).setdefault(overload, Kernels(torch, overload))
    places = tuple(kernels.at(key) for key in _KEYS if kernels.has(key))
    if not places:
        raise TargetError(
            f"{overload} has no kernel of its own here; let an AfterImport register one with a "
            "torch.library.Library"
        )
    closed = f"torch {torch.__version__} does not hand out an operator's kernel; Replace can do it"
    return Op(places, "" if hasattr(torch.library, "get_kernel") else closed)


def loaded_torch() -> Any:
    """Return torch where it has been imported, and is no stand-in without operators; else None."""
    torch = sys.modules.get("torch")
    parts = ("_C", "_library", "_ops", "library", "ops")
    return torch if all(hasattr(torch, part) for part in parts) else None


def has_python_kernel(overload: Any) -> bool:
    """Whether Python has registered a kernel of an operator."""
    known = loaded_torch().library._impls  # noqa: SLF001 - the kernels that came from Python
    return any(_note(overload, key) in known for key in _KEYS)


def _overload(op: Any) -> Any:
    if not hasattr(op, "overloads"):
        return op
    names = op.overloads()
    if len(names) != 1:
        raise TargetError(f"{op} has the overloads {', '.join(names)}; name one of them")
    return getattr(op, names[0])


class Kernels:
    """An operator's kernels by dispatch key: items that a site can read, set and delete."""

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
        return key in self._known_keys and bool(has(self.thing.name(), key))

    def __getitem__(self, key: str) -> Any:
        if key in self._held:
            return self._held[key][0]
        if key not in self._originals:
            self._originals[key] = self._former(key)
        return self._originals[key]

    def __setitem__(self, key: str, function: Any) -> None:
        if function is self._originals.get(key):
            del self[key]
            return
        note = _note(self.thing, key)
        self._noted.setdefault(key, note in self._torch.library._impls)  # noqa: SLF001 - for undo
        library = self._torch.library.Library(self.thing.namespace, "IMPL")
        with warnings.catch_warnings():
            # That a kernel is overridden is the point.
            warnings.filterwarnings("ignore", message="Warning only once", category=UserWarning)
            library.impl(_name(self.thing), function, key)
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

    @property
    def _known_keys(self) -> Any:
        return self._torch._C.DispatchKey.__members__  # noqa: SLF001

    def _former(self, key: str) -> Any:
        """Return a function that runs the kernel that is there now, also once it is overridden."""
        get: Any = getattr(self._torch.library, "get_kernel", lambda *_: None)
        runs_as = key
        if key in _COMPOSITE:  # for any device: found at one that has no kernel of its own
            devices = (device for device in _DEVICES if device in self._known_keys)
            runs_as = next(device for device in devices if not self.has(device))
        kernel = get(self.thing, runs_as)
        keys = self._torch._C.DispatchKeySet(self._known_keys[runs_as])  # noqa: SLF001

        def former(*args: Any, **kwargs: Any) -> Any:
            return kernel.call_boxed(keys, *args, **kwargs)

        former.__name__ = former.__qualname__ = _name(self.thing)
        return former


class _Known(dict[Any, Kernels]):
    """The kernels of each operator that was changed."""


def _name(overload: Any) -> str:
    return str(overload.name().partition("::")[2])


def _note(overload: Any, key: str) -> str:
    return f"{overload.namespace}/{_name(overload)}/{key}"
