"""Changes the fields of a dataclass and their defaults in place.

The class stays the same object. Methods that the decorator had generated from the fields
(`__init__`, `__repr__`, …) are generated again; those written by hand stay.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any, ClassVar

from patchkit.runtime.changes.context import PreparedLayers
from patchkit.runtime.changes.owners import (
    FIELDS,
    Location,
    is_pydantic,
    subclasses_with,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites

Fields = Mapping[str, Any]
"""Fields of a dataclass by name, as in its `__dataclass_fields__`."""

_GENERATED = (
    "__init__",
    "__repr__",
    "__eq__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__hash__",
    "__setattr__",
    "__delattr__",
    "__doc__",
)
"""What the decorator generates from the fields. (`__match_args__` has no keyword-only fields.)"""

_PARAMETERS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
"""Parameters of the decorator that decide what it generates."""


def generated(
    cls: type, fields: Fields, *, calls_post_init: bool = False
) -> dict[str, Any]:
    """Return the methods that `@dataclass` generates from some fields, without changing the class.

    The decorator is called with a stand-in: a class of the same name that has these fields.

    Args:
        cls: The dataclass, whose parameters (`frozen=True`, …) are used again.
        fields: The fields, inherited ones included.
        calls_post_init: Whether the `__init__` is to call `__post_init__`.

    Returns:
        The methods, and the docstring, by name.
    """
    stand_in = _stand_in(cls, fields)
    # The decorator asks only whether the class has a `__post_init__`.
    if calls_post_init:
        setattr(stand_in, "__post_init__", None)  # noqa: B010 - mypy knows no such attribute
    parameters = vars(cls)["__dataclass_params__"]
    decorate = dataclass(**{name: getattr(parameters, name) for name in _PARAMETERS})
    decorate(stand_in)
    members = {
        name: vars(stand_in)[name] for name in _GENERATED if name in vars(stand_in)
    }
    for member in members.values():
        for cell in getattr(member, "__closure__", None) or ():
            # The `__setattr__` of a frozen class has the class in its closure.
            if cell.cell_contents is stand_in:
                cell.cell_contents = cls
    return members


def _stand_in(cls: type, fields: Fields) -> type:
    """Return an undecorated class of the same name that declares these fields and nothing else."""
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": {
            name: definition.type for name, definition in fields.items()
        },
    }
    stand_in = type(cls.__name__, (), namespace)
    for name, definition in fields.items():
        # The text "ClassVar[int]" would be looked up in the module of the class, which need not
        # have imported what the module of a base has.
        if "CLASSVAR" in str(definition._field_type):  # noqa: SLF001 - not told otherwise
            stand_in.__annotations__[name] = ClassVar
        else:
            # The decorator writes to the field that it finds: so it gets a copy.
            setattr(stand_in, name, copy(definition))
    return stand_in


def parts_of(cls: type, layer: Layer, sites: Sites) -> PreparedLayers:
    """Prepare a change of a dataclass's fields, and of all methods generated from them.

    Args:
        cls: The dataclass.
        layer: The layer on its `__dataclass_fields__`.
        sites: All changed attributes of this process.

    Returns:
        That layer, and one on each generated method.
    """
    generator = _Generator(cls, sites)
    layers = [
        (site, generator.layer(str(site.name), layer.patch))
        for site in generated_sites(cls, sites)
    ]
    return PreparedLayers([(_site(cls, FIELDS, sites), layer), *layers])


def post_init_parts(member: Site, sites: Sites) -> Iterator[tuple[Site, Layer]]:
    """Prepare to have generated `__init__` methods call a `__post_init__` that a patch has added.

    Args:
        member: The `__post_init__`.
        sites: All changed attributes of this process.

    Yields:
        The sites of the `__init__` of the class and of its subclasses, each with a layer. Those of
        pydantic's classes are left to pydantic.
    """
    patch = member.layers[-1].patch
    for cls in (member.owner, *subclasses_with(member.owner, FIELDS)):
        if is_pydantic(cls) or _calls_post_init(cls, sites):
            continue
        for site in generated_sites(cls, sites):
            if site.name == "__init__":
                yield site, _Generator(cls, sites).layer("__init__", patch)


@dataclass(eq=False)
class _Generator:
    """Generates the methods of a dataclass, all of them together whenever its fields change.

    Args:
        cls: The class.
        sites: All changed attributes of this process.
        _members: The generated methods by name; from `_fields`, and with a call of
            `__post_init__` if `_calls`.
    """

    cls: type
    sites: Sites
    _fields: Any = None
    _calls: bool = False
    _members: dict[str, Any] = field(default_factory=dict)

    def layer(self, name: str, patch: str) -> Layer:
        """Return a layer with the generated method of a name."""
        # Its rank is the lowest: a Replace of the same method always lies above it.
        return Layer(partial(self.member, name), base=True, patch=patch)

    def member(self, name: str, _below: Any) -> Any:
        """Return the method of a name, generated from the fields that the class has now.

        It is a layer's `make`; what lies below does not matter, since the method is made anew.
        """
        fields = vars(self.cls)[FIELDS]
        calls = _calls_post_init(self.cls, self.sites) or _has_new_post_init(
            self.cls, self.sites
        )
        if fields is not self._fields or calls is not self._calls:
            self._members = generated(self.cls, fields, calls_post_init=calls)
            self._fields = fields
            self._calls = calls
        return self._members[name]


def generated_sites(cls: type, sites: Sites) -> list[Site]:
    """Find the methods of a dataclass that the decorator generated, and nobody wrote by hand.

    They are generated again from the original fields: a method that equals the new one was.

    Args:
        cls: The dataclass.
        sites: All changed attributes of this process.

    Returns:
        The sites of these methods.
    """
    fields = _site(cls, FIELDS, sites).original
    members = generated(cls, fields, calls_post_init=_calls_post_init(cls, sites))
    own_sites = [_site(cls, name, sites) for name in members if name in vars(cls)]
    return [
        site for site in own_sites if _is_same(site.original, members[str(site.name)])
    ]


def _site(cls: type, name: str, sites: Sites) -> Site:
    return sites.at(Location(cls, name, vars(cls)[name], own=True))


def _calls_post_init(cls: type, sites: Sites) -> bool:
    """Whether the `__init__` of upstream calls `__post_init__`."""
    if "__init__" not in vars(cls):
        # The class has none (`init=False`). The decorator would generate one with the call.
        return hasattr(cls, "__post_init__")
    unpatched = _site(cls, "__init__", sites).original
    code = getattr(unpatched, "__code__", None)
    return code is not None and "__post_init__" in code.co_names


def _has_new_post_init(cls: type, sites: Sites) -> bool:
    """Whether a patch lies on the `__post_init__` of a class or of one of its bases.

    Then `__init__` has to call it, even if upstream's does not.
    """
    return any(sites.is_patched(base, "__post_init__") for base in cls.__mro__)


def _is_same(original: Any, member: Any) -> bool:
    """Whether a method or docstring of a class equals the one that was generated again.

    A `__hash__` of None, which the decorator sets beside `__eq__`, is no method: it stays.
    """
    if not isinstance(member, FunctionType):
        return (
            member is not None
            and type(original) is type(member)
            and bool(original == member)
        )
    if not isinstance(original, FunctionType) or original.__code__ != member.__code__:
        return False
    # Every generated __repr__ has the same wrapper, around code of its own.
    inner = getattr(member, "__wrapped__", None)
    return inner is None or _is_same(getattr(original, "__wrapped__", None), inner)


def field_inserter(cls: type, name: str, value: Any) -> Callable[[Fields], Fields]:
    """Return a function that adds a field to the fields of a class, in the right place.

    That is where it would be if the class had been written with it, inherited fields first: if
    `A` has `a` and `B(A)` has `b`, then with a new field `x` of `A` the class `A` has `a, x`, and
    `B` has `a, x, b`. The new field has to be added to bases before their subclasses.

    Args:
        cls: The class.
        name: The name of the field.
        value: The field.

    Returns:
        A function that takes the fields by name and returns the new ones: a layer's `make`.
    """

    def insert(table_below: Fields) -> Fields:
        """Return the fields with the new one, in the order of the bases."""
        fields = {**table_below, name: value}
        # A name may occur several times: the dict below keeps the place of the first one.
        order: list[str] = []
        for base in reversed(cls.__mro__[1:]):
            order += vars(base).get(FIELDS, ())
        order += fields
        # (A base may have got another new field by now, which this class is yet to get.)
        return {key: fields[key] for key in order if key in fields}

    return insert


def options(default: Any) -> dict[str, Any]:
    """Return the arguments of `dataclasses.field` or pydantic's `Field` for a default.

    Args:
        default: The default. Each instance gets a copy of one that is mutable, such as a list.

    Returns:
        Either `default` or `default_factory`.
    """
    if is_shared(default):
        return {"default": default}
    return {"default_factory": partial(deepcopy, default)}


def is_shared(default: Any) -> bool:
    """Whether all instances may have the very same object; one with a hash counts as immutable.

    Args:
        default: The default of a field.
    """
    try:
        hash(default)
    except TypeError:
        return False
    return True


class LateDefault:
    """A descriptor for a new field with a mutable default, for instances that were made before it.

    Each of them gets its own copy of the default when the attribute is first read. The class itself
    seems to have no such attribute, as with any `default_factory`.

    Args:
        name: The name of the field.
        default: The default, which is copied.
    """

    def __init__(self, name: str, default: Any) -> None:
        self._name = name
        self._default = default

    def __get__(self, instance: Any, owner: type) -> Any:
        """Return an instance's copy of the default, and store it; the class has no attribute."""
        if instance is None:
            raise AttributeError(
                f"type object {owner.__name__!r} has no attribute {self._name!r}"
            )
        return vars(instance).setdefault(self._name, deepcopy(self._default))
