"""Attributes of objects and items of containers: found by a qualname, read, set, put back.

They are read as they are stored (a staticmethod stays one), without running descriptors.
"""

import functools
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from patchkit.core.rows.target import Item, TargetStep, steps_of
from patchkit.errors import TargetError, near

Place = tuple[int, TargetStep]

CACHED: Any = type(functools.lru_cache(int))
"""What `lru_cache` and `cache` make."""

_PARTIALS: Any = (
    *(functools.cached_property, functools.partial, functools.partialmethod),
    functools.singledispatchmethod,
)
"""What holds a function in `func`."""

WRAPPERS: Any = (staticmethod, classmethod, MethodType, property, *_PARTIALS)
"""What `inside` looks into."""

FIELDS = "__dataclass_fields__"
"""In the dict of every dataclass, pydantic's included: its fields by name."""

DECORATORS = "__pydantic_decorators__"
"""In the dict of every pydantic dataclass and model, and of nothing else."""


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()


class Location(NamedTuple):
    """An attribute, or an item of a container; not its `own` where the owner only inherits it."""

    owner: Any
    name: TargetStep
    value: Any
    own: bool


def locate(module: ModuleType, qualname: str) -> Location:
    """Walk from a module to the last step of a qualname; a TargetError where one is missing."""
    location = locate_free(module, qualname)
    if location.value is MISSING:
        raise TargetError(_missing(module, qualname, location.owner, location.name))
    return location


def locate_free(module: ModuleType, qualname: str) -> Location:
    """Do the same, but the last step itself may be missing."""
    *path, last = steps_of(qualname)
    owner: Any = module
    for step in path:
        inner = item_of(owner, step) if isinstance(step, Item) else getattr(owner, step, MISSING)
        if inner is MISSING:
            raise TargetError(_missing(module, qualname, owner, step))
        owner = inner
    if not isinstance(last, Item):
        return Location(owner, last, read(owner, last), last in namespace(owner))
    if isinstance(owner, list) and isinstance(last.key, int) and -len(owner) <= last.key < 0:
        last = Item(len(owner) + last.key)  # `[-1]` names the same place as `[2]`
    value = item_of(owner, last)
    return Location(owner, last, value, value is not MISSING)


def peek(owner: Any, step: TargetStep) -> Any:
    """Return what is stored, or MISSING; runs neither properties nor `__getattr__`."""
    if isinstance(step, Item):
        if isinstance(owner, dict):
            return dict.get(owner, step.key, MISSING)
        return item_of(owner, step) if type(owner) in {list, tuple} else MISSING
    own = namespace(owner)
    if step in own:
        return own[step]
    if isinstance(owner, ModuleType):
        return MISSING
    bases = owner.__mro__[1:] if isinstance(owner, type) else type(owner).__mro__
    return next((vars(base)[step] for base in bases if step in vars(base)), MISSING)


def namespace(owner: Any) -> dict[str, Any]:
    """Return the attributes that an object itself holds; a module's own dict, never a copy."""
    try:
        # A lazy module would load on `vars()`; the plain attribute look-up does not touch it.
        return cast("dict[str, Any]", object.__getattribute__(owner, "__dict__"))
    except AttributeError:
        return {}


def item_of(owner: Any, item: Item) -> Any:
    """Return what a container holds there, or MISSING; a defaultdict makes no new item for it."""
    try:
        if hasattr(type(owner), "keys") and item.key not in owner:
            return MISSING
        return owner[item.key]
    except (LookupError, TypeError):
        return MISSING


def _missing(module: ModuleType, qualname: str, owner: Any, step: TargetStep) -> str:
    where = owner.__name__ if isinstance(owner, (ModuleType, type)) else type(owner).__name__
    if isinstance(step, Item):
        known = [str(key) for key in owner] if isinstance(owner, dict) else []
        wanted, name = str(step.key), f"item {step}"
    else:
        known, wanted, name = list(namespace(owner)), step, repr(step)
    hint = near(wanted, known, most=2)
    return f"target {module.__name__}:{qualname} is not there: {where} has no {name}{hint}"


def read(owner: Any, step: TargetStep) -> Any:
    """Return what is stored, inherited things included; MISSING if nothing is."""
    if isinstance(step, Item):
        return item_of(owner, step)
    value = peek(owner, step)
    if value is MISSING and isinstance(owner, type):
        metas = peek(type(owner), step)
        if metas is not MISSING and not hasattr(type(metas), "__set__"):
            return MISSING  # what only the metaclass has (`type.__call__`), the class may get
    # A module's `__getattr__` may build it.
    return getattr(owner, step, MISSING) if value is MISSING else value


def write(owner: Any, step: TargetStep, value: Any) -> None:
    """Store a value."""
    if isinstance(step, Item):
        owner[step.key] = value
    else:
        setattr(owner, step, value)


def restore(owner: Any, step: TargetStep, original: Any) -> None:
    """Take out what was put on an owner that had none of its own.

    What is there then is the original: what the owner inherits, or keeps elsewhere than in its
    dict; MISSING for none.
    """
    if isinstance(step, Item):
        if read(owner, step) is not original:
            del owner[step.key]
    elif step in namespace(owner):
        delattr(owner, step)
    elif read(owner, step) is not original:
        # A flag in C, a parameter of a torch module, a property of a metaclass, `__bases__`.
        delattr(owner, step) if original is MISSING else write(owner, step, original)


def words(owner: Any, step: TargetStep) -> str:
    """For messages: `module.name`, `Class.name`, `dict['key']`."""
    where = getattr(owner, "__name__", None) or f"<{type(owner).__name__}>"
    return f"{where}{step}" if isinstance(step, Item) else f"{where}.{step}"


def place_of(owner: object, name: TargetStep) -> Place:
    """Tell a place from all others; a module's attribute is an item of its dict."""
    if isinstance(owner, ModuleType) and not isinstance(name, Item):
        return id(namespace(owner)), Item(name)
    return id(owner), name


def function_of(value: Any) -> FunctionType | None:
    """The function itself, or what a static or class method calls."""
    if type(value) in {staticmethod, classmethod}:
        value = value.__func__
    return value if type(value) is FunctionType else None


def inside(value: Any) -> tuple[Any, ...]:
    """Return the functions that a method, a property or a partial function is made of."""
    if isinstance(value, (staticmethod, classmethod, MethodType)):
        return (value.__func__,)
    if isinstance(value, property):
        return tuple(part for part in (value.fget, value.fset, value.fdel) if part is not None)
    return (value.func,) if isinstance(value, _PARTIALS) else ()


def held_elsewhere(values: list[Any]) -> list[Any]:
    """Leave out what only this list holds: nobody can come with it any more."""
    alone = [object()]
    (least,) = (sys.getrefcount(value) for value in alone)
    return [value for value in values if sys.getrefcount(value) > least]


def is_pydantic(cls: type) -> bool:
    """Whether pydantic built this very class, and not only a base of it."""
    return DECORATORS in vars(cls)


def is_decorated(value: Any) -> bool:
    """Whether it carries the mark of pydantic's `@field_validator` and the like."""
    return "decorator_info" in getattr(value, "__dict__", ())


def is_built(owner: Any) -> bool:
    """Whether it is a class that was built from its members: a dataclass, a pydantic class."""
    return isinstance(owner, type) and (FIELDS in vars(owner) or is_pydantic(owner))
