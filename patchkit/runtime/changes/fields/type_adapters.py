"""Finds and rebuilds pydantic's `TypeAdapter` objects and `@validate_call` functions.

pydantic compiles the schema of their types once, so they go on with a class as it was. pydantic has
no list of them. But each one refers to its own class (`TypeAdapter`), and the garbage collector can
list all objects that refer to that.
"""

import gc
import sys
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, get_type_hints

from patchkit.runtime.changes.fields.pydantic_classes import (
    annotated_parts,
    classes_named,
    dependents,
    packages_of,
)
from patchkit.runtime.changes.owners import namespace

_ADAPTER = "TypeAdapter"
_BUILDERS = (
    ("pydantic.type_adapter", _ADAPTER),
    ("pydantic._internal._validate_call", "ValidateCallWrapper"),
)
"""The classes of such objects, by module and name."""

_REBUILD_METHODS = {"rebuild", "_create_validators"}
"""The methods with which such a class compiles an object's schema anew."""


def built_of(replaced: type) -> list[str]:
    """Name what pydantic has compiled with a class, and what keeps using it once it is replaced.

    Args:
        replaced: The class.

    Returns:
        Classes with a field of it, adapters and validated functions, in words.
    """
    # Not the class itself, nor its subclasses, which `subclasses_left` names.
    words = [
        f"{cls.__module__}:{cls.__qualname__} (has a field of it)"
        for cls in dependents([replaced])
        if replaced not in cls.__mro__
    ]
    return [*words, *map(adapter_words, adapters_of([replaced]))]


def adapters_of(changed: Collection[type]) -> list[Any]:
    """Find the adapters and validated functions whose types contain one of the changed classes.

    For a changed class `C`, these are `TypeAdapter(C)`, `TypeAdapter(list[C])`, an adapter of a
    class with a field of type `C`, and a `@validate_call` function with a parameter of any such
    type.

    Args:
        changed: The changed classes.

    Returns:
        The `TypeAdapter` objects, and the `ValidateCallWrapper` of each function.
    """
    loaded = [
        vars(sys.modules[module])[name]
        for module, name in _BUILDERS
        if module in sys.modules
    ]
    # In pydantic 2.10 a wrapper does not keep its function, so that nothing can rebuild it.
    classes = {cls for cls in loaded if not _REBUILD_METHODS.isdisjoint(vars(cls))}
    if not classes:
        return []
    packages = packages_of(changed)
    adapters = []
    for adapter in gc.get_referrers(*classes):
        if type(adapter) not in classes:
            continue
        named = classes_named(_annotations(adapter), _names(adapter))
        # The classes that the adapter's types name, the classes of their fields, and so on; with
        # their bases, as a class that derives from a changed one is changed, too.
        parts = annotated_parts(list(named), packages)
        bases = {base for part in parts for base in part.__mro__}
        if not bases.isdisjoint(changed):
            adapters.append(adapter)
    return adapters


def rebuild_adapter(adapter: Any) -> None:
    """Have pydantic compile an adapter or a validated function anew, with its types as they are.

    Args:
        adapter: One of the objects that `adapters_of` returns.
    """
    if type(adapter).__name__ == _ADAPTER:
        adapter.rebuild(force=True, _types_namespace=_names(adapter))
    else:
        adapter._create_validators()  # noqa: SLF001 - pydantic itself calls it at the first call


def _names(adapter: Any) -> dict[str, Any]:
    """Return the globals of the module that made an adapter, or a validated function."""
    attribute = "_module_name" if type(adapter).__name__ == _ADAPTER else "module"
    module = getattr(adapter, attribute, None)
    return namespace(sys.modules.get(str(module)))


def _annotations(adapter: Any) -> list[Any]:
    """Return the type of an adapter, or the types of a validated function's parameters.

    Strings are resolved (`list["C"]` to `list[C]`) if all names in them are known.
    """
    names = None
    if type(adapter).__name__ == _ADAPTER:
        # `get_type_hints` wants an object with annotations: the type is made the annotation of one.
        # (The type is None for an adapter that another thread is making just now.)
        kind = namespace(adapter).get("_type")
        annotated: Any = SimpleNamespace(__annotations__={"type": kind})
        names = _names(adapter)
    else:
        annotated = adapter.schema_type
    try:
        hints = get_type_hints(annotated, names, include_extras=True)
    except Exception:  # noqa: BLE001 - a name from inside a function, which pydantic could see
        hints = annotated.__annotations__
    return list(hints.values())


def adapter_words(adapter: Any) -> str:
    """Return the name of an adapter or a validated function for messages.

    Args:
        adapter: One of the objects that `adapters_of` returns.
    """
    if type(adapter).__name__ == _ADAPTER:
        return f"{adapter!r} of {adapter._module_name}"  # noqa: SLF001 - nobody else knows
    return f"{adapter.module}:{adapter.qualname} (validate_call)"
