"""Compares the attributes of modules, classes, registries and containers at two moments.

The program `observing` loads this file in a child process; it imports nothing but Python's library.
"""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

_INNER = ("__func__", "fget", "func", "__wrapped__")
"""The attributes in which descriptors and decorated functions have the function itself."""
_MISSING = object()
_KEPT_BY_PYTHON = frozenset(
    {
        "__annotations__",
        "__annotations_cache__",
        "__conditional_annotations__",
        "__warningregistry__",
        "_abc_impl",
    }
)
"""Attributes that Python itself sets when a module or class is used."""
_DEEPEST = 4
"""How many names a qualified name may have: a class may hold itself."""
_CONTAINERS: tuple[type[Any], ...] = (dict, list, set)
_LARGEST = 20_000
"""How many elements a container may have that is compared: a vocabulary is data."""
_VARIABLE_ARGUMENTS = 0x04 | 0x08
"""Flags of code that takes `*args` or `**kwargs`."""

Attribute = tuple[str, str]
"""An attribute or an item: its module, and its qualified name there."""

Attributes = Mapping[Attribute, Any]
"""The values of attributes, and what containers hold."""


class Held(NamedTuple):
    """What a container or an instance holds.

    Args:
        holder: A number that tells the container from others, whatever its name.
        inside: The qualified name of the container in this module.
        value: What it holds under one key; for `name[]`, a tuple of all that it holds.
    """

    holder: int
    inside: str
    value: Any


def attributes(packages: Iterable[str]) -> Iterator[tuple[Attribute, Any]]:
    """Yield the attributes of the loaded modules of packages, and what they hold.

    Args:
        packages: The names of top-level packages.
    """
    for name, namespace in namespaces(packages):
        yield from members(name, "", namespace)


def namespaces(packages: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of the loaded modules of packages, each with its attributes; no stubs.

    Args:
        packages: The names of top-level packages.
    """
    tops = set(packages)
    for name, module in sorted(sys.modules.items()):
        # Another type is a stub, or a module that computes its attributes.
        if name.partition(".")[0] in tops and not hasattr(type(module), "is_stub"):
            yield name, getattr(module, "__dict__", {})


def members(
    module: str, prefix: str, namespace: Mapping[str, Any]
) -> Iterator[tuple[Attribute, Any]]:
    """Yield the attributes of a module or a class, and of the classes that it defines.

    Args:
        module: The name of the module.
        prefix: The qualified name of the class with a dot; '' for the module.
        namespace: The attributes by name.
    """
    for key, value in list(namespace.items()):
        qualname = f"{prefix}{key}"
        yield (module, qualname), value
        if key.startswith("__"):
            continue
        yield from _content(module, qualname, value)
        if _is_a(value, type):
            # A class that has another name, too, is found under its own.
            is_alias = namespace.get(value.__name__, None) is value
            is_own = value.__name__ == key or not is_alias
            is_deep = qualname.count(".") >= _DEEPEST
            if value.__module__ == module and is_own and not is_deep:
                yield from members(module, f"{qualname}.", vars(value))
        elif not prefix:
            yield from _state(module, qualname, value)


def _state(module: str, name: str, value: Any) -> Iterator[tuple[Attribute, Any]]:
    """Yield the attributes of an instance, such as a registry, of a class of the same package."""
    home = str(getattr(type(value), "__module__", ""))
    top = module.partition(".")[0]
    if home.partition(".")[0] != top or _is_a(value, Enum):
        return
    state: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # not `vars`, which would run a `__getattr__`
        state = object.__getattribute__(value, "__dict__")
    for key, held in list(state.items()):
        if not isinstance(key, str) or key.startswith("__"):
            continue
        qualname = f"{name}.{key}"
        yield (module, qualname), Held(id(value), name, held)
        yield from _content(module, qualname, held)


def _content(module: str, qualname: str, value: Any) -> Iterator[tuple[Attribute, Any]]:
    """Yield what a dict, a list or a set holds: items with a text as key one by one."""
    # Asked by Python's own methods: a mapping that loads its values when asked would load all.
    base = next((own for own in _CONTAINERS if _is_a(value, own)), None)
    if base is None or base.__len__(value) > _LARGEST:
        return
    rest: list[Any] = []
    if base is dict:
        for key, held in list(dict.items(value)):
            if isinstance(key, str):
                item = f"{qualname}[{key!r}]"
                yield (module, item), Held(id(value), qualname, held)
            else:
                rest += [key, held]
    else:
        rest += list(base.__iter__(value))
    yield (module, f"{qualname}[]"), Held(id(value), qualname, tuple(rest))


def changes(before: Attributes, after: Attributes) -> Iterator[dict[str, Any]]:
    """Describe what differs, of modules, classes and containers that existed before.

    Args:
        before: The attributes before.
        after: The attributes now.

    Yields:
        The fields of an `ObservedChange`, without its step.
    """
    owners = {_owner(attribute, value) for attribute, value in before.items()}
    for attribute, value in after.items():
        original = before.get(attribute, _MISSING)
        if _owner(attribute, value) not in owners or _is_same(original, value):
            continue
        if _is_comparable(attribute, value, before, after):
            yield _described(attribute, value, before, after)
    owners_now = {_owner(attribute, value) for attribute, value in after.items()}
    for attribute, value in before.items():
        is_gone = attribute not in after and _owner(attribute, value) in owners_now
        if is_gone and _is_comparable(attribute, value, before, after):
            yield _described(attribute, _MISSING, before, after)


def _owner(attribute: Attribute, value: Any) -> Attribute:
    """Return the class, the module or the container that has an attribute."""
    module, qualname = attribute
    if _is_a(value, Held):
        return module, value.inside
    return module, qualname.rpartition(".")[0]


def _is_same(original: Any, value: Any) -> bool:
    """Return whether two values of an attribute are one object, or hold the same objects."""
    if not _is_a(original, Held) or not _is_a(value, Held):
        return original is value
    old, new = original.value, value.value
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        return all(one is other for one, other in zip(old, new, strict=True))
    return old is new


def _is_comparable(
    attribute: Attribute, value: Any, before: Attributes, after: Attributes
) -> bool:
    """Return whether a difference is one that somebody has made.

    That is not so for what Python keeps, for modules, and for what a new container holds.
    """
    module, qualname = attribute
    name = qualname.rpartition(".")[2]
    if name in _KEPT_BY_PYTHON or _is_a(value, ModuleType):
        return False
    if not _is_a(value, Held):
        return True
    container = (module, value.inside)
    return _plain(before.get(container)) is _plain(after.get(container))


def _plain(value: Any) -> Any:
    """Return a value itself where it is an item of something."""
    return value.value if _is_a(value, Held) else value


def _is_a(value: Any, kinds: type[Any] | tuple[type[Any], ...]) -> bool:
    """As `isinstance`, which would run the code of a proxy to ask for its class."""
    return issubclass(type(value), kinds)


def is_code(value: Any) -> bool:
    """Whether a value is code or a descriptor, rather than a module or plain data.

    Args:
        value: The value.
    """
    if _is_a(value, (ModuleType, Held)):
        return False
    if callable(value):
        return True
    return hasattr(type(value), "__get__")


def _described(
    attribute: Attribute, value: Any, before: Attributes, after: Attributes
) -> dict[str, Any]:
    """Describe a change: what `described` says, and how a row may make it."""
    original = before.get(attribute, _MISSING)
    held = original if value is _MISSING else value
    module, qualname = attribute
    form = "attribute"
    same_as = ""
    if _is_a(held, Held):
        item = qualname.removeprefix(held.inside)
        same_as = f"{held.holder}{item}"
        form = "content" if item.endswith("[]") else "item"
    if value is _MISSING:
        form = "deleted"
    plain_original = _plain(original)
    plain_value = _plain(value)
    name = (module, qualname.removesuffix("[]"))
    known = {} if original is _MISSING else {name: plain_original}
    return {
        **described(name, plain_value, known, after),
        "is_new": original is _MISSING,
        "is_inherited": _is_inherited(attribute),
        "is_code": is_code(plain_value),
        "form": form,
        "same_as": same_as,
        "own": _own_path(plain_value),
        "factory": _factory(plain_value, plain_original),
        "is_unrelated": _is_unrelated(plain_value, plain_original),
    }


def described(
    attribute: Attribute, value: Any, before: Attributes, after: Attributes
) -> dict[str, Any]:
    """Describe a change for the answer.

    Args:
        attribute: The attribute that has changed.
        value: Its value now.
        before: All attributes before the pile was imported.
        after: All attributes now.

    Returns:
        The first fields of an `ObservedChange`.
    """
    original = before.get(attribute, _MISSING)
    copies = []
    # Copies are names of modules, as `from lib import f` makes them; members of classes, and
    # what is no code, such as a number that many modules have, do not count.
    if original is not _MISSING and is_code(original):
        for other, other_value in after.items():
            _, qualname_of_other = other
            is_of_module = "." not in qualname_of_other
            if other_value is original and is_of_module:
                copies.append(":".join(other))
    inner = unwrapped(value)
    module = getattr(inner, "__module__", "")
    qualname = getattr(inner, "__qualname__", "")
    if not isinstance(module, str) or not isinstance(qualname, str):
        module = qualname = ""
    return {
        "target": ":".join(attribute),
        "is_new": original is _MISSING,
        "by": f"{module}:{qualname}",
        "copies": copies,
    }


def unwrapped(value: Any) -> Any:
    """Return the function inside of a static method, a property or another descriptor.

    It goes on from wrapper to wrapper until it finds a function or a class.

    Args:
        value: The descriptor; anything else is returned as it is.
    """
    if _is_a(value, (FunctionType, type)):
        return value
    for name in _INNER:
        with contextlib.suppress(Exception):
            # Not `getattr`, which would run a `__getattr__` of the pile.
            return unwrapped(object.__getattribute__(value, name))
    return value


def _is_inherited(attribute: Attribute) -> bool:
    """Return whether a base class has an attribute of a class, too."""
    module, qualname = attribute
    owner: Any = sys.modules.get(module)
    *outer, name = qualname.split(".")
    for part in outer:
        owner = getattr(owner, "__dict__", {}).get(part)
    if not outer or not _is_a(owner, type):
        return False
    return any(name in vars(base) for base in owner.__mro__[1:])


def _own_path(value: Any) -> str:
    """Return where a function or a class is found, as `module:qualname`; '' where it is not."""
    if not _is_a(value, (FunctionType, type)):
        return ""
    if _is_a(value, FunctionType):
        # `functools.wraps` gives a function the name and the module of another one.
        home = value.__globals__.get("__name__")
        if home != value.__module__:
            return ""
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        # Only what a `from module import name` finds: a name of the module itself.
        found = getattr(found, "__dict__", {}).get(name)
    if found is not value or "." in value.__qualname__:
        return ""
    return f"{value.__module__}:{value.__qualname__}"


def _factory(value: Any, original: Any) -> str:
    """Return the function that has made a closure of the original, with its module; '' for none.

    It takes one parameter, which the closure keeps, and is a function of a module.
    """
    if not _is_a(value, FunctionType) or not _is_a(original, FunctionType):
        return ""
    code = value.__code__
    # `functools.wraps` gives the closure the original's `__qualname__`, but not its code's.
    path = getattr(code, "co_qualname", value.__qualname__)
    name = path.partition(".<locals>.")[0]
    factory = value.__globals__.get(name)
    if not _is_a(factory, FunctionType):
        return ""
    made_by = factory.__code__
    takes_one = made_by.co_argcount == 1 and not made_by.co_kwonlyargcount
    if made_by.co_flags & _VARIABLE_ARGUMENTS or not takes_one:
        return ""
    if not any(constant is code for constant in made_by.co_consts):
        return ""
    kept: Any = None
    for free_name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
        if free_name == made_by.co_varnames[0]:
            with contextlib.suppress(ValueError):  # the cell is empty
                kept = cell.cell_contents
    if kept is not original:
        return ""
    module = str(value.__globals__.get("__name__", ""))
    return f"{module}:{name}"


def _is_unrelated(value: Any, original: Any) -> bool:
    """Return whether a class does not derive from the original, or arguments are others."""
    if _is_a(original, type):
        # By `__mro__`: a metaclass may refuse `issubclass`, as that of a TypedDict does.
        return not _is_a(value, type) or original not in value.__mro__
    if _is_a(original, FunctionType) and _is_a(value, FunctionType):
        return _parameters(value) != _parameters(original)
    return original is not _MISSING


def _parameters(function: FunctionType) -> tuple[object, ...]:
    """Return the parameters of a function, for a comparison."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    flags = code.co_flags & _VARIABLE_ARGUMENTS
    return names, code.co_argcount, flags
