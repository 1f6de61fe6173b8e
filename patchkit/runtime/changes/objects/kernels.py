"""Finds where upstream keeps what runs past a name: kernels like Triton's, operators of torch.

All launches `kernel[grid](…)` go through the kernel's `run`, so that is what is changed, on the
object itself: whoever has imported it launches the changed one, and the compiler still knows it.

torch's dispatcher holds an operator's kernels, whatever the module's names hold. One is overridden
with a `torch.library.Library`, and comes back when that is taken down. Shapes (fake kernels) and
gradients stay. torch is never imported here: a target that is an operator has imported it.
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
"""Dispatch keys of kernels that serve every device without one of its own."""

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
"""Dispatch keys under which an operator's own code lies."""

_MODIFIER = "_torchscript_modifier"
"""Where `@torch.jit.ignore` notes what it is for."""
_UNSUPPORTED = (
    "found {name} with a Wrap of patchkit on it, expected a function whose source is all that it "
    "does. Replace or Edit it instead of the Wrap, or script what calls it"
)


def is_kernel(value: Any) -> bool:
    """Whether this is a kernel like Triton's, or one with a tuner or heuristics around it.

    Args:
        value: What a target holds.
    """
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    kind = type(value)
    is_launcher = hasattr(kind, "__getitem__") and hasattr(kind, "run")
    return is_launcher and hasattr(value, "fn")


def launch_location(kernel: Any) -> Location:
    """Return the location that every launch of a kernel goes through.

    Args:
        kernel: An object for which `is_kernel` is true.
    """
    is_own = "run" in namespace(kernel)
    return Location(kernel, "run", read(kernel, "run"), is_own)


def keep_from_torch_script(wrapper: FunctionType) -> None:
    """Have code that torch.jit compiles call a wrapper, and refuse to compile the wrapper itself.

    torch.jit reads the source through `__wrapped__`, which is that of the original.

    Args:
        wrapper: The function, to which it is told.
    """
    torch_jit = sys.modules.get("torch._jit_internal")
    modifiers: Any = getattr(torch_jit, "FunctionModifiers", None)
    if modifiers is None:  # upstream was imported without torch
        return
    attributes = wrapper.__dict__
    attributes["__script_unsupported"] = _UNSUPPORTED.format(name=wrapper.__name__)
    if attributes.get(_MODIFIER) is not modifiers.UNUSED:
        attributes[_MODIFIER] = modifiers.IGNORE


class Operator(NamedTuple):
    """Where a change of an operator of torch has to be made.

    Args:
        locations: The items that hold its kernels, one for each dispatch key.
        wrap_fault: Why its kernels cannot be called from a wrapper; "" where they can.
    """

    locations: tuple[Location, ...]
    wrap_fault: str = ""


def operator_at(location: Location, sites: Sites) -> Operator | None:
    """Return the operator of torch that a location holds.

    Args:
        location: Where a target lies.
        sites: Those of this process, which remember the kernels of each operator.

    Returns:
        None where the location holds no operator.

    Raises:
        TargetError: The operator has several overloads, or no kernel of its own here.
    """
    torch = loaded_torch()
    value = getattr(location.value, "_opoverload", location.value)  # of a CustomOpDef
    if torch is None:
        return None
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


def refuse_registered(value: Any, label: str) -> None:
    """Refuse a function that an operator of torch goes on calling.

    Args:
        value: What the target holds.
        label: The change as its row declares it, which begins the error.

    Raises:
        TargetError: An operator was made of the function.
    """
    if not isinstance(value, FunctionType):
        return
    operator = _operator_made_of(value)
    if operator:
        raise TargetError(
            f"{label}: found the function of the operator {operator}, which torch goes on calling;"
            f" name the operator ({value.__module__}:{operator}) or Edit the function"
        )


def _operator_made_of(function: FunctionType) -> str | None:
    """Name the operator that was made of a function, as far as that can be told.

    torch does not tell which function a kernel is. It is taken for one where an operator with a
    kernel from Python has its name and its arguments, and it does not call that operator itself.
    """
    torch = loaded_torch()
    if torch is None:
        return None
    plain = function.__name__.strip("_")
    base = plain.removesuffix("_impl")
    ends = (f"::{plain}\n", f"::_{plain}\n", f"::{base}\n")
    definitions = torch.library._defs  # noqa: SLF001 - what Python has defined; torch has no other list
    text = "\n".join((*definitions, ""))
    # Most are not: this takes some microseconds.
    if not any(end in text for end in ends):
        return None
    names = [name for name in text.splitlines() if f"{name}\n".endswith(ends)]
    for name in sorted(names):
        operator = _operator_named(torch, name)
        if operator is not None and _runs(operator, function):
            return f"torch.ops.{operator}".removesuffix(".default")
    return None


def _operator_named(torch: Any, name: str) -> Any:
    """Return the operator that was defined as `library::operator.overload`.

    What a library defined that is gone is listed still, and None is returned for it.
    """
    library, _, in_library = name.partition("::")
    packet_name, _, overload = in_library.partition(".")
    packets = getattr(torch.ops, library)
    packet = getattr(packets, packet_name, None)
    return getattr(packet, overload or "default", None)


def _runs(overload: Any, function: FunctionType) -> bool:
    """Whether an operator runs a function, as its name, its kernels and its arguments say."""
    _, _, name = overload.name().partition("::")
    names_in_call = {overload.namespace, name}
    calls_operator = names_in_call.issubset(function.__code__.co_names)
    if calls_operator or not has_python_kernel(overload):
        return False
    parameters = list(inspect.signature(function).parameters)
    schema = overload._schema  # noqa: SLF001
    return parameters == [argument.name for argument in schema.arguments]


def loaded_torch() -> Any:
    """Return torch where it has been imported, and is no stand-in without operators; else None."""
    torch = sys.modules.get("torch")
    parts = ("_C", "_library", "_ops", "library", "ops")
    if all(hasattr(torch, part) for part in parts):
        return torch
    return None


def has_python_kernel(overload: Any) -> bool:
    """Whether Python has registered a kernel of an operator.

    Args:
        overload: One overload of the operator; torch has been imported.
    """
    registrations = loaded_torch().library._impls  # noqa: SLF001 - kernels that came from Python
    return any(_registration(overload, key) in registrations for key in _KEYS)


def _only_overload(operator: Any) -> Any:
    """Return the only overload of an operator; an overload itself is returned as it is."""
    if not hasattr(operator, "overloads"):
        return operator
    names = operator.overloads()
    if len(names) != 1:
        raise TargetError(
            f"{operator} has the overloads {', '.join(names)}; name one of them"
        )
    return getattr(operator, names[0])


class _Override(NamedTuple):
    """A kernel that was put over an operator's own: it stays as long as its library does."""

    function: Any
    library: Any


class Kernels:
    """An operator's kernels by dispatch key: items that a site can read, set and delete.

    Args:
        torch: The loaded module.
        overload: The overload of the operator that has them.
    """

    def __init__(self, torch: Any, overload: Any) -> None:
        self.overload = overload
        self.__name__ = f"torch.ops.{overload}"
        self.__module__ = overload.__module__
        self._torch = torch
        self._originals: dict[str, Any] = {}
        self._overrides: dict[str, _Override] = {}
        # Before the first override of a key.
        self._was_from_python: dict[str, bool] = {}

    def at(self, key: str) -> Location:
        """Return the location of a kernel.

        Args:
            key: The kernel's dispatch key.
        """
        return Location(self, Item(key), self[key], own=True)

    def has(self, key: str) -> bool:
        """Whether there is a kernel for this very key.

        Args:
            key: A dispatch key, which this torch need not know.
        """
        has_kernel = self._torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - the only way
        if key not in self._dispatch_keys:
            return False
        return bool(has_kernel(self.overload.name(), key))

    def __getitem__(self, key: str) -> Any:
        if key in self._overrides:
            return self._overrides[key].function
        if key not in self._originals:
            self._originals[key] = self._original(key)
        return self._originals[key]

    def __setitem__(self, key: str, function: Any) -> None:
        if function is self._originals.get(key):
            del self[key]
            return
        registrations = self._torch.library._impls  # noqa: SLF001 - for undo
        is_from_python = _registration(self.overload, key) in registrations
        self._was_from_python.setdefault(key, is_from_python)
        library = self._torch.library.Library(self.overload.namespace, "IMPL")
        with warnings.catch_warnings():
            # That a kernel is overridden is the point.
            warnings.filterwarnings(
                "ignore", message="Warning only once", category=UserWarning
            )
            library.impl(_name(self.overload), function, key)
        former = self._overrides.get(key)
        self._overrides[key] = _Override(function, library)
        self._take_down(key, former)

    def __delitem__(self, key: str) -> None:
        override = self._overrides.pop(key, None)
        self._take_down(key, override)

    def _take_down(self, key: str, override: _Override | None) -> None:
        """Remove an override from torch, after another has taken its place, or none has."""
        if override is None:
            return
        library = override.library
        # A library that is destroyed takes its own keys out of torch's set of kernels that come
        # from Python, though another library may have put the same key there. So it has none.
        library._op_impls.clear()  # noqa: SLF001
        library._destroy()  # noqa: SLF001 - as `torch.library._scoped_library` does
        # The key goes with the last override, and only if it came with the first.
        if not self._was_from_python[key] and key not in self._overrides:
            registrations = self._torch.library._impls  # noqa: SLF001
            registrations.discard(_registration(self.overload, key))

    @property
    def _dispatch_keys(self) -> Any:
        """Those that this torch knows, by their names."""
        return self._torch._C.DispatchKey.__members__  # noqa: SLF001

    def _original(self, key: str) -> Any:
        """Return a function that runs the kernel that is there now, also once it is overridden."""
        runs_as = key
        # For any device: found at one that has no kernel of its own.
        if key in _COMPOSITE:
            devices = (device for device in _DEVICES if device in self._dispatch_keys)
            runs_as = next(device for device in devices if not self.has(device))
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
    """The kernels of each operator that was changed."""


def _name(overload: Any) -> str:
    """Return the name of an operator within its library."""
    return str(overload.name().partition("::")[2])


def _registration(overload: Any, key: str) -> str:
    """Return the text by which torch notes that a kernel comes from Python."""
    return f"{overload.namespace}/{_name(overload)}/{key}"
