"""What an object holds one step down: defaults, closures, items, attributes.

Nothing is asked that could run somebody's code: no `isinstance`, which asks `__class__`, and no
attribute of an object of an unknown type.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from types import CellType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item
from patchkit.runtime.changes.owners import WRAPPERS, inside, namespace

MOST = 1000
"""A container with more items is not looked through."""

_DULL = ("builtins", "typing", "importlib", "_frozen_importlib", "_frozen_importlib_external")
"""Modules whose objects hold nothing of interest: module specs, annotations."""


class _AKey:
    def __repr__(self) -> str:
        return "a key"


KEY = Item(_AKey())
"""The step from a `KeyPlace` to its key."""


class HolderKind(NamedTuple):
    """How to look into objects of some types."""

    parts: Callable[[Any], Iterable[Any]]  # what one holds, with more where that is quicker
    named: Callable[[Any], Iterator[tuple[str, Any]]]  # the same with words: ` (default of x)`


class HolderKinds(dict[type, "HolderKind | None"]):
    """The kind of each type that was met; None where there is nothing to look into."""

    def __missing__(self, type_: type) -> HolderKind | None:
        kind = next((kind for types, kind in _KINDS if issubclass(type_, types)), None)
        if kind is None and type_.__dictoffset__ and not issubclass(type_, _OTHERS):
            kind = None if type_.__module__ in _DULL else INSTANCE
        self[type_] = kind
        return kind


def _function_parts(function: FunctionType) -> Iterable[Any]:
    """Written for speed: there are some ten thousand functions, most of which hold nothing."""
    parts: list[Any] = []
    if (defaults := function.__defaults__) is not None:
        parts += defaults
    if (keyword := function.__kwdefaults__) is not None:
        parts += keyword.values()
    for cell in function.__closure__ or ():
        parts.append(content := _content(cell))
        if type(content) in _NESTING:
            parts += _beneath(content)
    return parts


def _function_named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    code, defaults = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    keyword = function.__kwdefaults__ or {}
    for name, value in chain(zip(positional, defaults, strict=False), keyword.items()):
        yield f" (default of {name})", value
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        content = _content(cell)
        if name != "__class__":  # a class's own methods have it for `super()`
            for value in (content, *_beneath(content)):
                yield f" (closure {name})", value


def _beneath(content: Any) -> Iterable[Any]:
    """What lies in what a closure has; singledispatch has its registry one function further."""
    if type(content) is not FunctionType:
        return _items(content)
    cells = [_content(cell) for cell in content.__closure__ or ()]
    return [*cells, *chain.from_iterable(map(_items, cells))]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _items(value: Any) -> Iterable[Any]:
    type_ = type(value)
    if type_ is dict or type_ is MappingProxyType:
        return (*value, *value.values()) if len(value) <= MOST else ()
    return value if type_ in (list, tuple, set, frozenset) and len(value) <= MOST else ()


def _wrapper_named(value: Any) -> Iterator[tuple[str, Any]]:
    for part in inside(value):
        yield f" ({type(value).__name__})", part
        if type(part) is FunctionType:
            yield from _function_named(part)
    if type(value) is partial:
        yield from ((" (partial)", part) for part in (*value.args, *value.keywords.values()))


def _mapping_parts(value: Any) -> Iterable[Any]:
    return (*dict.keys(value), *dict.values(value)) if dict.__len__(value) <= MOST else ()


def keys_of(value: Any) -> tuple[Any, ...]:
    """List the keys of a dict, or of what derives from one; `HolderKind.named` has its values."""
    return tuple(dict.keys(value)) if dict.__len__(value) <= MOST else ()


def _mapping_named(value: Any) -> Iterator[tuple[str, Any]]:
    for key, item in tuple(dict.items(value)) if len(value) <= MOST else ():
        plain = type(key) in (str, int, bytes, bool, type(None))  # others' `repr` may run any code
        yield f"[{key!r}]" if plain else f"[<{type(key).__name__}>]", item


def _sequence_parts(value: Any) -> Iterable[Any]:
    # Read as its base reads it: a class that derives from one may have an `__iter__` of its own.
    base: Any = next(kind for kind in _SEQUENCES if kind in type(value).__mro__)
    return base.__iter__(value) if base.__len__(value) <= MOST else ()


def _sequence_named(value: Any) -> Iterator[tuple[str, Any]]:
    words = " (a member)" if issubclass(type(value), (set, frozenset)) else "[{}]"
    return ((words.format(at), part) for at, part in enumerate(_sequence_parts(value)))


_SEQUENCES = (list, tuple, set, frozenset, deque)
_NESTING = frozenset((dict, MappingProxyType, list, tuple, set, frozenset, FunctionType))
CLASS = HolderKind(lambda _: (), lambda _: iter(()))
"""A class is a place of its own, see `search`."""
INSTANCE = HolderKind(
    lambda value: namespace(value).values(),
    lambda value: ((f".{name}", item) for name, item in tuple(namespace(value).items())),
)
MAPPING = HolderKind(_mapping_parts, _mapping_named)
"""A dict's keys are places of their own, see `keys`."""
_KINDS: tuple[tuple[tuple[type, ...], HolderKind], ...] = (
    ((FunctionType,), HolderKind(_function_parts, _function_named)),
    ((type,), CLASS),
    (
        WRAPPERS,
        HolderKind(lambda value: [part for _, part in _wrapper_named(value)], _wrapper_named),
    ),
    ((dict,), MAPPING),
    (_SEQUENCES, HolderKind(_sequence_parts, _sequence_named)),
)
_OTHERS = (ModuleType, str, bytes, int, float)
