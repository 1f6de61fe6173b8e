"""Rebuilds what pydantic has built of types beside their classes: adapters, validated functions.

They are looked for where the classes that embed others are: in the modules of the packages of the
changed classes, in the classes there, and one level deep in what these hold.
"""

import sys
from collections.abc import Collection, Iterator
from types import CellType, FunctionType, MethodType, SimpleNamespace
from typing import Any, get_type_hints

from patchkit.errors import TargetError
from patchkit.runtime.changes.fields.pydantic_classes import (
    annotated_parts,
    classes_named,
    dependents,
    packages_of,
)
from patchkit.runtime.changes.owners import inside, namespace

_MOST = 1000
"""A container with more items is not looked through."""

_ADAPTER = "TypeAdapter"
_BUILDERS = (
    ("pydantic.type_adapter", _ADAPTER),
    ("pydantic._internal._validate_call", "ValidateCallWrapper"),
)
_MAKES_AGAIN = {"rebuild", "_create_validators"}


def rebuild_adapters(changed: Collection[type]) -> list[Exception]:
    """Rebuild the adapters and validated functions whose types are changed, or embed such a type.

    Args:
        changed: The classes, which are built anew.

    Returns:
        An error for each that cannot be rebuilt.
    """
    errors: list[Exception] = []
    for adapter in _dependent(changed):
        try:
            _rebuild(adapter)
        except Exception as error:  # noqa: BLE001 - pydantic raises what it likes
            failure = TargetError(f"{_words(adapter)} cannot be rebuilt: {error}")
            failure.__cause__ = error
            errors.append(failure)
    return errors


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
    return [*words, *map(_words, _dependent([replaced]))]


def _dependent(changed: Collection[type]) -> list[Any]:
    """Find the adapters and validated functions of classes, and of what embeds these."""
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
    for adapter in _adapters(classes, packages):
        named = classes_named(_annotations(adapter))
        parts = annotated_parts(list(named), packages)
        bases = {base for part in parts for base in part.__mro__}
        if not bases.isdisjoint(changed):
            adapters.append(adapter)
    return adapters


def _rebuild(adapter: Any) -> None:
    if type(adapter).__name__ == _ADAPTER:
        adapter.rebuild(force=True, _types_namespace=_names(adapter))
    else:
        adapter._create_validators()  # noqa: SLF001 - what its first call may do, too


def _names(adapter: Any) -> dict[str, Any]:
    """Return the globals where an adapter was made."""
    return namespace(sys.modules.get(adapter._module_name))  # noqa: SLF001 - nobody else knows


def _annotations(adapter: Any) -> list[Any]:
    names = None
    if type(adapter).__name__ == _ADAPTER:
        annotated: Any = SimpleNamespace(__annotations__={"type": adapter._type})  # noqa: SLF001
        names = _names(adapter)
    else:
        annotated = adapter.schema_type
    try:
        hints = get_type_hints(annotated, names, include_extras=True)
    except Exception:  # noqa: BLE001 - a name that pydantic has looked up in a function
        hints = annotated.__annotations__
    return list(hints.values())


def _words(adapter: Any) -> str:
    if type(adapter).__name__ == _ADAPTER:
        return f"{adapter!r} of {adapter._module_name}"  # noqa: SLF001 - nobody else knows
    return f"{adapter.module}:{adapter.qualname} (validate_call)"


def _adapters(classes: set[type], packages: set[str]) -> list[Any]:
    """Find the objects of some classes that the modules of packages hold."""
    found: dict[int, Any] = {}
    visited: set[int] = set()
    pending = [
        namespace(module)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in packages
    ]
    while pending:
        members = tuple(pending.pop().values())
        for value in members:
            if id(value) in visited:
                continue
            visited.add(id(value))
            if issubclass(type(value), type):
                if not packages.isdisjoint(packages_of([value])):
                    pending.append(dict(vars(value)))
                continue
            for part in _parts(value):
                if type(part) in classes:
                    found[id(part)] = part
    return list(found.values())


def _parts(value: Any) -> Iterator[Any]:
    """Yield an object, what it is a method of, and what it holds, each again with what it is of."""
    kind = type(value)
    held: Collection[Any] = ()
    if kind is dict:
        held = value.values()
    elif kind in {list, tuple, set, frozenset}:
        held = value
    elif kind is not FunctionType:
        held = namespace(value).values()
    if len(held) > _MOST:
        held = ()
    for part in (value, *held):
        yield part
        for function in (part, *inside(part)):
            if type(function) is MethodType:
                yield function.__self__
            elif type(function) is FunctionType:
                yield from _validators(function)


def _validators(function: FunctionType) -> Iterator[Any]:
    """Yield what a function may call to validate its arguments."""
    for cell in function.__closure__ or ():
        content = _content(cell)
        if type(content) is MethodType:
            yield content.__self__


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None
