"""Evaluates the defaults and annotations of a function whose `def` line was edited.

The edited line is executed with an empty function body. A default that was not edited is not
evaluated again: the function keeps the very same object.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator, Mapping
from types import CellType, FunctionType
from typing import Any, cast

from patchkit.errors import TargetError

Definition = ast.FunctionDef | ast.AsyncFunctionDef

_ATTRIBUTES = ("__code__", "__defaults__", "__kwdefaults__", "__annotations__")


def edited_values(
    function: FunctionType, original: Mapping[str, Any], old: str, new: str
) -> dict[str, Any]:
    """Return the attributes of a function that an edit of its `def` line changes.

    Args:
        function: The function that is edited.
        original: The former values of those attributes that earlier edits have changed, by name.
        old: The `def` line before any edit, up to its colon.
        new: The edited line.

    Returns:
        The new `__defaults__`, `__kwdefaults__` and `__annotations__`: those that differ, by name.

    Raises:
        TargetError: The edited line cannot be evaluated.
    """
    former = _definition(old)
    later = _definition(new)
    current = {name: getattr(function, name) for name in _ATTRIBUTES}
    before = {**current, **original}
    unedited = _name_unedited(former, later, _live_defaults(before))
    names = ["__defaults__", "__kwdefaults__"]
    # With `from __future__ import annotations` no annotation is evaluated. If one was edited, the
    # line is compiled as its module is: with that flag only if the module has it.
    flags = __future__.annotations.compiler_flag
    if _signature(former) != _signature(later):
        flags &= function.__code__.co_flags
        names.append("__annotations__")
    edited = _executed(function, later, unedited, flags)
    changed = {}
    for name in names:
        value = getattr(edited, name)
        if _ids(value) != _ids(before[name]):
            changed[name] = value
    return changed


def _definition(line: str) -> Definition:
    """Parse a `def` line, which gets an empty body."""
    module = ast.parse(f"{line} pass")
    return cast("Definition", module.body[0])


def _signature(definition: Definition) -> list[str]:
    """Return the names and annotations of the parameters and the result, in order, as strings."""
    arguments = definition.args
    parts: list[ast.AST | None] = [
        *arguments.posonlyargs,
        *arguments.args,
        arguments.vararg,
        *arguments.kwonlyargs,
        arguments.kwarg,
        definition.returns,
    ]
    return [ast.dump(part) if part else "" for part in parts]


def _ids(attribute: Any) -> dict[Any, int] | None:
    """Return the `id` of each object in a `__defaults__` or the like, to compare by identity.

    Args:
        attribute: A tuple or a dict; for None the result is None.
    """
    if attribute is None:
        return None
    if isinstance(attribute, dict):
        return {name: id(value) for name, value in attribute.items()}
    return {position: id(value) for position, value in enumerate(attribute)}


def _name_unedited(
    former: Definition, later: Definition, live: dict[str, Any]
) -> dict[str, Any]:
    """Replace each default that was not edited by a name for the object that the function has.

    Args:
        former: The `def` line before any edit.
        later: The edited one, which is changed in place: `x=[]` becomes `x=<x>`.
        live: The function's defaults, by parameter.

    Returns:
        The objects, by the names in the edited line. `<x>` is a valid name in a syntax tree only.
    """
    written = {name: ast.dump(default) for name, default in _defaults(former)}
    objects: dict[str, Any] = {}
    replacements: dict[int, ast.expr] = {}
    for name, default in _defaults(later):
        replacements[id(default)] = default
        is_as_written = written.get(name) == ast.dump(default)
        if name in live and is_as_written:
            placeholder = f"<{name}>"
            objects[placeholder] = live[name]
            reference = ast.Name(placeholder, ast.Load())
            replacements[id(default)] = ast.copy_location(reference, default)
    arguments = later.args
    arguments.defaults = [replacements[id(default)] for default in arguments.defaults]
    # A keyword-only parameter without a default has None here, and keeps it.
    arguments.kw_defaults = [
        replacements.get(id(default)) for default in arguments.kw_defaults
    ]
    return objects


def _defaults(definition: Definition) -> Iterator[tuple[str, ast.expr]]:
    """Yield each parameter that has a default, and the default's expression."""
    arguments = definition.args
    # The last parameters have the defaults, so both are paired from the end.
    positional = reversed([*arguments.posonlyargs, *arguments.args])
    for argument, default in zip(
        positional, reversed(arguments.defaults), strict=False
    ):
        yield argument.arg, default
    for argument, keyword in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        if keyword is not None:
            yield argument.arg, keyword


def _live_defaults(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's defaults by parameter.

    Args:
        attributes: The function's `__code__`, `__defaults__` and `__kwdefaults__`.
    """
    code = attributes["__code__"]
    # The last positional parameters have the defaults, so both are paired from the end.
    positional = reversed(code.co_varnames[: code.co_argcount])
    defaults = reversed(attributes["__defaults__"] or ())
    by_name = dict(zip(positional, defaults, strict=False))
    by_name.update(attributes["__kwdefaults__"] or {})
    return by_name


def _executed(
    function: FunctionType, definition: Definition, unedited: dict[str, Any], flags: int
) -> Any:
    """Execute a `def` line, and return the function that it makes.

    It is executed in a class of the same name as the function's own: Python compiles private names
    such as `__x` to `_Class__x`.

    Args:
        function: The function that is edited; the line sees the same globals, closure and class.
        definition: The line.
        unedited: The values of further names.
        flags: The flags for the compiler.
    """
    class_name = "_"  # in a class of this name, Python leaves private names as they are
    scopes = function.__qualname__.split(".")[:-1]
    while scopes and scopes[-1] == "<locals>":
        del scopes[-2:]  # of a function in a function, the class around both counts
    if scopes:
        class_name = scopes[-1]
    module = ast.parse(f"class {class_name}: pass")
    cast("ast.ClassDef", module.body[0]).body = [definition]
    definition.name = "edited"
    names = {
        **function.__globals__,
        **_class_namespace(function),
        **_closure(function),
        **unedited,
    }
    code = compile(module, "<def line>", "exec", flags, dont_inherit=True)
    try:
        exec(code, names)  # noqa: S102 - text of the row
        edited = vars(names[class_name])["edited"]
        _ = edited.__annotations__  # Python 3.14 evaluates them only now
    except Exception as error:
        raise TargetError(f"the edited `def` line raises {error!r}") from error
    return edited


def _closure(function: FunctionType) -> dict[str, Any]:
    """Return the closure variables of a function that have a value, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    # Cells are equal if their contents are, or if both have none.
    unbound = CellType()
    values: dict[str, Any] = {}
    for name, cell in cells:
        if cell != unbound:
            values[name] = cell.cell_contents
    return values


def _class_namespace(function: FunctionType) -> dict[str, Any]:
    """Return the attributes of the class that a function was defined in.

    Empty for a function in no class, and for one in a class that its module does not have by name.
    """
    names = function.__globals__
    for part in function.__qualname__.split(".")[:-1]:
        value = names.get(part)
        if not isinstance(value, type):
            return {}
        names = dict(vars(value))
    if names is function.__globals__:  # the function is in no class
        return {}
    return names
