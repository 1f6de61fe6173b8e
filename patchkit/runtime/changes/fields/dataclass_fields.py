"""Fields of a dataclass and their defaults, changed in place.

The class stays the same object. What the decorator had generated from the fields is generated
again; what somebody wrote by hand stays.
"""

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

from patchkit.runtime.changes.context import PreparedLayers
from patchkit.runtime.changes.owners import FIELDS, Location
from patchkit.runtime.changes.sites import Layer, Site, Sites

Fields = Mapping[str, Any]

_GENERATED = (
    *("__init__", "__repr__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__"),
    *("__hash__", "__setattr__", "__delattr__", "__doc__"),
)
"""What the decorator makes of the fields. `__match_args__` holds no keyword-only ones."""

_PARAMETERS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")


def generated(cls: type, fields: Fields, *, calls_post_init: bool = False) -> dict[str, Any]:
    """Return what the decorator makes of these fields, inherited ones included, on a stand-in."""
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    annotations = {name: each.type for name, each in fields.items()}
    stand_in = type(cls.__name__, (), {**names, "__annotations__": annotations})
    for name, each in fields.items():
        setattr(stand_in, name, copy(each))
    if calls_post_init:
        setattr(stand_in, "__post_init__", None)  # noqa: B010 - mypy knows no such attribute
    given = vars(cls)["__dataclass_params__"]
    dataclass(**{name: getattr(given, name) for name in _PARAMETERS})(stand_in)
    made = {name: vars(stand_in)[name] for name in _GENERATED if name in vars(stand_in)}
    for value in made.values():
        for cell in getattr(value, "__closure__", None) or ():
            if cell.cell_contents is stand_in:  # what is made for a frozen class knows its class
                cell.cell_contents = cls
    return made


def parts_of(cls: type, layer: Layer, sites: Sites) -> PreparedLayers:
    """Prepare a change of a dataclass's fields, and of all that was generated from them."""
    generator = _Generator(cls, _calls_post_init(cls, sites))
    # Below any Replace of the same method, wherever its row stands.
    layers = [
        (site, Layer(partial(generator.member, str(site.name)), True, (-1, 0), layer.patch))
        for site in generated_sites(cls, sites)
    ]
    return PreparedLayers([(_site(cls, FIELDS, sites), layer), *layers])


@dataclass(eq=False)
class _Generator:
    """Generates once for all members, whenever the fields are others."""

    cls: type
    calls_post_init: bool
    _fields: Any = None
    _made: dict[str, Any] = field(default_factory=dict)

    def member(self, name: str, _below: Any) -> Any:
        fields = vars(self.cls)[FIELDS]
        if fields is not self._fields:
            self._made = generated(self.cls, fields, calls_post_init=self.calls_post_init)
            self._fields = fields
        return self._made[name]


def generated_sites(cls: type, sites: Sites) -> list[Site]:
    """Find the members of a dataclass that the decorator generated: those made again the same."""
    fields = _site(cls, FIELDS, sites).original
    made = generated(cls, fields, calls_post_init=_calls_post_init(cls, sites))
    own = [_site(cls, name, sites) for name in made if name in vars(cls)]
    return [site for site in own if _is_same(site.original, made[str(site.name)])]


def _site(cls: type, name: str, sites: Sites) -> Site:
    return sites.at(Location(cls, name, vars(cls)[name], own=True))


def _calls_post_init(cls: type, sites: Sites) -> bool:
    if "__init__" not in vars(cls):
        return hasattr(cls, "__post_init__")
    code = getattr(_site(cls, "__init__", sites).original, "__code__", None)
    return code is not None and "__post_init__" in code.co_names


def _is_same(original: Any, made: Any) -> bool:
    if not isinstance(made, FunctionType):
        return made is not None and type(original) is type(made) and bool(original == made)
    if not isinstance(original, FunctionType) or original.__code__ != made.__code__:
        return False
    # A generated __repr__ lies in a wrapper that is everybody's.
    inner = getattr(made, "__wrapped__", None)
    return inner is None or _is_same(getattr(original, "__wrapped__", None), inner)


def heirs(cls: type, key: str) -> list[type]:
    """Return the subclasses that have a table of their own under this key, bases first."""
    found = [cls]
    for each in found:  # which grow with each class
        direct: list[type] = type.__subclasses__(each)
        found += [heir for heir in direct if heir not in found]
    return sorted((heir for heir in found[1:] if key in vars(heir)), key=lambda h: len(h.__mro__))


def inserted(cls: type, name: str, value: Any) -> Callable[[Fields], Fields]:
    """Return a function that adds a field to a class's table.

    It stands where it would, had the class or its base been written with it: after the other
    fields of the class that has it first, and so before those of its subclasses.
    """

    def insert(below: Fields) -> Fields:
        every = {**below, name: value}
        order = [field for base in cls.__mro__[:0:-1] for field in vars(base).get(FIELDS, ())]
        return {field: every[field] for field in (*order, *every) if field in every}

    return insert


def options(default: Any) -> dict[str, Any]:
    """Return what to give to `dataclasses.field` or pydantic's `Field` for this default."""
    if is_shared(default):
        return {"default": default}
    return {"default_factory": partial(deepcopy, default)}


def is_shared(default: Any) -> bool:
    """Whether all instances may hold the very same object: what has a hash does not change."""
    try:
        hash(default)
    except TypeError:
        return False
    return True


class LateDefault:
    """Stands on a class for a field that instances made earlier lack.

    Each gets its own copy when it is first read. The class itself has no such attribute, like with
    any `default_factory`.
    """

    def __init__(self, name: str, default: Any) -> None:
        self._name = name
        self._default = default

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        return vars(instance).setdefault(self._name, deepcopy(self._default))
