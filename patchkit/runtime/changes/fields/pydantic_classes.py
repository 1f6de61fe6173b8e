"""Rebuilds pydantic's classes; no other module knows anything of pydantic's insides.

Classes are rebuilt with pydantic's public `rebuild_dataclass` and `model_rebuild`. They build
schemas, but look neither for decorated methods nor for a custom `__init__` again: that is done
here. Checked with pydantic 2.10 to 2.14.

pydantic copies the schema of a class into that of every class with a field of it. Who holds it is
read off the annotations of the fields; 300 classes of vLLM take 10 ms, their schemas 100.
"""

import dataclasses
import inspect
import sys
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

from patchkit.runtime.changes.fields.dataclass_fields import generated
from patchkit.runtime.changes.owners import (
    DECORATORS,
    FIELDS,
    MISSING,
    heirs,
    is_decorated,
    is_pydantic,
    namespace,
)

Tables = dict[str, dict[str, Any]]
"""Decorated methods: by the category of their decorator, and by name."""

_BUILT = ("__get_pydantic_core_schema__", "model_config", "__pydantic_config__")
"""Members of which the schema is built."""

_SCHEMA = "__pydantic_core_schema__"
_COMPLETE = "__pydantic_complete__"


def is_model(cls: Any) -> bool:
    """Whether it is a pydantic model (a BaseModel), not a pydantic dataclass.

    Args:
        cls: Any class.
    """
    return is_pydantic(cls) and FIELDS not in vars(cls)


def matters(cls: Any, name: str, values: Collection[Any]) -> bool:
    """Whether a pydantic class must be rebuilt once a member is changed.

    Args:
        cls: The class.
        name: The name of the member.
        values: What the member has held and holds.
    """
    if name in _BUILT or any(is_decorated(value) for value in values):
        return True
    if any(name in table for table in _tables(vars(cls)[DECORATORS]).values()):
        return True
    if is_model(cls):
        return name in {"__init__", "model_post_init"}
    # It is called by its name, so only its coming and going matters.
    return name == "__post_init__" and any(value is MISSING for value in values)


def is_complete(cls: Any) -> bool:
    """Whether a pydantic class has been built; otherwise it will be at its first use.

    Args:
        cls: The class.
    """
    return bool(vars(cls).get(_COMPLETE))


def forget_schema(cls: Any) -> None:
    """Keep other classes from copying a class's schema and validator, which are outdated.

    Args:
        cls: A pydantic class, which has to be rebuilt then.
    """
    if _SCHEMA in vars(cls):
        delattr(cls, _SCHEMA)
    setattr(cls, _COMPLETE, False)


def rebuild(cls: Any) -> None:
    """Build a class's schema, validator, serializer and signature from its fields and methods.

    Args:
        cls: A pydantic class.
    """
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
    """Return a copy of a field's description with another default.

    Args:
        info: What `Field(…)` of pydantic returned.
        options: The new `default` or `default_factory`.
    """
    from pydantic.fields import FieldInfo  # noqa: PLC0415

    new = copy(info)
    outdated = {"default", "default_factory"} - set(options)
    attributes = dict(info._attributes_set)  # noqa: SLF001
    for name in outdated:
        attributes.pop(name, None)
    new._attributes_set = {**attributes, **options}  # noqa: SLF001 - what survives later merging
    empty = FieldInfo(annotation=info.annotation)
    new.default = options.get("default", empty.default)
    new.default_factory = options.get("default_factory")
    return new


def collect_decorators(cls: Any, original: Any) -> None:
    """Find the validators and serializers of a class again, as pydantic did when it made the class.

    The bases are done. pydantic took its marks off the methods, so that only what it had found then
    tells what a method of the class is for.

    Args:
        cls: A pydantic class.
        original: What pydantic had found: the class's `__pydantic_decorators__` before any patch.
    """
    from pydantic._internal._decorators import DecoratorInfos  # noqa: PLC0415

    tables: Tables = {category: {} for category in _tables(original)}
    for base in reversed(cls.__mro__[1:]):
        if is_pydantic(base):
            _enter(tables, cls, _tables(vars(base)[DECORATORS]))
    _enter(tables, cls, _own_decorators(cls, original, tables))
    for name, value in tuple(vars(cls).items()):
        if is_decorated(value):
            stand_in = type("StandIn", (), {name: value})
            _enter(tables, cls, _tables(DecoratorInfos.build(stand_in)))
    setattr(cls, DECORATORS, type(original)(**tables))
    if is_model(cls):
        _find_hooks(cls)


def _own_decorators(cls: Any, original: Any, inherited: Tables) -> Tables:
    """Select what the class decorates itself, or a base that is not pydantic's."""
    inherited_names: set[str] = set()
    for table in inherited.values():
        inherited_names.update(table)
    own: Tables = {}
    for category, table in _tables(original).items():
        own[category] = {}
        for name, decorator in table.items():
            if hasattr(cls, name) and (
                name in vars(cls) or name not in inherited_names
            ):
                own[category][name] = decorator
    return own


def _find_hooks(cls: Any) -> None:
    """Note whether these two are somebody's own, as a model does when it is made."""
    from pydantic import BaseModel  # noqa: PLC0415

    cls.__pydantic_custom_init__ = cls.__init__ is not BaseModel.__init__
    has_hook = cls.model_post_init is not BaseModel.model_post_init
    cls.__pydantic_post_init__ = "model_post_init" if has_hook else None


def _tables(infos: Any) -> Tables:
    return {
        category.name: getattr(infos, category.name)
        for category in dataclasses.fields(infos)
    }


def _enter(tables: Tables, cls: Any, additions: Tables) -> None:
    """Bind decorators to the class. A name stays where it was, but in one table only."""
    for category, addition in additions.items():
        for name, decorator in addition.items():
            for table in tables.values():
                if table is not tables[category]:
                    table.pop(name, None)
            arguments = (cls, decorator.cls_ref)
            count = len(inspect.signature(decorator.bind_to_cls).parameters)
            tables[category][name] = decorator.bind_to_cls(*arguments[:count])


_STANDS_FOR = ("__value__", "__supertype__", "__bound__")
"""What an alias (`type X = …`), a NewType or a type variable has."""


def dependents(changed: Iterable[type]) -> list[type]:
    """Find what is built from some classes: they, their subclasses, and who embeds any of these.

    Args:
        changed: Classes whose members or fields are changed.

    Returns:
        The pydantic classes among them, bases and parts first.
    """
    changed = list(changed)
    packages = packages_of(changed)
    built = set(changed)
    for cls in changed:
        built.update(heirs(cls, DECORATORS))
    parts = annotated_parts([*_loaded(packages), *built], packages)
    pending = list(built)
    while pending:  # who embeds what was found, until nothing is added
        part = pending.pop()
        holders = [holder for holder, held in parts.items() if part in held]
        fresh = [holder for holder in holders if holder not in built]
        built.update(fresh)
        pending += fresh
    return _in_order(built, parts)


def packages_of(classes: Iterable[type]) -> set[str]:
    """Return the packages of classes, and the script: who may embed them.

    Args:
        classes: The classes.
    """
    return {"__main__", "__mp_main__", *map(_package, classes)}


def _package(cls: type) -> str:
    return str(cls.__module__).partition(".")[0]


def _loaded(packages: set[str]) -> set[type]:
    """Find the pydantic classes in the loaded modules of some packages, nested ones included."""
    modules = list(sys.modules.items())
    pending = [
        namespace(module)
        for name, module in modules
        if name.partition(".")[0] in packages
    ]
    classes: set[type] = set()
    while pending:
        members = pending.pop()
        for value in tuple(members.values()):
            if isinstance(value, type) and is_pydantic(value) and value not in classes:
                classes.add(value)
                pending.append(dict(vars(value)))
    return classes


def annotated_parts(classes: list[type], packages: set[str]) -> dict[type, set[type]]:
    """Map classes to what their annotations name, and these to what theirs name.

    Args:
        classes: The classes to begin with.
        packages: Classes of others know none of what is looked for.

    Returns:
        What each of the classes names.
    """
    parts: dict[type, set[type]] = {}
    pending = list(classes)
    while pending:
        cls = pending.pop()
        if cls not in parts:
            parts[cls] = classes_named(_annotations(cls))
            pending += [part for part in parts[cls] if _package(part) in packages]
    return parts


def _in_order(built: set[type], parts: dict[type, set[type]]) -> list[type]:
    """Sort classes, those first that others derive from or embed; leave out all but pydantic's."""
    order: list[type] = []
    visited: set[type] = set()

    def visit(classes: Iterable[type]) -> None:
        for cls in classes:
            if cls in built and cls not in visited:
                visited.add(cls)
                embedded = sorted(parts.get(cls, ()), key=_name)
                visit((*cls.__mro__[1:], *embedded))
                order.append(cls)

    visit(sorted(built, key=_name))
    return [cls for cls in order if is_pydantic(cls)]


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _annotations(cls: type) -> list[Any]:
    """Return the annotations of a class's fields.

    Pydantic looks into standard dataclasses, typed dicts and named tuples by itself.
    """
    if is_pydantic(cls):
        fields = vars(cls).get("__pydantic_fields__") or {}
        return [field.annotation for field in fields.values()]
    if not (is_dataclass(cls) or hasattr(cls, "__total__") or hasattr(cls, "_fields")):
        return []
    try:
        return list(get_type_hints(cls).values())
    except Exception:  # noqa: BLE001 - a name that is not there yet: pydantic cannot see it either
        return []


def classes_named(
    annotations: list[Any], names: Mapping[str, Any] | None = None
) -> set[type]:
    """Find the classes that annotations name, also as arguments and behind aliases.

    Args:
        annotations: The annotations, as objects.
        names: What text in them names: in Python 3.10, `list["C"]` stays as it is written.

    Returns:
        The classes.
    """
    classes: set[type] = set()
    pending = list(annotations)
    while pending:
        annotation = pending.pop()
        arguments = get_args(annotation)
        if arguments:
            pending += arguments
        elif isinstance(annotation, type):
            classes.add(annotation)
        elif isinstance(annotation, str):
            pending.append((names or {}).get(annotation))
        else:
            for name in _STANDS_FOR:
                value = getattr(annotation, name, None)
                if value is not None:
                    pending.append(value)
            pending += getattr(annotation, "__constraints__", ())
    return classes
