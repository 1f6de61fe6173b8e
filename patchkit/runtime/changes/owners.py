"""Finds, reads, sets and restores attributes of objects and items of containers.

An owner is the object or container that has the attribute or item. Values are read as they are
stored (a staticmethod stays one), without running descriptors.
"""

import functools
import sys
from collections.abc import Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast
from weakref import getweakrefcount

from patchkit.core.rows.target import Item, TargetStep, steps_of
from patchkit.errors import TargetError, near

SiteKey = tuple[int, TargetStep]
"""Identifies an attribute or item: the `id` of its owner, and its name."""

CACHED: Any = type(functools.lru_cache(int))
"""The type of what `lru_cache` and `cache` make."""

_PARTIALS: Any = (
    functools.cached_property,
    functools.partial,
    functools.partialmethod,
    functools.singledispatchmethod,
)
"""Types of objects with a function as their `func`."""

WRAPPERS: Any = (staticmethod, classmethod, MethodType, property, *_PARTIALS)
"""Types of objects that `inside` looks into."""


FIELDS = "__dataclass_fields__"
"""In the dict of every dataclass, pydantic's included: its fields by name."""

DECORATORS = "__pydantic_decorators__"
"""In the dict of every pydantic dataclass and model, and of nothing else."""


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()


class Location(NamedTuple):
    """An attribute of an object, or an item of a container.

    Args:
        owner: The object or container.
        name: The attribute or item.
        value: The value that is stored there; MISSING for none.
        own: Whether the owner itself has it, and does not inherit it.
        shared: Whether other objects may have referred to the value when it was located.
    """

    owner: Any
    name: TargetStep
    value: Any
    own: bool
    shared: bool = True


def locate(module: ModuleType, qualname: str) -> Location:
    """Walk from a module to the last step of a qualname.

    Args:
        module: The module.
        qualname: Attributes and items, as in `Class.method` or `TABLE['key']`.

    Returns:
        The location, with a value.

    Raises:
        TargetError: A step is missing.
    """
    location = locate_free(module, qualname)
    if location.value is MISSING:
        raise TargetError(_missing(module, qualname, location.owner, location.name))
    return location


def locate_free(module: ModuleType, qualname: str) -> Location:
    """Walk from a module to the last step of a qualname, which itself may be missing.

    Args:
        module: The module.
        qualname: Attributes and items, as in `Class.method` or `TABLE['key']`.

    Returns:
        The location; its value is MISSING if the last step is missing.

    Raises:
        TargetError: A step before the last one is missing.
    """
    *path, last = steps_of(qualname)
    owner: Any = module
    for step in path:
        inner = (
            item_of(owner, step)
            if isinstance(step, Item)
            else getattr(owner, step, MISSING)
        )
        if inner is MISSING:
            raise TargetError(_missing(module, qualname, owner, step))
        owner = inner
    if isinstance(last, Item):
        return _locate_item(owner, last)
    own_values = namespace(owner)
    shared = _is_shared(own_values, last)  # first: what is read is referred to here
    value = read(owner, last)
    return Location(owner, last, value, last in own_values, shared)


def _is_shared(values: Mapping[str, Any], name: str) -> bool:
    """Whether anything may refer to a value besides the dict that it is in, if only weakly.

    Only of plain functions that is known: whatever calls a class, for example, refers to it.
    """
    if type(values.get(name)) is not FunctionType:
        return True
    return _references(values, name) > _LEAST or bool(getweakrefcount(values[name]))


def _references(values: Mapping[str, Any], name: str) -> int:
    """Count the references to a value in a dict, with those of this function."""
    value = values[name]
    return sys.getrefcount(value)


_LEAST = _references({"lone": lambda: None}, "lone")
"""What `_references` returns for a function that nothing but the dict refers to."""


def _locate_item(owner: Any, item: Item) -> Location:
    """Return the location of an item of a container; it need not exist."""
    key = item.key
    if isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < 0:
        item = Item(len(owner) + key)  # `[-1]` names the same item as `[2]`
    value = item_of(owner, item)
    return Location(owner, item, value, own=value is not MISSING)


def peek(owner: Any, step: TargetStep) -> Any:
    """Return the stored value, or MISSING, without running properties or `__getattr__`.

    Args:
        owner: The object or container.
        step: The attribute or item.
    """
    if isinstance(step, Item):
        if isinstance(owner, dict):
            return dict.get(owner, step.key, MISSING)
        if type(owner) in {list, tuple}:
            return item_of(owner, step)
        return MISSING
    own_values = namespace(owner)
    if step in own_values:
        return own_values[step]
    if isinstance(owner, ModuleType):
        return MISSING
    return inherited(owner, step)


def bases_of(owner: Any) -> tuple[type, ...]:
    """Return the classes that a class or another object inherits from, the nearest first.

    Args:
        owner: The class, or the object; a module inherits nothing.
    """
    if isinstance(owner, ModuleType):
        return ()
    if isinstance(owner, type):
        return owner.__mro__[1:]
    return type(owner).__mro__


def inherited(owner: Any, name: str) -> Any:
    """Return the value of an attribute in the nearest base that has it, or MISSING.

    Args:
        owner: A class or another object; what it has itself does not count.
        name: The attribute.
    """
    for base in bases_of(owner):
        if name in vars(base):
            return vars(base)[name]
    return MISSING


def can_inherit(location: Location) -> bool:
    """Whether the value at a location is, or would be, inherited from a class.

    Args:
        location: An attribute; or an item, for which the answer is no.
    """
    if location.own or isinstance(location.name, Item):
        return False
    return not isinstance(location.owner, ModuleType)


def namespace(owner: Any) -> dict[str, Any]:
    """Return the `__dict__` of an object; an empty dict for an object without one.

    Args:
        owner: Any object. For a module this is its namespace itself, and not a copy.
    """
    try:
        # `vars()` would make a lazy module load, and run a `__getattribute__`; this does neither.
        return cast("dict[str, Any]", object.__getattribute__(owner, "__dict__"))
    except AttributeError:
        return {}


def item_of(owner: Any, item: Item) -> Any:
    """Return an item of a container, or MISSING; a defaultdict makes no new item for it.

    Args:
        owner: The container; any other object has no items.
        item: The key or index.
    """
    try:
        if hasattr(type(owner), "keys") and item.key not in owner:  # a mapping
            return MISSING
        return owner[item.key]
    except (LookupError, TypeError):
        return MISSING


def _missing(module: ModuleType, qualname: str, owner: Any, step: TargetStep) -> str:
    """Return the message for a step that its owner does not have, with similar names."""
    named_owner = owner if isinstance(owner, (ModuleType, type)) else type(owner)
    if isinstance(step, Item):
        shown_step = f"item {step}"
        name = str(step.key)
        names = [str(key) for key in owner] if isinstance(owner, dict) else []
    else:
        shown_step = repr(step)
        name = step
        names = list(namespace(owner))
    hint = near(name, names, most=2)
    target = f"{module.__name__}:{qualname}"
    return f"target {target} is not there: {named_owner.__name__} has no {shown_step}{hint}"


def read(owner: Any, step: TargetStep) -> Any:
    """Return the stored or inherited value, or one from `__getattr__`; MISSING if there is none.

    Args:
        owner: The object or container.
        step: The attribute or item.
    """
    if isinstance(step, Item):
        return item_of(owner, step)
    value = peek(owner, step)
    if value is not MISSING:
        return value
    if isinstance(owner, type):
        of_metaclass = peek(type(owner), step)
        if of_metaclass is not MISSING and not hasattr(type(of_metaclass), "__set__"):
            # A method of the metaclass, such as `type.__call__`, which `getattr` would find, too.
            return MISSING
    return getattr(owner, step, MISSING)  # a module's `__getattr__` may make it


def write(owner: Any, step: TargetStep, value: Any) -> None:
    """Store a value.

    Args:
        owner: The object or container.
        step: The attribute or item.
        value: What to store there.
    """
    if isinstance(step, Item):
        owner[step.key] = value
    else:
        setattr(owner, step, value)


def restore(owner: Any, step: TargetStep, original: Any) -> None:
    """Undo `write` for an attribute or item that its owner did not have itself before.

    Args:
        owner: The object or container.
        step: The attribute or item.
        original: The value to be read there afterwards, which the owner inherits or stores outside
            of its `__dict__`; MISSING for none.
    """
    if isinstance(step, Item):
        if read(owner, step) is not original:
            del owner[step.key]
    elif step in namespace(owner):
        delattr(owner, step)
    elif read(owner, step) is not original:
        if original is MISSING:
            delattr(owner, step)
        else:
            # It cannot be deleted: a flag in C, a parameter of a torch module, `__bases__`.
            write(owner, step, original)


def words(owner: Any, step: TargetStep) -> str:
    """Return the name of an attribute or item for messages.

    Args:
        owner: The object or container.
        step: The attribute or item.

    Returns:
        `module.name`, `Class.name`, or `<dict>['key']`.
    """
    owner_name = getattr(owner, "__name__", None) or f"<{type(owner).__name__}>"
    if isinstance(step, Item):
        return f"{owner_name}{step}"
    return f"{owner_name}.{step}"


def function_of(value: Any) -> FunctionType | None:
    """Return the function that a value is, or that a static or class method is made of.

    Args:
        value: The value of an attribute.

    Returns:
        A plain function; None for anything else.
    """
    function = value.__func__ if type(value) in {staticmethod, classmethod} else value
    if type(function) is FunctionType:
        return function
    return None


def inside(value: Any) -> tuple[Any, ...]:
    """Return the functions that a method, a property or a partial function is made of.

    Args:
        value: The value of an attribute; for any other type there are none.
    """
    if isinstance(value, (staticmethod, classmethod, MethodType)):
        return (value.__func__,)
    if isinstance(value, property):
        parts = (value.fget, value.fset, value.fdel)
        return tuple(part for part in parts if part is not None)
    if isinstance(value, _PARTIALS):
        return (value.func,)
    return ()


def is_pydantic(cls: type) -> bool:
    """Whether pydantic built this very class, and not only a base of it.

    Args:
        cls: Any class.
    """
    return DECORATORS in vars(cls)


def is_decorated(value: Any) -> bool:
    """Whether an object was made by pydantic's `@field_validator` and the like.

    Args:
        value: The value of an attribute of a class.
    """
    return "decorator_info" in getattr(value, "__dict__", ())


def is_built(owner: Any) -> bool:
    """Whether an object is a dataclass or a pydantic class, which is generated from its members.

    Args:
        owner: Any object.
    """
    return isinstance(owner, type) and (FIELDS in vars(owner) or is_pydantic(owner))


def subclasses_with(cls: type, key: str) -> list[type]:
    """Return the subclasses of a class that have an attribute of their own, and do not inherit it.

    Args:
        cls: The class.
        key: The name of the attribute, such as `__dataclass_fields__`.

    Returns:
        The subclasses, also indirect ones, bases first: those have a shorter `__mro__`.
    """
    subclasses: dict[type, None] = {}
    pending = [cls]
    while pending:
        parent = pending.pop()
        children: list[type] = type.__subclasses__(parent)
        for child in children:
            if child not in subclasses:
                subclasses[child] = None
                pending.append(child)
    having = [subclass for subclass in subclasses if key in vars(subclass)]
    return sorted(having, key=lambda subclass: len(subclass.__mro__))
