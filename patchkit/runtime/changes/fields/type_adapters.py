"""Rebuilds what pydantic has built of types beside their classes: adapters, validated functions.

Whatever keeps one, it refers to its class, and the garbage collector knows all that do.
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
_MAKES_AGAIN = {"rebuild", "_create_validators"}


def built_of(replaced: type) -> list[str]:
    """Name what pydantic has built of a class, and goes on with it when it is replaced.

    Args:
        replaced: The class.

    Returns:
        Classes with a field of it, adapters and validated functions, in words.
    """
    words = [
        f"{cls.__module__}:{cls.__qualname__} (has a field of it)"
        for cls in dependents([replaced])
        if replaced not in cls.__mro__
    ]
    return [*words, *map(adapter_words, adapters_of([replaced]))]


def adapters_of(changed: Collection[type]) -> list[Any]:
    """Find the adapters and validated functions whose types are some classes, or embed these.

    Args:
        changed: The classes.

    Returns:
        The adapters, and what calls the functions.
    """
    loaded = [
        vars(sys.modules[module])[name]
        for module, name in _BUILDERS
        if module in sys.modules
    ]
    # pydantic 2.10 forgets of what function it has built a validator.
    classes = {cls for cls in loaded if not _MAKES_AGAIN.isdisjoint(vars(cls))}
    if not classes:
        return []
    packages = packages_of(changed)
    adapters = []
    for adapter in gc.get_referrers(*classes):
        if type(adapter) not in classes:
            continue
        named = classes_named(_annotations(adapter), _names(adapter))
        parts = annotated_parts(list(named), packages)
        bases = {base for part in parts for base in part.__mro__}
        if not bases.isdisjoint(changed):
            adapters.append(adapter)
    return adapters


def rebuild_adapter(adapter: Any) -> None:
    """Rebuild an adapter, or what calls a validated function, of its type as that is now.

    Args:
        adapter: One of `adapters_of`.
    """
    if type(adapter).__name__ == _ADAPTER:
        adapter.rebuild(force=True, _types_namespace=_names(adapter))
    else:
        adapter._create_validators()  # noqa: SLF001 - what its first call may do, too


def _names(adapter: Any) -> dict[str, Any]:
    """Return the globals where an adapter, or a validated function, was made."""
    attribute = "_module_name" if type(adapter).__name__ == _ADAPTER else "module"
    module = getattr(adapter, attribute, None)
    return namespace(sys.modules.get(str(module)))


def _annotations(adapter: Any) -> list[Any]:
    names = None
    if type(adapter).__name__ == _ADAPTER:
        # One that another thread is making may have no type yet.
        kind = namespace(adapter).get("_type")
        annotated: Any = SimpleNamespace(__annotations__={"type": kind})
        names = _names(adapter)
    else:
        annotated = adapter.schema_type
    try:
        hints = get_type_hints(annotated, names, include_extras=True)
    except Exception:  # noqa: BLE001 - a name that pydantic has looked up in a function
        hints = annotated.__annotations__
    return list(hints.values())


def adapter_words(adapter: Any) -> str:
    """Return the name of an adapter or a validated function for messages.

    Args:
        adapter: One of `adapters_of`.
    """
    if type(adapter).__name__ == _ADAPTER:
        return f"{adapter!r} of {adapter._module_name}"  # noqa: SLF001 - nobody else knows
    return f"{adapter.module}:{adapter.qualname} (validate_call)"
