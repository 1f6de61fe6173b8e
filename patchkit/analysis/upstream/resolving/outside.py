"""Tells what is known of classes and functions outside the release.

Classes of the standard library are inspected, a few others are listed here.
"""

import builtins
import importlib
import inspect
import re
import sys
from abc import ABCMeta
from functools import lru_cache
from typing import Any, Generic

from patchkit.analysis.upstream.resolving.machinery import (
    OF_BASE_MODEL,
    OF_ROOT_MODEL,
    OF_STRUCT,
    OF_TORCH_MODULE,
    OF_TYPED_DICT,
    may_be_set,
)

STANDARD = frozenset(
    {
        "abc",
        "argparse",
        "ast",
        "asyncio",
        "builtins",
        "collections",
        "collections.abc",
        "concurrent.futures",
        "contextlib",
        "ctypes",
        "dataclasses",
        "enum",
        "functools",
        "http.server",
        "io",
        "json",
        "json.encoder",
        "logging",
        "logging.handlers",
        "multiprocessing",
        "multiprocessing.process",
        "queue",
        "socketserver",
        "string",
        "threading",
        "types",
        "typing",
        "unittest",
    }
)
"""Modules that may be imported to inspect their classes: importing them has no other effect."""
CLASS_FACTORIES = frozenset(
    {
        "collections.namedtuple",
        "dataclasses.make_dataclass",
        "enum.Enum",
        "enum.Flag",
        "enum.IntEnum",
        "enum.IntFlag",
        "enum.StrEnum",
        "pydantic.create_model",
        "typing.NamedTuple",
        "typing.TypedDict",
    }
)
"""Functions and classes whose calls return a class: `namedtuple("Point", "x y")`."""
OBJECT_FACTORIES = frozenset(
    {
        "fastapi.APIRouter",
        "functools.partial",
        "logging.getLogger",
        "os.environ.get",
        "os.getenv",
        "re.compile",
        "regex.compile",
        "typing.NewType",
        "typing.ParamSpec",
        "typing.TypeVar",
    }
)
"""Functions outside the release whose calls return a plain object, as calls of classes do."""
NOT_PLAIN = frozenset(
    {"types.ModuleType", "builtins.type", "abc.ABCMeta", "builtins.property"}
)
"""Classes outside the release whose instances are more than plain objects."""

_OF_ABC_META = (
    "_abc_caches_clear",
    "_abc_registry_clear",
    "_dump_registry",
    "register",
)
"""Methods that the metaclass of `BaseModel` has from `ABCMeta`."""
_OF_NAMED_TUPLE = frozenset(
    {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
)
_OF_OBJECT = frozenset(dir(object))
_ATTRIBUTES = {
    "torch.nn.Module": OF_TORCH_MODULE,
    "torch.nn.modules.module.Module": OF_TORCH_MODULE,
    "pydantic.BaseModel": OF_BASE_MODEL,
    "pydantic.RootModel": OF_ROOT_MODEL,
    "pydantic.main.BaseModel": OF_BASE_MODEL,
    "pydantic.root_model.RootModel": OF_ROOT_MODEL,
    "msgspec.Struct": OF_STRUCT,
    "typing.NamedTuple": {*dir(tuple), *_OF_NAMED_TUPLE},
    "typing.TypedDict": {*dir(dict), *OF_TYPED_DICT},
}


def as_typing(dotted: str) -> str:
    """Return `typing.X` for `typing_extensions.X`, which behaves the same.

    Args:
        dotted: The dotted name of something outside the release.

    Returns:
        Any other name as it is.
    """
    return dotted.replace("typing_extensions.", "typing.")


def has_member(dotted: str, name: str) -> bool | None:
    """Return whether a class outside the release has an attribute.

    Args:
        dotted: The dotted name of the class.
        name: The name of the attribute.

    Returns:
        None if the attributes of the class are not known. For `object`, whether it defines the
        attribute itself.
    """
    attributes = _ATTRIBUTES.get(as_typing(dotted))
    # The lists have no names that `object` has, such as `__init__`: these classes have all of them.
    if attributes is not None:
        if name in attributes or name in _OF_OBJECT:
            return True
        if may_be_set(as_typing(dotted), name):
            return None
        return False
    cls = standard_class(dotted)
    if cls is None:
        return None
    if cls is object:
        return name in vars(object)
    is_alias = as_typing(dotted).startswith("typing.") and not issubclass(cls, Generic)
    # `typing.Mapping` brings `Generic` along, unless a later base has it.
    if is_alias and name in vars(Generic):
        return None
    # `type` stores it for classes, and a class of its own may have none.
    if cls is type and name == "__abstractmethods__":
        return None
    # Not by `hasattr`, which is False for `Enum.value`, though members have it.
    bases = cls.__mro__[:-1]  # without `object`, which the caller looks at last
    if any(name in vars(base) for base in bases):
        return True
    # Such as `Enum.__members__`, which the metaclass provides.
    return hasattr(cls, name) and not hasattr(object, name)


def as_defined(dotted: str) -> str:
    """Return `builtins.list` for `typing.List`, and any other name as it is.

    Args:
        dotted: The dotted name of a class outside the release.
    """
    cls = standard_class(dotted)
    if cls is None or not as_typing(dotted).startswith("typing."):
        return dotted
    if (
        cls.__module__ == "typing"
    ):  # `typing_extensions` may have a `Protocol` of its own
        return dotted
    return f"{cls.__module__}.{cls.__qualname__}"


@lru_cache(maxsize=512)
def standard_class(dotted: str) -> type | None:
    """Return a class of the standard library, as it is in the running Python.

    Args:
        dotted: The dotted name of the class.

    Returns:
        None if its module may not be imported for this, or has no class of the name.
    """
    module, _, name = as_typing(dotted).rpartition(".")
    if module not in STANDARD:
        return None
    found: Any = getattr(importlib.import_module(module), name, None)
    cls = getattr(
        found, "__origin__", found
    )  # of `typing.Mapping`, the class in `collections.abc`
    if not isinstance(cls, type):
        return None
    return cls


def may_store(dotted: str, name: str) -> bool:
    """Whether objects of a class of Python's own may have an attribute that the class has not.

    A method stores what `.name` in the source of its module mentions: `_target` of threads. So do
    metaclasses: `_value_` of the members of an enum.

    Args:
        dotted: The class.
        name: The name of the attribute.
    """
    cls = standard_class(dotted)
    if cls is None:
        return False
    return any(name in _mentioned_in(base.__module__) for base in cls.__mro__)


@lru_cache(maxsize=128)
def _mentioned_in(module: str) -> frozenset[str]:
    """Return what the source of a module has behind dots; nothing if it is written in C."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return frozenset()
    return frozenset(re.findall(r"\.\s*([^\W\d]\w*)", source))


def is_listed(dotted: str) -> bool:
    """Whether a class of another package is one of those whose attributes are listed here.

    Args:
        dotted: Its dotted name.
    """
    return as_typing(dotted) in _ATTRIBUTES


def is_registration(dotted: str) -> bool:
    """Whether something outside the release is the `register` of an abstract class.

    Args:
        dotted: Its dotted name, such as `collections.abc.Mapping.register`.
    """
    owner, _, name = dotted.rpartition(".")
    cls = standard_class(owner)
    is_abstract = isinstance(cls, ABCMeta) or cls is ABCMeta
    return name == "register" and is_abstract


def of_known_metaclass(dotted: str, name: str) -> str:
    """Name where the metaclass of a class of Python's own has an attribute.

    Args:
        dotted: The class.
        name: The name of the attribute, which `type` has as well.

    Returns:
        Such as "enum.EnumType.__call__" for `enum.Enum`; '' if it is that of `type`.
    """
    cls = standard_class(dotted)
    if cls is None:
        return ""
    metaclass: type = type(cls)
    for owner in metaclass.__mro__:
        if owner is not type and name in vars(owner):
            return f"{owner.__module__}.{owner.__qualname__}.{name}"
        if owner is type:
            break
    return ""


def is_only_of_metaclass(dotted: str, name: str, *, is_base: bool) -> bool:
    """Whether a class of Python's own has an attribute from its metaclass, or is a metaclass.

    Args:
        dotted: The class, which the attribute was found in.
        name: The name of the attribute.
        is_base: Whether the class that is asked about derives from it.
    """
    if dotted.startswith("pydantic."):
        return name in _OF_ABC_META
    cls = standard_class(dotted)
    if cls is None:
        return False
    if not is_base:
        return issubclass(cls, type)
    return not any(name in vars(base) for base in cls.__mro__)


def has_room_for_weakref(dotted: str) -> bool:
    """Whether Python gives a class that derives from one of its own a `__weakref__`.

    Args:
        dotted: The class of Python's own.

    Returns:
        False as well for a class that is not known.
    """
    cls = standard_class(dotted)
    if cls is None:
        return False
    return not cls.__weakrefoffset__ and not cls.__itemsize__


def is_class(dotted: str) -> bool:
    """Whether something outside the release is known to be a class.

    Args:
        dotted: Its dotted name.
    """
    return dotted in _ATTRIBUTES or standard_class(dotted) is not None


def bases_of(dotted: str) -> tuple[str, ...]:
    """Name the bases of a class of Python's own, `object` left out.

    Args:
        dotted: The class, such as `builtins.TypeError`.

    Returns:
        The bases in Python's order of resolution; () for a class of any other module.
    """
    module, _, name = dotted.rpartition(".")
    owner = getattr(builtins, name, None)
    if module != "builtins" or not isinstance(owner, type):
        return ()
    return tuple(f"builtins.{base.__name__}" for base in owner.__mro__[1:-1])
