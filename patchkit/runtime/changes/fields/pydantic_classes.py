"""What patchkit knows of pydantic's insides; no other module does.

Classes are rebuilt with pydantic's public `rebuild_dataclass` and `model_rebuild`. They build
schemas, but look neither for decorated methods nor for a custom `__init__` again: that is done
here. Checked with pydantic 2.10 to 2.14.

pydantic copies the schema of a class into that of every class with a field of it. Who holds it is
read off the annotations of the fields; 300 classes of vLLM take 10 ms, their schemas 100.
"""

import dataclasses
import inspect
import sys
from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

from patchkit.runtime.changes.fields.dataclass_fields import generated, heirs
from patchkit.runtime.changes.owners import (
    DECORATORS,
    FIELDS,
    MISSING,
    is_decorated,
    is_pydantic,
    namespace,
)

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


def collect_decorators(cls: Any, known: Any) -> None:
    """Find the validators and serializers of a class again, as pydantic did when it made the class.

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
    if is_model(cls):  # which notes when it is made whether these two are somebody's own
        from pydantic import BaseModel  # noqa: PLC0415

        cls.__pydantic_custom_init__ = cls.__init__ is not BaseModel.__init__
        has_hook = cls.model_post_init is not BaseModel.model_post_init
        cls.__pydantic_post_init__ = "model_post_init" if has_hook else None


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


_STANDS_FOR = ("__value__", "__supertype__", "__bound__")
"""What an alias (`type X = …`), a NewType or a type variable has."""


def dependents(changed: Iterable[type]) -> list[type]:
    """Find what is built from these, bases and parts first: they, heirs, who embeds them."""
    changed = list(changed)
    packages = {"__main__", "__mp_main__", *(_package(cls) for cls in changed)}
    built = {*changed, *(heir for cls in changed for heir in heirs(cls, DECORATORS))}
    parts = _parts([*_loaded(packages), *built], packages)
    new = list(built)
    while new:  # who embeds what was found, until nothing is added
        part = new.pop()
        fresh = [holder for holder, held in parts.items() if part in held and holder not in built]
        built.update(fresh)
        new += fresh
    return _in_order(built, parts)


def _package(cls: type) -> str:
    return str(cls.__module__).partition(".")[0]


def _loaded(packages: set[str]) -> set[type]:
    modules = list(sys.modules.items())
    left = [namespace(held) for name, held in modules if name.partition(".")[0] in packages]
    found: set[type] = set()
    while left:
        for value in tuple(left.pop().values()):
            if isinstance(value, type) and is_pydantic(value) and value not in found:
                found.add(value)
                left.append(dict(vars(value)))
    return found


def _parts(classes: list[type], packages: set[str]) -> dict[type, set[type]]:
    """Map classes to what their annotations name; other packages know none of these classes."""
    parts: dict[type, set[type]] = {}
    while classes:
        cls = classes.pop()
        if cls not in parts:
            parts[cls] = _named(_annotations(cls))
            classes += [part for part in parts[cls] if _package(part) in packages]
    return parts


def _in_order(built: set[type], parts: dict[type, set[type]]) -> list[type]:
    order: list[type] = []
    seen: set[type] = set()

    def visit(classes: Iterable[type]) -> None:
        for cls in classes:
            if cls in built and cls not in seen:
                seen.add(cls)
                visit((*cls.__mro__[1:], *sorted(parts.get(cls, ()), key=_name)))
                order.append(cls)

    visit(sorted(built, key=_name))
    return [cls for cls in order if is_pydantic(cls)]


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _annotations(cls: type) -> list[Any]:
    """Pydantic looks into standard dataclasses, typed dicts and named tuples by itself."""
    if is_pydantic(cls):
        fields = vars(cls).get("__pydantic_fields__") or {}
        return [field.annotation for field in fields.values()]
    if not (is_dataclass(cls) or hasattr(cls, "__total__") or hasattr(cls, "_fields")):
        return []
    try:
        return list(get_type_hints(cls).values())
    except Exception:  # noqa: BLE001 - a name that is not there yet: pydantic cannot see it either
        return []


def _named(annotations: list[Any]) -> set[type]:
    classes: set[type] = set()
    left = annotations
    while left:
        annotation = left.pop()
        if inner := get_args(annotation):
            left += inner
        elif isinstance(annotation, type):
            classes.add(annotation)
        else:
            values = (getattr(annotation, name, None) for name in _STANDS_FOR)
            left += [value for value in values if value is not None]
            left += getattr(annotation, "__constraints__", ())
    return classes
