"""Compares the attributes of modules, classes, registries and containers at two moments.

The program `observing` loads this file in a child process; it imports nothing but Python's library.
"""

import contextlib
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

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

_numbers: dict[int, int] = {}
"""By the identity of each container that something was changed in, its number."""

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
        is_made: Whether a method of its own may make another value when somebody asks for it.
    """

    holder: int
    inside: str
    value: Any
    is_made: bool = False


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
        yield from _parts(module, qualname, value)
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


def _parts(module: str, qualname: str, value: Any) -> Iterator[tuple[Attribute, Any]]:
    """Yield what a function runs, or what a class derives from: both can be set in place."""
    if _is_a(value, (staticmethod, classmethod)):
        value = value.__func__
    elif _is_a(value, property):
        value = value.fget
    is_function = type(value) is FunctionType
    if not is_function and not _is_a(value, type):
        return
    if value.__module__ != module:
        return
    parts: tuple[Any, ...]
    if is_function:
        keywords = value.__kwdefaults__ or {}
        parts = (value.__code__, value.__defaults__, *keywords, *keywords.values())
    else:
        parts = type.__getattribute__(value, "__bases__")
    key = (module, f"{qualname}[]")
    yield key, Held(id(value), qualname, parts)


def _state(module: str, name: str, value: Any) -> Iterator[tuple[Attribute, Any]]:
    """Yield the attributes of an instance, such as a registry, of a class of the same package."""
    top = module.partition(".")[0]
    # What a module has is compared under its own name.
    if _is_a(value, (Enum, ModuleType)):
        return
    homes = [str(base.__module__) for base in type(value).__mro__]
    if not any(f"{home}.".startswith(f"{top}.") for home in homes):
        return
    key_of_class = (module, f"{name}.__class__")
    yield key_of_class, Held(id(value), name, type(value))
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
        is_made = _makes_items(value)
        for key, held in list(dict.items(value)):
            if isinstance(key, str):
                item = f"{qualname}[{key!r}]"
                yield (module, item), Held(id(value), qualname, held, is_made)
            else:
                rest += [key, held]
    else:
        rest += list(base.__iter__(value))
    yield (module, f"{qualname}[]"), Held(id(value), qualname, tuple(rest))


def _makes_items(mapping: Any) -> bool:
    """Return whether a mapping has methods of its own by which items are got and set."""
    kind: Any = type(mapping)
    for name in ("__getitem__", "__setitem__"):
        known = (getattr(dict, name), getattr(OrderedDict, name))
        if getattr(kind, name, None) not in known:
            return True
    return False


class AttributeDifference(NamedTuple):
    """An attribute, an item or a container that has changed.

    Args:
        attribute: Its module, and its qualified name there.
        original: What it was; None where there was none.
        value: What it is; None where it was deleted.
        form: `attribute`, `field` (of a dataclass), `item` (of a container or of an instance),
            `content` (what was changed in place, without what items say) or `deleted`.
        same_as: What all names of the same item have in common; '' for an attribute.
        is_new: Whether there was none before.
    """

    attribute: Attribute
    original: Any
    value: Any
    form: str
    same_as: str
    is_new: bool


def differences(before: Attributes, after: Attributes) -> Iterator[AttributeDifference]:
    """Yield what differs, of modules, classes and containers that existed before.

    Args:
        before: The attributes before.
        after: The attributes now.

    Yields:
        Each attribute, item or container that differs.
    """
    changed = list[Attribute]()
    for attribute, value in after.items():
        original = before.get(attribute, _MISSING)
        if original is not value and not _is_same(original, value):
            changed.append(attribute)
    gone = [attribute for attribute in before if attribute not in after]
    # Only where they are needed: a package such as torch has a million attributes.
    owners = _owners(before if changed else {})
    for attribute in changed:
        value = after[attribute]
        if _owner(attribute, value) not in owners:
            continue
        if _is_comparable(attribute, value, before, after):
            original = before.get(attribute, _MISSING)
            yield _difference(attribute, original, value)
    owners = _owners(after if gone else {})
    for attribute in gone:
        value = before[attribute]
        if _owner(attribute, value) not in owners:
            continue
        if _is_comparable(attribute, value, before, after):
            yield _difference(attribute, value, _MISSING)


def copies(difference: AttributeDifference, attributes: Attributes) -> list[Attribute]:
    """Return the names of modules that are still bound to the original, as `from lib import f` is.

    Args:
        difference: The change.
        attributes: All attributes now.
    """
    names = []
    for attribute, value in attributes.items():
        # Members of classes do not count.
        if value is difference.original and "." not in attribute[1]:
            names.append(attribute)
    return names


def _difference(attribute: Attribute, original: Any, value: Any) -> AttributeDifference:
    """Describe a change by what an attribute was and is."""
    held = original
    if value is not _MISSING:
        held = value
    module, qualname = attribute
    form = "attribute"
    same_as = ""
    if _is_field(attribute):
        form = "field"
    if _is_a(held, Held):
        item = qualname.removeprefix(held.inside)
        same_as = f"{_number_of(held.holder)}{item}"
        form = "item"
        if item.endswith("[]") or held.is_made:
            form = "content"
    plain_value = _plain(value)
    if value is _MISSING:
        form = "deleted"
        plain_value = None
    plain_original = _plain(original)
    is_new = original is _MISSING
    if is_new:
        plain_original = None
    name = (module, qualname.removesuffix("[]"))
    return AttributeDifference(name, plain_original, plain_value, form, same_as, is_new)


def _number_of(holder: int) -> int:
    """Return the number of a container: they are counted, so that each run gives the same."""
    return _numbers.setdefault(holder, len(_numbers) + 1)


def _is_field(attribute: Attribute) -> bool:
    """Return whether an attribute of a class is the default of a field of a dataclass.

    Its `__init__` has another copy of the default, which stays as it is; a row's would not.
    """
    module, qualname = attribute
    owner: Any = sys.modules.get(module)
    *outer, name = qualname.split(".")
    for part in outer:
        owner = getattr(owner, "__dict__", {}).get(part)
    if not _is_a(owner, type):
        return False
    return name in vars(owner).get("__dataclass_fields__", ())


def _owners(attributes: Attributes) -> set[Attribute]:
    """Return the classes, the modules and the containers that have attributes."""
    owners = set[Attribute]()
    for attribute, value in attributes.items():
        owners.add(_owner(attribute, value))
    return owners


def _owner(attribute: Attribute, value: Any) -> Attribute:
    """Return the class, the module or the container that has an attribute."""
    module, qualname = attribute
    if _is_a(value, Held):
        return module, value.inside
    return module, qualname.rpartition(".")[0]


def _is_same(original: Any, value: Any) -> bool:
    """Return whether two values of an attribute are one object, or hold the same objects."""
    if type(original) is not Held:
        return original is value
    if type(value) is not Held:
        return False
    old = original.value
    new = value.value
    if not isinstance(old, tuple):
        return old is new
    if not isinstance(new, tuple):
        return False
    if len(old) != len(new):
        return False
    return all(map(is_, old, new))


def _is_comparable(
    attribute: Attribute, value: Any, before: Attributes, after: Attributes
) -> bool:
    """Return whether a difference is one that somebody has made.

    That is not so for what Python keeps, for modules, for names that upstream binds when they are
    asked for, and for what a new container holds.
    """
    module, qualname = attribute
    name = qualname.rpartition(".")[2]
    if name in _KEPT_BY_PYTHON or _is_a(value, ModuleType):
        return False
    if not _is_a(value, Held):
        is_new = attribute not in before
        return not (is_new and _is_loaded_name(module, qualname, value))
    container = (module, value.inside)
    return _plain(before.get(container)) is _plain(after.get(container))


def _is_loaded_name(module: str, name: str, value: Any) -> bool:
    """Return whether a new name is one that a module binds itself when somebody asks for it."""
    loading: Any = sys.modules.get(module)
    namespace = getattr(loading, "__dict__", {})
    get = namespace.get("__getattr__")
    if get is None and type(loading) is not ModuleType:
        get = getattr(loading, "__getattr__", None)
    if get is None:
        return False
    loaded = _MISSING
    with contextlib.suppress(Exception):
        loaded = get(name)
    # It may have bound the name once more.
    namespace[name] = value
    return loaded is value


def _plain(value: Any) -> Any:
    """Return a value itself where it is an item of something."""
    return value.value if _is_a(value, Held) else value


def _is_a(value: Any, kinds: type[Any] | tuple[type[Any], ...]) -> bool:
    """As `isinstance`, which would run the code of a proxy to ask for its class."""
    return issubclass(type(value), kinds)
