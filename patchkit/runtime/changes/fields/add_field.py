"""Prepares AddField: a dataclass, also one of pydantic, gets a field and stays the same class."""

import dataclasses
import keyword
import sys
from collections.abc import Iterator
from typing import Any, ClassVar, get_origin

from patchkit.core.rows.declaration import AddField
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.fields.dataclass_fields import (
    LateDefault,
    field_inserter,
    generated_sites,
    is_shared,
    options,
    parts_of,
)
from patchkit.runtime.changes.owners import (
    FIELDS,
    MISSING,
    Location,
    is_pydantic,
    locate,
    subclasses_with,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites


class PreparedField(PreparedLayers, frozen=False):
    """A field to add: layers on a class, and on its subclasses that are dataclasses.

    Args:
        cls: The class.
        name: The name of the field.
    """

    cls: type
    name: str
    # Other code has no copies of what is changed.
    sites: ClassVar[tuple[Site, ...]] = ()

    @property
    def classes(self) -> tuple[type, ...]:
        """The changed classes, for `Rebuild`, which adds those that depend on them."""
        return (self.cls,)

    def apply(self) -> None:
        """Add the field; raise a TargetError if another change of the group has added it."""
        _refuse_taken(self.cls, self.name)
        super().apply()

    @property
    def left(self) -> list[str]:
        """The subclasses that were created while the field was there, and keep it after undo."""
        return [
            f"{cls.__module__}:{cls.__qualname__} (derives from it)"
            for cls in subclasses_with(self.cls, FIELDS)
            if self.name in vars(cls)[FIELDS]
        ]


def prepare(change: AddField, context: Context) -> PreparedField:
    """Find the class that is to get a field.

    Args:
        change: The change.
        context: What it is prepared with.

    Returns:
        The change, to be applied.

    Raises:
        TargetError: The class is missing or cannot get the field, or the field's type is unknown.
    """
    assert context.module is not None
    cls: Any = locate(context.module, change.place.qualname).value
    try:
        _refuse(cls, change.name, context.sites)
        annotation = _type(change.type, cls, context)
    except TargetError as error:
        raise TargetError(
            f"AddField({change.target!r}, {change.name!r}): {error}"
        ) from error
    layers = list(_layers(cls, change, annotation, context))
    return PreparedField(layers, cls, change.name)


def _refuse(cls: Any, name: str, sites: Sites) -> None:
    """Raise a TargetError if a class is no dataclass, or cannot get a field of this name."""
    if not isinstance(cls, type) or FIELDS not in vars(cls):
        raise TargetError(
            f"found {_found_instead(cls)}, expected a dataclass or a pydantic dataclass"
        )
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise TargetError(f"found {name!r}, expected a name for a field")
    _refuse_taken(cls, name)
    if not cls.__dictoffset__:
        raise TargetError(
            f"{cls.__name__} keeps its fields in __slots__ and cannot get another"
        )
    if is_pydantic(cls):
        return  # pydantic's own __init__ takes every field that is in the schema
    generated = [site.name for site in generated_sites(cls, sites)]
    if "__init__" not in generated:
        raise TargetError(
            f"{cls.__name__} has no __init__ that the decorator generated: nobody could pass the "
            "field"
        )


def _refuse_taken(cls: type, name: str) -> None:
    """Raise a TargetError if a class has or inherits an attribute or a field of this name."""
    for base in cls.__mro__:
        if name in vars(base):
            raise TargetError(
                f"{base.__name__} has {name!r} already: {vars(base)[name]!r}"
            )
        if name in vars(base).get(FIELDS, ()):
            raise TargetError(f"{base.__name__} has a field {name!r} already")


def _found_instead(value: Any) -> str:
    """Describe what was found where a dataclass was expected."""
    if not isinstance(value, type):
        return f"{value!r}"
    if is_pydantic(value):
        return f"the pydantic model {value.__name__}; Replace it by a class that derives from it"
    for base in value.__mro__:
        if FIELDS in vars(base):
            return f"the class {value.__name__}, an undecorated subclass of {base.__name__}"
    return f"the class {value.__name__}"


def _type(declared: Any, cls: type, context: Context) -> Any:
    """Return the type of the field as an object; a string is evaluated.

    Args:
        declared: The type in the row: an object, or a string such as `"list[int] | None"`.
        cls: The dataclass. Names in the string are looked up in it, in its module and in the body.
        context: What the change is prepared with.

    Raises:
        TargetError: A name is unknown, or the type is not one of a field (`ClassVar`, `InitVar`).
    """
    annotation = declared
    if isinstance(declared, str):
        module = sys.modules.get(cls.__module__, context.module)
        names = {**vars(context.body), **vars(module)}
        try:
            annotation = eval(declared, names, dict(vars(cls)))  # noqa: S307 - the author's own text
        except Exception as error:
            raise TargetError(
                f"found the type {declared!r} ({type(error).__name__}: {error}), expected one of "
                f"names of {cls.__module__} or of the body"
            ) from error
    is_class_var = annotation is ClassVar or get_origin(annotation) is ClassVar
    if is_class_var or isinstance(annotation, dataclasses.InitVar):
        raise TargetError(
            f"found the type {annotation!r}, expected that of a field with a value"
        )
    return annotation


def _layers(
    cls: type, change: AddField, annotation: Any, context: Context
) -> Iterator[tuple[Site, Layer]]:
    """Yield the layers that add a field: annotation, default, and field of each class.

    A subclass that has a field of this name already keeps its own.
    """
    sites = context.sites
    name = change.name
    yield _annotation(cls, name, annotation, context)
    # Instances that were made before read the default from the class.
    class_default = (
        change.default
        if is_shared(change.default)
        else LateDefault(name, change.default)
    )
    on_class = sites.at(Location(cls, name, MISSING, own=False))
    yield on_class, context.layer(lambda _: class_default, base=True)
    definition = _dataclass_field(name, annotation, change.default)
    for owner in (cls, *subclasses_with(cls, FIELDS)):
        if name not in vars(owner)[FIELDS]:
            layer = context.layer(field_inserter(owner, name, definition), base=True)
            yield from parts_of(owner, layer, sites).parts


def _dataclass_field(name: str, annotation: Any, default: Any) -> Any:
    """Return a `dataclasses.Field` as in `__dataclass_fields__`.

    Its name, type and kind are filled in only when a dataclass is made, so a stand-in class is made
    for it. It is keyword-only, so that positional arguments of callers stay with the other fields.
    """
    declared = dataclasses.field(**options(default), kw_only=True)
    stand_in = dataclasses.make_dataclass("StandIn", [(name, annotation, declared)])
    return vars(stand_in)[FIELDS][name]


def _annotation(
    cls: type, name: str, annotation: Any, context: Context
) -> tuple[Site, Layer]:
    """Return the site of the class's annotations, and the layer that adds one to them."""
    table = cls.__annotations__  # the class's own; Python makes one if there is none
    # From Python 3.14 on, setting `__annotations__` deletes the function that evaluates them. So
    # the dict that is there gets the item; before, the class gets another dict.
    if sys.version_info >= (3, 14):
        location = Location(table, Item(name), MISSING, own=False)
        return context.sites.at(location), context.layer(
            lambda _: annotation, base=True
        )
    layer = context.layer(lambda below: {**below, name: annotation}, base=True)
    return context.sites.at(Location(cls, "__annotations__", table, own=True)), layer
