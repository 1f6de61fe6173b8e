"""Rebuilds pydantic's classes; no other module knows anything of pydantic's insides.

Classes are rebuilt with pydantic's public `rebuild_dataclass` and `model_rebuild`. They build
schemas, but look neither for decorated methods nor for a custom `__init__` again: that is done
here. Checked with pydantic 2.10 to 2.14.

pydantic copies the schema of a class into that of every class with a field of it, so these have to
be rebuilt, too. The annotations of the fields show which they are: to read these takes 10 ms for
300 classes of vLLM, to search the schemas would take 100.
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
    is_decorated,
    is_pydantic,
    namespace,
    subclasses_with,
)

Tables = dict[str, dict[str, Any]]
"""Decorated methods: by the category of their decorator, and by name."""

_BUILT = ("__get_pydantic_core_schema__", "model_config", "__pydantic_config__")
"""Members that pydantic reads when it builds the schema."""

_SCHEMA = "__pydantic_core_schema__"
_COMPLETE = "__pydantic_complete__"


def is_model(cls: Any) -> bool:
    """Whether a class is a pydantic model (a BaseModel), and not a pydantic dataclass.

    Args:
        cls: Any class.
    """
    return is_pydantic(cls) and FIELDS not in vars(cls)


def matters(cls: Any, name: str, values: Collection[Any]) -> bool:
    """Whether a pydantic class must be rebuilt because a member has changed.

    Args:
        cls: The class.
        name: The name of the member.
        values: The member before and after the change; MISSING for none.
    """
    if name in _BUILT or any(is_decorated(value) for value in values):
        return True
    # A validator has this name: a plain function may have taken its place.
    if any(name in table for table in _tables(vars(cls)[DECORATORS]).values()):
        return True
    if is_model(cls):
        return name in {"__init__", "model_post_init"}
    # pydantic notes whether there is a `__post_init__`, and calls it by its name: only a new or
    # deleted one matters.
    if name != "__post_init__":
        return False
    return any(value is MISSING for value in values)


def is_complete(cls: Any) -> bool:
    """Whether pydantic has built a class; otherwise it does so at its first use.

    Args:
        cls: The class.
    """
    return bool(vars(cls).get(_COMPLETE))


def forget_schema(cls: Any) -> None:
    """Delete the outdated schema of a class, so that no other class copies it.

    Args:
        cls: A pydantic class, which the caller has to rebuild.
    """
    if _SCHEMA in vars(cls):
        delattr(cls, _SCHEMA)
    setattr(cls, _COMPLETE, False)


def rebuild(cls: Any) -> None:
    """Build a class's schema, validator, serializer and signature from its fields and methods.

    The `{}` keeps pydantic from looking up names in the function that calls it: this one.

    Args:
        cls: A pydantic class.
    """
    if is_model(cls):
        # Else pydantic would call the class's hook `__pydantic_on_complete__` once more.
        cls.__pydantic_complete__ = True
        cls.model_rebuild(force=True, _types_namespace={})
        return
    from pydantic.dataclasses import rebuild_dataclass  # noqa: PLC0415

    present_init = vars(cls)["__init__"]
    # pydantic takes the signature from the `__init__` that the standard decorator generates, and
    # then stores an `__init__` of its own. The class had that already, and a patch may have wrapped
    # it: so the present one is put back.
    cls.__init__ = generated(cls, vars(cls)[FIELDS])["__init__"]
    try:
        rebuild_dataclass(cls, force=True, _types_namespace={})
    finally:
        cls.__init__ = present_init


def with_default(info: Any, options: dict[str, Any]) -> Any:
    """Return a copy of a pydantic `FieldInfo` with another default.

    Args:
        info: The `FieldInfo` that `Field(…)` returned.
        options: The new `default` or `default_factory`, by that name.
    """
    from pydantic.fields import FieldInfo  # noqa: PLC0415

    new = copy(info)
    outdated = {"default", "default_factory"} - set(options)
    attributes = dict(info._attributes_set)  # noqa: SLF001
    for name in outdated:
        attributes.pop(name, None)
    new._attributes_set = {**attributes, **options}  # noqa: SLF001 - pydantic rebuilds the info from these
    # Without a default: it has pydantic's mark for none.
    empty = FieldInfo(annotation=info.annotation)
    new.default = options.get("default", empty.default)
    new.default_factory = options.get("default_factory")
    return new


def collect_decorators(cls: Any, original: Any) -> None:
    """Set the `__pydantic_decorators__` of a class anew: its validators and serializers.

    pydantic does this only when it creates a class. It also replaces each decorated object by the
    plain function, so that nothing but the first `__pydantic_decorators__` tells what the function
    is for. An object of a patch is still decorated.

    Args:
        cls: A pydantic class, whose bases have theirs already.
        original: The class's `__pydantic_decorators__` before any patch.
    """
    from pydantic._internal._decorators import DecoratorInfos  # noqa: PLC0415

    # In pydantic's order: those of the bases, then those of the class, then those of patches.
    tables: Tables = {category: {} for category in _tables(original)}
    for base in reversed(cls.__mro__[1:]):
        if is_pydantic(base):
            _enter(tables, cls, _tables(vars(base)[DECORATORS]))
    _enter(tables, cls, _own_decorators(cls, original, tables))
    for name, value in tuple(vars(cls).items()):
        if is_decorated(value):
            # pydantic finds decorated objects only as members of a class.
            stand_in = type("StandIn", (), {name: value})
            _enter(tables, cls, _tables(DecoratorInfos.build(stand_in)))
    setattr(cls, DECORATORS, type(original)(**tables))
    if is_model(cls):
        _find_hooks(cls)


def _own_decorators(cls: Any, original: Any, inherited: Tables) -> Tables:
    """Select the validators and serializers that a class does not inherit from a pydantic class.

    Args:
        cls: The class.
        original: Its `__pydantic_decorators__` before any patch.
        inherited: The validators and serializers of its pydantic bases.

    Returns:
        Those of the class itself, and those of its other bases (mixins).
    """
    inherited_names: set[str] = set()
    for table in inherited.values():
        inherited_names.update(table)
    own: Tables = {}
    for category, table in _tables(original).items():
        own[category] = {}
        for name, decorator in table.items():
            # (A patch may have deleted it: then `hasattr` fails.) What neither the class itself nor
            # a pydantic base has is from a mixin.
            if hasattr(cls, name) and (
                name in vars(cls) or name not in inherited_names
            ):
                own[category][name] = decorator
    return own


def _find_hooks(cls: Any) -> None:
    """Note whether a model overrides `__init__` and `model_post_init`.

    pydantic does this only when it creates the class, and calls an override only if it was noted.
    """
    from pydantic import BaseModel  # noqa: PLC0415

    cls.__pydantic_custom_init__ = cls.__init__ is not BaseModel.__init__
    has_hook = cls.model_post_init is not BaseModel.model_post_init
    cls.__pydantic_post_init__ = "model_post_init" if has_hook else None


def _tables(infos: Any) -> Tables:
    """Return the tables of a `DecoratorInfos`: one for field validators, one for serializers, …"""
    return {
        category.name: getattr(infos, category.name)
        for category in dataclasses.fields(infos)
    }


def _enter(tables: Tables, cls: Any, additions: Tables) -> None:
    """Bind decorators to a class and enter them into its tables, each name into one table only.

    A name that is there already keeps its place, which decides the order of calls.
    """
    for category, addition in additions.items():
        for name, decorator in addition.items():
            for table in tables.values():
                if table is not tables[category]:
                    table.pop(name, None)
            # The number of parameters differs between pydantic's releases.
            arguments = (cls, decorator.cls_ref)
            count = len(inspect.signature(decorator.bind_to_cls).parameters)
            tables[category][name] = decorator.bind_to_cls(*arguments[:count])


_STANDS_FOR = ("__value__", "__supertype__", "__bound__")
"""Attributes of an alias (`type X = …`), a NewType and a type variable: the type behind it."""


def dependents(changed: Iterable[type]) -> list[type]:
    """Find the classes to rebuild: changed ones, subclasses, and classes with a field of any.

    Fields are looked at in the packages of the changed classes only, see `packages_of`.

    Args:
        changed: Classes whose members or fields are changed.

    Returns:
        The pydantic classes among them. Each comes after its bases and after the classes of its
        fields.
    """
    changed = list(changed)
    packages = packages_of(changed)
    affected = set(changed)
    for cls in changed:
        # Every class that pydantic has made has the attribute DECORATORS.
        affected.update(subclasses_with(cls, DECORATORS))
    parts = annotated_parts([*_loaded(packages), *affected], packages)
    pending = list(affected)
    # Add the classes with a field of a found class, then those with a field of these, and so on.
    while pending:
        found = pending.pop()
        for cls, field_classes in parts.items():
            if found in field_classes and cls not in affected:
                affected.add(cls)
                pending.append(cls)
    return [cls for cls in _in_order(affected, parts) if is_pydantic(cls)]


def packages_of(classes: Iterable[type]) -> set[str]:
    """Return the packages in which classes with a field of a changed class are looked for.

    It is assumed that only the class's own package has such classes, or a script that uses it. So
    not all that is loaded has to be searched.

    Args:
        classes: The changed classes.

    Returns:
        The top-level package of each class, and the names of the script's module.
    """
    return {"__main__", "__mp_main__", *map(_package, classes)}


def _package(cls: type) -> str:
    """Return the top package of a class: `a` for one of module `a.b`."""
    return str(cls.__module__).partition(".")[0]


def _loaded(packages: set[str]) -> set[type]:
    """Find the pydantic classes in the loaded modules of some packages, nested ones included."""
    pending: list[dict[str, Any]] = []
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        if package in packages:
            pending.append(namespace(module))
    classes: set[type] = set()
    while pending:
        members = pending.pop()
        for value in tuple(members.values()):
            if isinstance(value, type) and is_pydantic(value) and value not in classes:
                classes.add(value)
                pending.append(dict(vars(value)))
    return classes


def annotated_parts(classes: list[type], packages: set[str]) -> dict[type, set[type]]:
    """Map classes to the classes that the annotations of their fields name.

    Args:
        classes: The classes to begin with. Those that they name are added, and so on.
        packages: Only classes of these packages are added.

    Returns:
        For each class, the classes that it names.
    """
    parts: dict[type, set[type]] = {}
    pending = list(classes)
    while pending:
        cls = pending.pop()
        if cls not in parts:
            parts[cls] = classes_named(_annotations(cls))
            pending += [part for part in parts[cls] if _package(part) in packages]
    return parts


def _in_order(classes: set[type], parts: dict[type, set[type]]) -> list[type]:
    """Sort classes: each after its bases and after the classes of its fields.

    Args:
        classes: The classes.
        parts: The classes that the fields of each class name.
    """
    order: list[type] = []
    # It also ends the recursion where classes have fields of one another.
    visited: set[type] = set()

    def visit(wanted: Iterable[type]) -> None:
        """Add classes to the order, each after all that it needs."""
        for cls in wanted:
            if cls in classes and cls not in visited:
                visited.add(cls)
                embedded = sorted(parts.get(cls, ()), key=_name)
                visit((*cls.__mro__[1:], *embedded))
                order.append(cls)

    visit(sorted(classes, key=_name))
    return order


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _annotations(cls: type) -> list[Any]:
    """Return the annotations of a class's fields.

    Beside its own classes, pydantic reads the fields of standard dataclasses, typed dicts and named
    tuples. Any other class has none.
    """
    if is_pydantic(cls):
        fields = vars(cls).get("__pydantic_fields__") or {}
        return [field.annotation for field in fields.values()]
    if not (is_dataclass(cls) or hasattr(cls, "__total__") or hasattr(cls, "_fields")):
        return []
    try:
        return list(get_type_hints(cls).values())
    except Exception:  # noqa: BLE001 - a name that is not defined yet; pydantic cannot resolve it either
        return []


def classes_named(
    annotations: list[Any], names: Mapping[str, Any] | None = None
) -> set[type]:
    """Find the classes that annotations name, such as `A`, `B` and `C` in `dict[A, B | list["C"]]`.

    Args:
        annotations: The annotations, as objects.
        names: The objects that strings in them stand for. (Python 3.10 keeps the `"C"`.)

    Returns:
        The classes, also those behind aliases and type variables.
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
            # An unknown name becomes None, which names nothing.
            pending.append((names or {}).get(annotation))
        else:
            for name in _STANDS_FOR:
                value = getattr(annotation, name, None)
                if value is not None:
                    pending.append(value)
            pending += getattr(annotation, "__constraints__", ())
    return classes
