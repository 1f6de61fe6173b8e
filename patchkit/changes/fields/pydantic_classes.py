"""
What patchkit knows of pydantic's insides; no other module does.

Classes are rebuilt with pydantic's public `rebuild_dataclass` and `model_rebuild`. They build
schemas, but look neither for decorated methods nor for a custom `__init__` again: that is done
here. Checked with pydantic 2.10 to 2.14.
"""

from __future__ import annotations

import dataclasses
import inspect
from copy import copy
from typing import TYPE_CHECKING, Any

from patchkit.changes.fields.dataclass_fields import generated
from patchkit.changes.owners import DECORATORS, FIELDS, MISSING, is_decorated, is_pydantic

if TYPE_CHECKING:
    from collections.abc import Collection

    Tables = dict[str, dict[str, Any]]

_BUILT = ("__get_pydantic_core_schema__", "model_config", "__pydantic_config__")
"""Members of which the schema is built."""

_SCHEMA, _COMPLETE = "__pydantic_core_schema__", "__pydantic_complete__"


def is_model(cls: Any) -> bool:
    """Whether it is a pydantic model (a BaseModel), not a pydantic dataclass."""
    return is_pydantic(cls) and FIELDS not in vars(cls)


def matters(cls: Any, name: str, values: Collection[Any]) -> bool:
    """Whether a pydantic class must be rebuilt once a member has another of these values."""
    if name in _BUILT or any(is_decorated(value) for value in values):
        return True
    if any(name in table for table in _tables(vars(cls)[DECORATORS]).values()):
        return True
    if is_model(cls):
        return name in {"__init__", "model_post_init"}
    # It is called by its name, so only its coming and going matters.
    return name == "__post_init__" and any(value is MISSING for value in values)


def is_whole(cls: Any) -> bool:
    """Whether it has been built; otherwise it will be at its first use."""
    return bool(vars(cls).get(_COMPLETE))


def forget_schema(cls: Any) -> None:
    """Keep other classes from copying this one's schema and validator, which are outdated."""
    if _SCHEMA in vars(cls):
        delattr(cls, _SCHEMA)
    setattr(cls, _COMPLETE, False)


def rebuild(cls: Any) -> None:
    """Build a class's schema, validator, serializer and signature from its fields and methods."""
    if is_model(cls):
        cls.__pydantic_complete__ = True  # it is no news to its hooks
        cls.model_rebuild(force=True, _types_namespace={})
        return
    from pydantic.dataclasses import rebuild_dataclass  # noqa: PLC0415

    own = vars(cls)["__init__"]
    # pydantic reads the signature off what the standard decorator would have generated, and then
    # puts its own __init__ on the class: always the same, and somebody may have wrapped it.
    cls.__init__ = generated(cls, vars(cls)[FIELDS])["__init__"]
    try:
        rebuild_dataclass(cls, force=True, _types_namespace={})
    finally:
        cls.__init__ = own


def with_default(info: Any, options: dict[str, Any]) -> Any:
    """Copy what `Field(…)` of pydantic returned, with another default."""
    from pydantic.fields import FieldInfo  # noqa: PLC0415

    new = copy(info)
    kept = {"default", "default_factory"} ^ set(options)
    given = {name: value for name, value in info._attributes_set.items() if name not in kept}  # noqa: SLF001
    new._attributes_set = {**given, **options}  # noqa: SLF001 - what survives later merging
    empty = FieldInfo(annotation=info.annotation)
    new.default = options.get("default", empty.default)
    new.default_factory = options.get("default_factory")
    return new


# -- decorated methods --------------------------------------------------------------------------


def collect_decorators(cls: Any, known: Any) -> None:
    """
    Find the validators and serializers of a class again, as pydantic did when it made the class.

    The bases are done. pydantic took its marks off the methods, so that only what it had found then
    (`known`) tells what a method of the class is for.
    """
    from pydantic._internal._decorators import DecoratorInfos  # noqa: PLC0415

    tables: Tables = {category: {} for category in _tables(known)}
    for base in reversed(cls.__mro__[1:]):
        if is_pydantic(base):
            _place(tables, cls, _tables(vars(base)[DECORATORS]))
    inherited = {name for table in tables.values() for name in table}
    own = {  # or those of a base that is not pydantic's
        category: {
            name: decorator
            for name, decorator in table.items()
            if hasattr(cls, name) and (name in vars(cls) or name not in inherited)
        }
        for category, table in _tables(known).items()
    }
    _place(tables, cls, own)
    for name, value in tuple(vars(cls).items()):
        if is_decorated(value):
            _place(tables, cls, _tables(DecoratorInfos.build(type("StandIn", (), {name: value}))))
    setattr(cls, DECORATORS, type(known)(**tables))
    if is_model(cls):
        _see_hooks(cls)


def _see_hooks(cls: Any) -> None:
    """A model notes when it is made whether these two are somebody's own."""
    from pydantic import BaseModel  # noqa: PLC0415

    cls.__pydantic_custom_init__ = cls.__init__ is not BaseModel.__init__
    own = cls.model_post_init is not BaseModel.model_post_init
    cls.__pydantic_post_init__ = "model_post_init" if own else None


def _tables(infos: Any) -> Tables:
    return {category.name: getattr(infos, category.name) for category in dataclasses.fields(infos)}


def _place(tables: Tables, cls: Any, more: Tables) -> None:
    """Bind each to the class. A name stays where it was, but in one table only."""
    for category, table in more.items():
        for name, decorator in table.items():
            for other, taken in tables.items():
                if other != category:
                    taken.pop(name, None)
            takes = len(inspect.signature(decorator.bind_to_cls).parameters)
            tables[category][name] = decorator.bind_to_cls(*(cls, decorator.cls_ref)[:takes])
