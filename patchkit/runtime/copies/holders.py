"""Lists the parts of objects: a function's defaults and closure, items, attributes, slots.

An object with a copy as one of its parts is a holder. Parts of parts do not count, with few
exceptions.

No code of the objects is run: there is no `isinstance`, which reads `__class__`, and no attribute
look-up on an object of an unknown type.
"""

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from types import (
    CellType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
    UnionType,
)
from typing import Any, ClassVar, NamedTuple

from patchkit.core.rows.target import Item
from patchkit.runtime.changes.owners import WRAPPERS, inside, namespace
from patchkit.runtime.copies.scope import class_namespace

MOST = 1000
"""The most items of a container that is searched; a larger one counts as empty."""

_IRRELEVANT_MODULES = (
    "builtins",
    "typing",
    "dataclasses",
    "pydantic._internal._decorators",
    "pydantic._internal._mock_val_ser",
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
)
"""Modules of types whose objects are not searched: module specs, annotations, notes on classes."""


class _AKey:
    """The key in `KEY`, with a name for messages."""

    def __repr__(self) -> str:
        return "a key"


KEY = Item(_AKey())
"""The step from a `KeyOwner` to its key."""

_Parts = Iterable[Any]
_NamedParts = Iterator[tuple[str, Any]]


class HolderKind(NamedTuple):
    """How to list the parts of objects of some types.

    Args:
        parts: Returns the parts of an object quickly; there may be some more than in `named`.
        named: Yields the parts of an object, each with its name for messages: ` (default of x)`.
    """

    parts: Callable[[Any], _Parts]
    named: Callable[[Any], _NamedParts]


class HolderKinds(dict[type, "HolderKind | None"]):
    """The kind of each type, found when it is first asked for; None for a type without parts."""

    def __missing__(self, type_: type) -> HolderKind | None:
        """Find the kind of a type, and keep it."""
        self[type_] = kind = _kind_of(type_)
        return kind


def _kind_of(type_: type) -> HolderKind | None:
    """Return the kind of a type: from the table, or by its slots and instance dict; else None."""
    for types, kind in _KINDS:
        if issubclass(type_, types):
            return kind
    if issubclass(type_, _WITHOUT_PARTS) or type_.__module__ in _IRRELEVANT_MODULES:
        return None
    slots = _slots_of(type_)
    if slots:
        return _slotted(slots)
    # Whether objects have a `__dict__`: since Python 3.11, mostly only a flag of the type tells.
    has_dict = type_.__dictoffset__ or type_.__flags__ & _MANAGED_DICT
    return INSTANCE if has_dict else None


def _function_parts(function: FunctionType) -> _Parts:
    """Return a function's defaults and closure variables, and the parts of these.

    It is written for speed: there are some ten thousand functions, most of them without parts.
    """
    parts: list[Any] = []
    defaults = function.__defaults__
    if defaults is not None:
        parts += defaults
    keyword_defaults = function.__kwdefaults__
    if keyword_defaults is not None:
        parts += keyword_defaults.values()
    for cell in function.__closure__ or ():
        content = _content(cell)
        parts.append(content)
        if type(content) in _NESTING:
            parts += _inner_parts(content)
    return parts


def _function_named(function: FunctionType) -> _NamedParts:
    """Yield a function's defaults and closure variables, and the parts of these, with names."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    # The last positional parameters have the defaults.
    positional = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    for name, value in zip(positional, defaults, strict=False):
        yield f" (default of {name})", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f" (default of {name})", value
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        if name == "__class__":
            continue  # no copy, but the class of a method that uses `super()`
        content = _content(cell)
        for value in (content, *_inner_parts(content)):
            yield f" (closure {name})", value


def _inner_parts(content: Any) -> _Parts:
    """Return the parts of a closure variable: items, or another function's closure and its items.

    The registry of a `singledispatch` function is in the closure of an inner function.
    """
    if type(content) is not FunctionType:
        return _items(content)
    parts = [_content(cell) for cell in content.__closure__ or ()]
    return [*parts, *chain.from_iterable(map(_items, parts))]


def _content(cell: CellType) -> Any:
    """Return the value of a closure variable; None if it has none."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _items(value: Any) -> _Parts:
    """Return the items of a list, tuple, set or dict (also its keys); nothing for other types."""
    kind = _PLAIN_CONTAINERS.get(type(value))
    if kind is None:
        return ()
    return kind.parts(value)


def _wrapper_parts(value: Any) -> _Parts:
    """Return the functions of a method, property or partial, their parts, and its arguments."""
    functions = inside(value)
    parts: list[Any] = [*functions]
    for function in functions:
        if type(function) is FunctionType:
            parts += _function_parts(function)
    if type(value) is partial:
        parts += (*value.args, *value.keywords.values())
    return parts


def _wrapper_named(value: Any) -> _NamedParts:
    """Yield the same as `_wrapper_parts`, with names."""
    for part in inside(value):
        yield f" ({type(value).__name__})", part
        if type(part) is FunctionType:
            yield from _function_named(part)
    if type(value) is partial:
        for part in (*value.args, *value.keywords.values()):
            yield " (partial)", part


# A subclass of a container may have an `__iter__` or `items` of its own. So the methods of the base
# are called.


def _mapping_parts(value: Any) -> _Parts:
    """Return the keys and values of a dict."""
    if dict.__len__(value) > MOST:
        return ()
    return (*dict.keys(value), *dict.values(value))


def keys_of(value: Any) -> tuple[Any, ...]:
    """Return the keys of a dict, which are not among its named parts.

    Args:
        value: A dict, or an object of a subclass.

    Returns:
        The keys; none if there are more than `MOST`.
    """
    if dict.__len__(value) > MOST:
        return ()
    return tuple(dict.keys(value))


def _mapping_named(value: Any) -> _NamedParts:
    """Yield the values of a dict, named by their keys."""
    if dict.__len__(value) > MOST:
        return
    for key, part in tuple(dict.items(value)):
        if type(key) in _PLAIN_KEYS:
            yield f"[{key!r}]", part
        else:
            yield f"[<{type(key).__name__}>]", part


def _sequence_parts(value: Any) -> _Parts:
    """Return the items of a list, tuple, set or deque."""
    base: Any = type(value)
    if base not in _SEQUENCES:
        bases = base.__mro__  # of a subclass
        base = next(sequence for sequence in _SEQUENCES if sequence in bases)
    if base.__len__(value) > MOST:
        return ()
    items: _Parts = base.__iter__(value)
    return items


def _sequence_named(value: Any) -> _NamedParts:
    """Yield the items of a list, tuple, set or deque, named by their indexes."""
    is_set = issubclass(type(value), (set, frozenset))
    for index, part in enumerate(_sequence_parts(value)):
        yield " (a member)" if is_set else f"[{index}]", part


def _proxy_named(value: Any) -> _NamedParts:
    """Yield the keys and values of the dict behind a mapping proxy; nothing for another mapping."""
    # The proxy's own methods would call those of the mapping. Keys are named, too, as nobody can
    # replace a key through a proxy.
    for mapping in gc.get_referents(value):
        if issubclass(type(mapping), dict):
            for key in keys_of(mapping):
                yield " (a key)", key
            yield from _mapping_named(mapping)


def _alias_parts(value: Any) -> _Parts:
    """Return the types in `C[int]`, `list[C]`, `C | None` and `Optional[C]`."""
    values = namespace(value)
    if not values:  # an alias implemented in C
        return (getattr(value, "__origin__", None), *value.__args__)
    arguments = values.get("__args__", ())
    metadata = values.get("__metadata__", ())  # of an `Annotated[C, …]`
    return (values.get("__origin__"), *arguments, *metadata)


def _alias_named(value: Any) -> _NamedParts:
    """Yield the types in an alias, each of them once."""
    parts = {id(part): part for part in _alias_parts(value)}
    for part in parts.values():
        yield " (type alias)", part


_Slots = tuple[MemberDescriptorType, ...]


def _slots_of(type_: type) -> _Slots:
    """Return the descriptors of all `__slots__` in a class and its bases."""
    slots: list[MemberDescriptorType] = []
    for cls in type_.__mro__:
        members = class_namespace(cls)
        if members.get("__slots__"):
            slots += [
                member
                for member in members.values()
                if type(member) is MemberDescriptorType
            ]
    return tuple(slots)


def _slotted(slots: _Slots) -> HolderKind:
    """Return the kind of a type with slots; its objects may have a `__dict__` as well."""

    def named(value: Any) -> _NamedParts:
        yield from _instance_named(value)
        for slot in slots:
            try:
                yield f".{slot.__name__}", slot.__get__(value)
            except AttributeError:  # the slot has no value
                continue

    return HolderKind(_parts_of(named), named)


def _parts_of(named: Callable[[Any], _NamedParts]) -> Callable[[Any], _Parts]:
    """Return a kind's `parts`, made from its `named`."""
    return lambda value: [part for _, part in named(value)]


def _instance_parts(value: Any) -> _Parts:
    """Return the values of an object's `__dict__`."""
    return namespace(value).values()


def _instance_named(value: Any) -> _NamedParts:
    """Yield the values of an object's `__dict__`, with their names."""
    for name, part in tuple(namespace(value).items()):
        yield f".{name}", part


_PLAIN_KEYS = (str, int, bytes, bool, type(None))
"""Types whose `repr` runs no code of others."""
_SEQUENCES = (list, tuple, set, frozenset, deque)
_WITHOUT_PARTS = (ModuleType, str, bytes, int, float)
_MANAGED_DICT = 1 << 4
"""CPython's flag `Py_TPFLAGS_MANAGED_DICT`: objects have a dict although `__dictoffset__` is 0."""
_ALIASES = (GenericAlias, UnionType, type(ClassVar[int]))
"""Types of aliases; the last one is the base of those of `typing`."""
CLASS = HolderKind(lambda _: (), lambda _: iter(()))
"""A class has no parts here: `search` searches its attributes."""
INSTANCE = HolderKind(_instance_parts, _instance_named)
MAPPING = HolderKind(_mapping_parts, _mapping_named)
"""The keys of a dict can be repointed, unlike other parts; see `keys`."""
_SEQUENCE = HolderKind(_sequence_parts, _sequence_named)
_PROXY = HolderKind(_parts_of(_proxy_named), _proxy_named)
_PLAIN_CONTAINERS: dict[type, HolderKind] = {
    **dict.fromkeys((list, tuple, set, frozenset), _SEQUENCE),
    dict: MAPPING,
    MappingProxyType: _PROXY,
}
_NESTING = frozenset((FunctionType, *_PLAIN_CONTAINERS))
"""Types of closure variables that have parts, see `_inner_parts`."""
_KINDS: tuple[tuple[tuple[type, ...], HolderKind], ...] = (
    ((FunctionType,), HolderKind(_function_parts, _function_named)),
    ((type,), CLASS),
    (WRAPPERS, HolderKind(_wrapper_parts, _wrapper_named)),
    ((dict,), MAPPING),
    (_SEQUENCES, _SEQUENCE),
    ((MappingProxyType,), _PROXY),
    (_ALIASES, HolderKind(_alias_parts, _alias_named)),
)
