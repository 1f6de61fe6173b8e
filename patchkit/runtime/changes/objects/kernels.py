"""Finds what to change for targets that upstream does not call by name: kernels and operators.

All launches `kernel[grid](…)` of a Triton kernel call its `run`. So `run` is what is changed, on
the kernel object itself: all code that has imported the kernel launches the changed one, and for
the compiler it is still the same object.

An operator of torch calls the kernels that torch's dispatcher has for it, one for each kind of
device. A kernel is overridden with a `torch.library.Library`, and is in effect again when that is
destroyed. Shapes (fake kernels) and gradients are not changed. torch is never imported here: if a
target is an operator, torch has been imported.
"""

import inspect
import sys
import warnings
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.owners import Location, namespace, read
from patchkit.runtime.changes.sites import Sites

_COMPOSITE = (
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
"""Dispatch keys of kernels for all devices that have none of their own."""

_DEVICES = (
    "CPU",
    "CUDA",
    "PrivateUse1",
    "XPU",
    "HPU",
    "MPS",
    "XLA",
    "MTIA",
    "MAIA",
    "IPU",
    "VE",
)
_KEYS = (*_DEVICES, *_COMPOSITE)
"""Dispatch keys of an operator's own code, and not of autograd, autocast and the like."""

_MODIFIER = "_torchscript_modifier"
"""The attribute of a function in which `@torch.jit.ignore` stores its mark."""
_UNSUPPORTED = (
    "found {name} with a Wrap of patchkit on it, expected a function whose source is all that it "
    "does. Replace or Edit it instead of the Wrap, or script what calls it"
)


def is_kernel(value: Any) -> bool:
    """Whether an object is a Triton kernel, or one with `autotune` or `heuristics` around it.

    Args:
        value: The value of a target.
    """
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    kind = type(value)
    # `kernel[grid]` is an item, and `kernel.fn` the function that was compiled.
    is_launcher = hasattr(kind, "__getitem__") and hasattr(kind, "run")
    return is_launcher and hasattr(value, "fn")


def launch_location(kernel: Any) -> Location:
    """Return the location of the `run` that every launch of a kernel calls.

    Args:
        kernel: An object for which `is_kernel` is true.
    """
    is_own = "run" in namespace(kernel)
    return Location(kernel, "run", read(kernel, "run"), is_own)


def keep_from_torch_script(wrapper: FunctionType) -> None:
    """Mark a wrapper so that torch.jit does not compile it, and compiled code calls it.

    torch.jit would compile the source that it finds through `__wrapped__`: that of the original.

    Args:
        wrapper: The function, which gets the marks as attributes.
    """
    torch_jit = sys.modules.get("torch._jit_internal")
    modifiers: Any = getattr(torch_jit, "FunctionModifiers", None)
    if modifiers is None:  # upstream was imported without torch
        return
    attributes = wrapper.__dict__
    # The error of `torch.jit.script(wrapper)` gets this text.
    attributes["__script_unsupported"] = _UNSUPPORTED.format(name=wrapper.__name__)
    # The mark of `@torch.jit.unused`, which the wrapper has from the original, stays.
    if attributes.get(_MODIFIER) is not modifiers.UNUSED:
        attributes[_MODIFIER] = modifiers.IGNORE


class Operator(NamedTuple):
    """Where a change of an operator of torch has to be made.

    Args:
        locations: The items that are its kernels, one for each dispatch key.
        wrap_fault: Why a wrapper cannot call its kernels; "" if it can.
    """

    locations: tuple[Location, ...]
    wrap_fault: str = ""


def operator_at(location: Location, sites: Sites, label: str) -> Operator | None:
    """Return the operator of torch that a target is.

    Args:
        location: The location of the target.
        sites: All changed attributes of this process; the operators' kernels are kept with them.
        label: The start of messages: the change, as its row declares it.

    Returns:
        The operator; None for any other target.

    Raises:
        TargetError: The operator has several overloads, or no kernel of its own here. Or the target
            is a function that an operator was made from, and would go on calling.
    """
    torch = loaded_torch()
    if torch is None:
        return None
    _refuse_registered(location.value, label)
    # What `@torch.library.custom_op` returns has its operator as an attribute.
    value = getattr(location.value, "_opoverload", location.value)
    kinds = (torch._ops.OpOverloadPacket, torch._ops.OpOverload)  # noqa: SLF001
    if not isinstance(value, kinds):
        return None
    overload = _only_overload(value)
    kernels_by_overload = sites.noted(_KernelsByOverload)
    kernels = kernels_by_overload.setdefault(overload, Kernels(torch, overload))
    locations = tuple(kernels.at(key) for key in _KEYS if kernels.has(key))
    if not locations:
        raise TargetError(
            f"{overload} has no kernel of its own here; let an AfterImport register one with a "
            "torch.library.Library"
        )
    wrap_fault = ""
    if not hasattr(torch.library, "get_kernel"):
        wrap_fault = (
            f"torch {torch.__version__} does not hand out an operator's kernel; Replace "
            "can do it"
        )
    return Operator(locations, wrap_fault)


def _refuse_registered(value: Any, label: str) -> None:
    """Raise a TargetError for a function that an operator was made from; see `operator_at`."""
    if not isinstance(value, FunctionType):
        return
    operator = _operator_made_of(value)
    if operator:
        raise TargetError(
            f"{label}: found the function of the operator {operator}, which torch goes on calling;"
            f" name the operator ({value.__module__}:{operator}) or Edit the function"
        )


def _operator_made_of(function: FunctionType) -> str | None:
    """Return the name of the operator that was made from a function; None if none is found.

    torch does not say which function a kernel is. So this is a guess: the operator has a kernel
    from Python, the name of the function (without `_` or `_impl`) and its parameters, and the
    function does not call the operator.
    """
    torch = loaded_torch()
    if torch is None or _is_special_method(function.__name__):
        return None
    plain = function.__name__.strip("_")
    base = plain.removesuffix("_impl")
    ends = (f"::{plain}\n", f"::_{plain}\n", f"::{base}\n")
    definitions = torch.library._defs  # noqa: SLF001 - what Python has defined; torch has no other list
    text = "\n".join((*definitions, ""))  # a line each, for the `\n` in `ends`
    # One search in a long string takes microseconds, and mostly finds nothing.
    if not any(end in text for end in ends):
        return None
    names = [name for name in text.splitlines() if f"{name}\n".endswith(ends)]
    for name in sorted(names):
        operator = _operator_named(torch, name)
        if operator is not None and _runs(operator, function):
            return f"torch.ops.{operator}".removesuffix(".default")
    return None


def _is_special_method(name: str) -> bool:
    """Whether a name is one that Python looks up on classes, such as `__lt__`.

    torch has operators of Python, such as `prims::lt`, with the same parameters `self` and `other`.
    """
    return name.startswith("__") and name.endswith("__")


def _operator_named(torch: Any, name: str) -> Any:
    """Return the operator that was defined as `library::operator.overload`.

    None if its library has been destroyed; torch still lists the definition then.
    """
    library, _, in_library = name.partition("::")
    packet_name, _, overload = in_library.partition(".")
    packets = getattr(torch.ops, library)
    packet = getattr(packets, packet_name, None)
    return getattr(packet, overload or "default", None)


def _runs(overload: Any, function: FunctionType) -> bool:
    """Whether an operator seems to run a function; see `_operator_made_of`."""
    _, _, name = overload.name().partition("::")
    names_in_call = {overload.namespace, name}  # of `torch.ops.namespace.name(…)`
    calls_operator = names_in_call.issubset(function.__code__.co_names)
    if calls_operator or not has_python_kernel(overload):
        return False
    parameters = list(inspect.signature(function).parameters)
    schema = overload._schema  # noqa: SLF001
    return parameters == [argument.name for argument in schema.arguments]


def loaded_torch() -> Any:
    """Return torch if it has been imported, and is no stub without operators; else None."""
    torch = sys.modules.get("torch")
    parts = ("_C", "_library", "_ops", "library", "ops")
    if all(hasattr(torch, part) for part in parts):
        return torch
    return None


def has_python_kernel(overload: Any) -> bool:
    """Whether an operator has a kernel that was registered from Python.

    Args:
        overload: One overload of the operator; torch has been imported.
    """
    registrations = loaded_torch().library._impls  # noqa: SLF001 - torch's set of these kernels
    return any(_registration(overload, key) in registrations for key in _KEYS)


def _only_overload(operator: Any) -> Any:
    """Return the only overload of an operator; an overload itself is returned as it is.

    Raises:
        TargetError: The operator has several overloads.
    """
    if not hasattr(operator, "overloads"):
        return operator
    names = operator.overloads()
    if len(names) != 1:
        raise TargetError(
            f"{operator} has the overloads {', '.join(names)}; name one of them"
        )
    return getattr(operator, names[0])


class _Override(NamedTuple):
    """A kernel that overrides an operator's own one for as long as its library exists."""

    function: Any
    library: Any


class Kernels:
    """An operator's kernels as items by dispatch key, which a site can read, set and delete.

    Args:
        torch: The loaded module.
        overload: The overload of the operator that has them.
    """

    def __init__(self, torch: Any, overload: Any) -> None:
        self.overload = overload
        # For messages about a kernel, and as the module that a site of it belongs to.
        self.__name__ = f"torch.ops.{overload}"
        self.__module__ = overload.__module__
        self._torch = torch
        self._originals: dict[str, Any] = {}
        self._overrides: dict[str, _Override] = {}
        self._was_from_python: dict[str, bool] = {}
        """Whether the kernel of a key was from Python before the first override."""

    def at(self, key: str) -> Location:
        """Return where the kernel of a key lies, so that a site can be made of it (`Sites.at`).

        Args:
            key: The kernel's dispatch key.
        """
        # It is the operator's own: operators inherit no kernels.
        return Location(self, Item(key), self[key], own=True)

    def has(self, key: str) -> bool:
        """Whether there is a kernel for this very key.

        Args:
            key: A dispatch key, which may be unknown to this release of torch.
        """
        has_kernel = self._torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - the only way
        if key not in self._dispatch_keys:
            return False
        return bool(has_kernel(self.overload.name(), key))

    def __getitem__(self, key: str) -> Any:
        """Return the overriding function of a key; if there is none, one that runs the kernel."""
        if key in self._overrides:
            return self._overrides[key].function
        if key not in self._originals:
            self._originals[key] = self._original(key)
        return self._originals[key]

    def __setitem__(self, key: str, function: Any) -> None:
        """Override the kernel of a key with a function; the original one restores it."""
        if function is self._originals.get(key):
            del self[key]
            return
        registrations = self._torch.library._impls  # noqa: SLF001 - noted for undo
        is_from_python = _registration(self.overload, key) in registrations
        self._was_from_python.setdefault(key, is_from_python)
        library = self._torch.library.Library(self.overload.namespace, "IMPL")
        with warnings.catch_warnings():
            # torch warns that a kernel is overridden.
            warnings.filterwarnings(
                "ignore", message="Warning only once", category=UserWarning
            )
            library.impl(_name(self.overload), function, key)
        former = self._overrides.get(key)
        self._overrides[key] = _Override(function, library)
        self._take_down(key, former)

    def __delitem__(self, key: str) -> None:
        """Remove the override of a key, so that the original kernel is in effect again."""
        override = self._overrides.pop(key, None)
        self._take_down(key, override)

    def _take_down(self, key: str, override: _Override | None) -> None:
        """Remove an override from torch.

        Args:
            key: Its dispatch key, which may have a newer override by now.
            override: The override; for None nothing is done.
        """
        if override is None:
            return
        library = override.library
        # torch has a set of the kernels that are from Python. A library that is destroyed removes
        # its keys from that set, though another library may have the same key in it. So the
        # library's own list of keys is emptied before.
        library._op_impls.clear()  # noqa: SLF001
        library._destroy()  # noqa: SLF001 - as `torch.library._scoped_library` does
        # The key is removed with the last override, if the first override had added it.
        if not self._was_from_python[key] and key not in self._overrides:
            registrations = self._torch.library._impls  # noqa: SLF001
            registrations.discard(_registration(self.overload, key))

    @property
    def _dispatch_keys(self) -> Any:
        """The dispatch keys of this release of torch, by name."""
        return self._torch._C.DispatchKey.__members__  # noqa: SLF001

    def _original(self, key: str) -> Any:
        """Return a function that runs the present kernel of a key, even after it is overridden."""
        runs_as = key
        # A composite key has the kernel for all devices. torch hands it out for a device without a
        # kernel of its own, and runs it as for that device.
        if key in _COMPOSITE:
            devices = (device for device in _DEVICES if device in self._dispatch_keys)
            runs_as = next(device for device in devices if not self.has(device))
        # An older torch hands out no kernels, and `kernel` stays None. A Wrap is refused there, so
        # that nothing calls the function.
        kernel: Any = None
        get_kernel = getattr(self._torch.library, "get_kernel", None)
        if get_kernel is not None:
            kernel = get_kernel(self.overload, runs_as)
        keys = self._torch._C.DispatchKeySet(self._dispatch_keys[runs_as])  # noqa: SLF001

        def original(*args: Any, **kwargs: Any) -> Any:
            return kernel.call_boxed(keys, *args, **kwargs)

        original.__name__ = _name(self.overload)
        original.__qualname__ = original.__name__
        return original


class _KernelsByOverload(dict[Any, Kernels]):
    """The kernels of each operator that was a target, by its overload."""


def _name(overload: Any) -> str:
    """Return the name of an operator within its library."""
    return str(overload.name().partition("::")[2])


def _registration(overload: Any, key: str) -> str:
    """Return the string that is in torch's set of kernels from Python for a kernel."""
    return f"{overload.namespace}/{_name(overload)}/{key}"
