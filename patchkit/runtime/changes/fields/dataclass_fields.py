"""Changes fields of a dataclass and their defaults in place.

The class stays the same object. What the decorator had generated from the fields is generated
again; what somebody wrote by hand stays.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

from patchkit.runtime.changes.context import PreparedLayers
from patchkit.runtime.changes.owners import FIELDS, Location, heirs, is_pydantic
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
"""What the decorator makes of the fields. `__match_args__` holds no keyword-only ones."""

_PARAMETERS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
"""Parameters of the decorator that decide what it makes of the fields."""


def generated(
    cls: type, fields: Fields, *, calls_post_init: bool = False
) -> dict[str, Any]:
    """Return what the decorator makes of some fields, on a stand-in for the class.

    Args:
        cls: The dataclass, which the decorator has been given with the same parameters.
        fields: The fields, inherited ones included.
        calls_post_init: Whether the `__init__` calls `__post_init__`.

    Returns:
        The members by name.
    """
    stand_in = _stand_in(cls, fields)
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
            # What is made for a frozen class knows its class.
            if cell.cell_contents is stand_in:
                cell.cell_contents = cls
    return members


def _stand_in(cls: type, fields: Fields) -> type:
    """Return a class of the same name that has these fields only, not decorated yet."""
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": {
            name: definition.type for name, definition in fields.items()
        },
    }
    stand_in = type(cls.__name__, (), namespace)
    for name, definition in fields.items():
        setattr(stand_in, name, copy(definition))
    return stand_in


def parts_of(cls: type, layer: Layer, sites: Sites) -> PreparedLayers:
    """Prepare a change of a dataclass's fields, and of all that was generated from them.

    Args:
        cls: The dataclass.
        layer: The layer on its table of fields.
        sites: All changed attributes of this process.

    Returns:
        The layer, and those of the generated members.
    """
    generator = _Generator(cls, sites)
    layers = [
        (site, generator.layer(str(site.name), layer.patch))
        for site in generated_sites(cls, sites)
    ]
    return PreparedLayers([(_site(cls, FIELDS, sites), layer), *layers])


def post_init_parts(member: Site, sites: Sites) -> Iterator[tuple[Site, Layer]]:
    """Prepare what calls a `__post_init__` that a dataclass got: each generated `__init__`.

    Args:
        member: The `__post_init__`, which a patch has added.
        sites: All changed attributes of this process.

    Yields:
        The sites of the `__init__` of the class and of its subclasses, each with a layer. pydantic
        makes these itself of its classes.
    """
    patch = member.layers[-1].patch
    for cls in (member.owner, *heirs(member.owner, FIELDS)):
        if is_pydantic(cls) or _calls_post_init(cls, sites):
            continue
        for site in generated_sites(cls, sites):
            if site.name == "__init__":
                yield site, _Generator(cls, sites).layer("__init__", patch)


@dataclass(eq=False)
class _Generator:
    """Generates all members of a dataclass once, whenever its fields are others."""

    cls: type
    sites: Sites
    _fields: Any = None
    _calls: bool = False
    _members: dict[str, Any] = field(default_factory=dict)

    def layer(self, name: str, patch: str) -> Layer:
        # Below any Replace of the same method, wherever its row stands.
        return Layer(partial(self.member, name), base=True, patch=patch)

    def member(self, name: str, _below: Any) -> Any:
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
    """Find the members of a dataclass that the decorator generated: those made again the same.

    Args:
        cls: The dataclass.
        sites: All changed attributes of this process.

    Returns:
        The sites of these members.
    """
    fields = _site(cls, FIELDS, sites).original
    members = generated(cls, fields, calls_post_init=_calls_post_init(cls, sites))
    own = [_site(cls, name, sites) for name in members if name in vars(cls)]
    return [site for site in own if _is_same(site.original, members[str(site.name)])]


def _site(cls: type, name: str, sites: Sites) -> Site:
    return sites.at(Location(cls, name, vars(cls)[name], own=True))


def _calls_post_init(cls: type, sites: Sites) -> bool:
    """Whether an `__init__` that is generated anew calls `__post_init__`, as upstream's does."""
    if "__init__" not in vars(cls):
        # With `init=False` there is none; dataclasses would write the call into one.
        return hasattr(cls, "__post_init__")
    unpatched = _site(cls, "__init__", sites).original
    code = getattr(unpatched, "__code__", None)
    return code is not None and "__post_init__" in code.co_names


def _has_new_post_init(cls: type, sites: Sites) -> bool:
    """Whether a patch has given a class a `__post_init__`, or one that it inherits."""
    return any(sites.holds(base, "__post_init__") for base in cls.__mro__)


def _is_same(original: Any, member: Any) -> bool:
    """Whether a member of a class is the same as what was generated again."""
    if not isinstance(member, FunctionType):
        return (
            member is not None
            and type(original) is type(member)
            and bool(original == member)
        )
    if not isinstance(original, FunctionType) or original.__code__ != member.__code__:
        return False
    # A generated __repr__ lies in a wrapper that is everybody's.
    inner = getattr(member, "__wrapped__", None)
    return inner is None or _is_same(getattr(original, "__wrapped__", None), inner)


def field_inserter(cls: type, name: str, value: Any) -> Callable[[Fields], Fields]:
    """Return a function that adds a field to a class's table of fields.

    The field comes where it would be if the class had been written with it. A base that was given
    the same field is changed before its subclasses, so that its fields stay before theirs: where
    `A` has `a` and `B(A)` has `b`, a field `x` of `A` makes `a, x` of `A`, and `a, x, b` of `B`.

    Args:
        cls: The class.
        name: The name of the field.
        value: The field.

    Returns:
        A function that makes the new table of the one that the layer below has left.
    """

    def insert(table_below: Fields) -> Fields:
        fields = {**table_below, name: value}
        order: list[str] = []  # the first mention of a name counts
        for base in reversed(cls.__mro__[1:]):
            order += vars(base).get(FIELDS, ())
        order += fields
        return {key: fields[key] for key in order if key in fields}

    return insert


def options(default: Any) -> dict[str, Any]:
    """Return the arguments of `dataclasses.field` or pydantic's `Field` for a default.

    Args:
        default: The default; instances get copies of it unless they may share it.
    """
    if is_shared(default):
        return {"default": default}
    return {"default_factory": partial(deepcopy, default)}


def is_shared(default: Any) -> bool:
    """Whether all instances may hold the very same object: what has a hash does not change.

    Args:
        default: The default of a field.
    """
    try:
        hash(default)
    except TypeError:
        return False
    return True


class LateDefault:
    """Stands on a class for a field that instances made earlier lack.

    Each gets its own copy when it is first read. The class itself has no such attribute, like with
    any `default_factory`.

    Args:
        name: The name of the field.
        default: What is copied.
    """

    def __init__(self, name: str, default: Any) -> None:
        self._name = name
        self._default = default

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(
                f"type object {owner.__name__!r} has no attribute {self._name!r}"
            )
        return vars(instance).setdefault(self._name, deepcopy(self._default))
