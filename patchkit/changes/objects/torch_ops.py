"""
Custom operators of torch: the dispatcher holds their functions, whatever the module's names hold.

Two sorts. A `CustomOpDef` (from `torch.library.custom_op`) looks its functions up in a dict at each
call. Of all others the kernels are overridden with a `torch.library.Library`, and come back when
that is taken down. What is patched is the kernel: shapes (fake kernels) and gradients stay.

torch is never imported here: a target that is one of its operators has imported it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.changes.owners import MISSING, Location
from patchkit.errors import TargetError
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.changes.sites import Sites

_KEYS = (
    *("CPU", "CUDA", "PrivateUse1", "XPU", "HPU", "MPS", "XLA", "MTIA", "MAIA", "IPU", "VE"),
    *("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
    "CompositeImplicitAutograd",
)
"""Dispatch keys under which an operator's own code lies."""
_FAKE = "Meta"
"""That of the kernel which tells shapes without any data."""


class Op(NamedTuple):
    """
    Where a change of an operator has to be made.

    Args:
        places: one for each kernel.
        like: how it is called, for signatures.
        seal: what a function goes through before it serves as a kernel.
        closed: why the kernels cannot be called from a wrapper, if so.

    """

    places: tuple[Location, ...]
    like: Any
    seal: Callable[[Any], Any]
    closed: str = ""


def op_at(location: Location, sites: Sites) -> Op | None:
    """
    Return what a location is of torch's operators, or None.

    Args:
        location: of a CustomOpDef, an operator (`torch.ops.ns.op`), or one kernel of an operator
            (`torch.ops.ns.op['CPU']`), which may be missing.
        sites: every changed attribute of this process.

    Raises:
        TargetError: it is one that has no kernel, or several overloads.

    """
    torch = _torch()
    if torch is None:
        return None
    if isinstance(location.name, Item):
        return _one_kernel(torch, location, sites)
    if definition := _definition(torch, location.value):
        return _of_definition(torch, definition)
    if _is_op(torch, location.value):
        return _of_op(torch, _overload(location.value), sites)
    return None


def operator_of(function: Any) -> str | None:
    """
    Name the operator that was made of a function, as far as that can be told.

    torch does not tell which function a kernel is. It is taken for one where an operator with a
    kernel from Python has its name and its arguments, and it does not call that operator itself.
    """
    torch = _torch()
    if torch is None or not isinstance(function, FunctionType):
        return None
    plain = function.__name__.strip("_")
    ends = (f"::{plain}\n", f"::_{plain}\n", f"::{plain.removesuffix('_impl')}\n")
    every = torch.library._defs  # noqa: SLF001 - what Python has defined; torch has no other list
    text = "\n".join((*every, ""))
    if not any(end in text for end in ends):  # most are not: this takes some microseconds
        return None
    named = sorted(name for name in every if f"{name}\n".endswith(ends))
    found = (op for op in (_look_up(torch, name) for name in named) if _runs(torch, op, function))
    return next((f"torch.ops.{op}".removesuffix(".default") for op in found), None)


def _runs(torch: Any, overload: Any, function: FunctionType) -> bool:
    known = torch.library._impls  # noqa: SLF001 - the kernels that came from Python
    calls = {overload.namespace, overload.name().partition("::")[2]}
    if calls <= {*function.__code__.co_names} or not any(
        _note(overload, key) in known for key in _KEYS
    ):
        return False
    arguments = tuple(inspect.signature(function).parameters)
    return arguments == tuple(one.name for one in overload._schema.arguments)  # noqa: SLF001


def _torch() -> Any:
    """Return torch where it has been imported, and is no stand-in without operators; else None."""
    torch = sys.modules.get("torch")
    parts = ("_C", "_library", "_ops", "library", "ops")
    return torch if all(hasattr(torch, part) for part in parts) else None


def _one_kernel(torch: Any, location: Location, sites: Sites) -> Op | None:
    owner, key = location.owner, location.name
    if not _is_op(torch, owner) or not isinstance(key, Item):
        return None
    overload = _overload(owner)
    if not hasattr(torch._C.DispatchKey, str(key.key)):  # noqa: SLF001 - torch has no other way
        raise TargetError(f"{overload}: {key.key!r} is none of torch's dispatch keys")
    place = _kernels(torch, overload, sites).at(str(key.key))
    return Op((place,), _like(overload), _as_it_is, _closed(torch))


def _of_op(torch: Any, overload: Any, sites: Sites) -> Op:
    if definition := _definition_of(torch, overload):
        return _of_definition(torch, definition)
    kernels = _kernels(torch, overload, sites)
    places = tuple(kernels.at(key) for key in _KEYS if kernels.has(key))
    if not places:
        raise TargetError(
            f"{overload} has no kernel of its own here; name one that it is to have, such as "
            f"torch.ops.{str(overload).removesuffix('.default')}['CPU'], and Add it"
        )
    return Op(places, _like(overload), _as_it_is, _closed(torch))


def _is_op(torch: Any, value: Any) -> bool:
    return isinstance(value, (torch._ops.OpOverloadPacket, torch._ops.OpOverload))  # noqa: SLF001


def _overload(op: Any) -> Any:
    if not hasattr(op, "overloads"):
        return op
    names = op.overloads()
    if len(names) != 1:
        raise TargetError(f"{op} has the overloads {', '.join(names)}; name one of them")
    return getattr(op, names[0])


def _look_up(torch: Any, name: str) -> Any:
    space, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")


def _as_it_is(value: Any) -> Any:
    return value


# -- CustomOpDef ----------------------------------------------------------------------------------


def _definition(torch: Any, value: Any) -> Any:
    kind = getattr(getattr(torch._library, "custom_ops", None), "CustomOpDef", ())  # noqa: SLF001
    return value if isinstance(value, kind) else None


def _definition_of(torch: Any, overload: Any) -> Any:
    known = getattr(getattr(torch._library, "custom_ops", None), "OPDEFS", {})  # noqa: SLF001
    return known.get(overload.name())


def _of_definition(torch: Any, definition: Any) -> Op:
    table = definition._backend_fns  # noqa: SLF001 - what it looks its functions up in
    places = tuple(Location(table, Item(kind), held, True) for kind, held in table.items())
    if not places:
        raise TargetError(f"{definition} has no kernel here")
    return Op(places, definition._init_fn, functools.partial(_uncompiled, torch))  # noqa: SLF001


def _uncompiled(torch: Any, function: Any) -> Any:
    """Keep the compiler out of a kernel, as torch does with those that it is given."""
    # Noted on the function at its first call, and copied from there to what wraps it.
    vars(function).pop("__dynamo_disable", None)
    return torch._disable_dynamo(function)  # noqa: SLF001


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
        """Return the location of a kernel, which may be missing."""
        has = key in self._held or self.has(key)
        return Location(self, Item(key), self[key] if has else MISSING, has)

    def has(self, key: str) -> bool:
        """Whether there is a kernel for this very key."""
        has = self._torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - the only way
        return key in _keys(self._torch) and bool(has(self.thing.name(), key))

    def __getitem__(self, key: str) -> Any:
        if key in self._held:
            return self._held[key][0]
        if not self.has(key):
            raise KeyError(key)
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
        if key == _FAKE:
            torch.library.register_fake(overload.name(), function, lib=library)
        else:
            library.impl(overload.name().partition("::")[2], function, key)
    return library


def _closed(torch: Any) -> str:
    if hasattr(torch.library, "get_kernel"):
        return ""
    return f"torch {torch.__version__} does not hand out an operator's kernel; Replace can do it"


def _former(torch: Any, overload: Any, key: str) -> Any:
    """Return a function that runs the kernel that is there now, also once it is overridden."""
    get: Any = getattr(torch.library, "get_kernel", lambda *_: None)
    if key == _FAKE and (fake := _fake_kernel(torch, overload)):
        return fake
    runs_as = _running_key(torch, overload, key)
    kernel = get(overload, runs_as)
    keys = torch._C.DispatchKeySet(_keys(torch)[runs_as])  # noqa: SLF001

    def former(*args: Any, **kwargs: Any) -> Any:
        return kernel.call_boxed(keys, *args, **kwargs)

    former.__name__ = former.__qualname__ = overload.name().partition("::")[2]
    return former


def _fake_kernel(torch: Any, overload: Any) -> Any:
    """Return the function that tells shapes; its kernel asks for the latest one, so for ours."""
    registry = torch._library.simple_registry.singleton  # noqa: SLF001 - as get_kernel knows none
    kernel = registry.find(overload.name()).fake_impl.kernel
    return kernel.func if kernel is not None else None


def _running_key(torch: Any, overload: Any, key: str) -> str:
    """Return a key under which this kernel runs: those for any device are found at a device's."""
    if not key.startswith("Composite"):
        return key
    has = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001
    devices = (one for one in _KEYS if one in _keys(torch) and not one.startswith("Composite"))
    return next(one for one in devices if not has(overload.name(), one))


def _like(overload: Any) -> Any:
    """Return a function with the signature of the operator's schema."""

    def like() -> None: ...

    parameters = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY
            if one.kwarg_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=one.default_value if one.has_default_value() else inspect.Parameter.empty,
        )
        for one in overload._schema.arguments  # noqa: SLF001
    ]
    like.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return like
