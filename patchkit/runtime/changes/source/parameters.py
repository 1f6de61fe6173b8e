"""Evaluates the defaults and annotations of a function whose `def` line was edited.

The edited line is executed alone. A default that was not edited is not evaluated again: the very
object that the function has stays.
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
    """Evaluate an edited `def` line.

    Args:
        function: The function that is edited.
        original: Those of its attributes that are edited already, as they were before, by name.
        old: The `def` line before any edit, up to its colon.
        new: The line as it is edited.

    Returns:
        The function's attributes that become others, by name.

    Raises:
        TargetError: The edited line cannot be evaluated.
    """
    former = _definition(old)
    later = _definition(new)
    current = {name: getattr(function, name) for name in _ATTRIBUTES}
    before = {**current, **original}
    unedited = _name_unedited(former, later, _live_defaults(before))
    names = ["__defaults__", "__kwdefaults__"]
    flags = __future__.annotations.compiler_flag  # nobody asks for the annotations
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
    """Parse a `def` line."""
    module = ast.parse(f"{line} pass")
    return cast("Definition", module.body[0])


def _signature(definition: Definition) -> list[str]:
    """Return names and annotations of the arguments and of the result, in order."""
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
    """Return the identity of each object in an attribute: a tuple, a dict or None."""
    if attribute is None:
        return None
    if isinstance(attribute, tuple):
        attribute = dict(enumerate(attribute))
    return {name: id(value) for name, value in attribute.items()}


def _name_unedited(
    former: Definition, later: Definition, live: dict[str, Any]
) -> dict[str, Any]:
    """Put a name in place of each default that stays as it was; return the objects by name."""
    written = {name: ast.dump(default) for name, default in _defaults(former)}
    objects: dict[str, Any] = {}
    replacements: dict[int, ast.expr] = {}
    for name, default in _defaults(later):
        replacements[id(default)] = default
        if name in live and written.get(name) == ast.dump(default):
            placeholder = f"<{name}>"
            objects[placeholder] = live[name]
            reference = ast.Name(placeholder, ast.Load())
            replacements[id(default)] = ast.copy_location(reference, default)
    arguments = later.args
    arguments.defaults = [replacements[id(default)] for default in arguments.defaults]
    arguments.kw_defaults = [
        default and replacements[id(default)] for default in arguments.kw_defaults
    ]
    return objects


def _defaults(definition: Definition) -> Iterator[tuple[str, ast.expr]]:
    """Yield each argument that has a default, and the default's expression."""
    arguments = definition.args
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
    """Return the objects that are a function's defaults, by the names of its arguments."""
    code = attributes["__code__"]
    positional = reversed(code.co_varnames[: code.co_argcount])
    defaults = reversed(attributes["__defaults__"] or ())
    by_name = dict(zip(positional, defaults, strict=False))
    by_name.update(attributes["__kwdefaults__"] or {})
    return by_name


def _executed(
    function: FunctionType, definition: Definition, unedited: dict[str, Any], flags: int
) -> Any:
    """Make a function of a `def` line: in a class of the same name, which private names take."""
    class_name = "_"
    scopes = function.__qualname__.split(".")[:-1]
    if scopes:
        class_name = scopes[-1].strip("<>")
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
        _ = edited.__annotations__  # which newer Pythons evaluate only now
    except Exception as error:
        raise TargetError(f"the edited `def` line raises {error!r}") from error
    return edited


def _closure(function: FunctionType) -> dict[str, Any]:
    """Return the variables of outer functions that a function uses, those that are bound."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    unbound = CellType()
    return {name: cell.cell_contents for name, cell in cells if cell != unbound}


def _class_namespace(function: FunctionType) -> dict[str, Any]:
    """Return what a function's class holds; nothing where it is in none, or in one out of reach."""
    names = function.__globals__
    for part in function.__qualname__.split(".")[:-1]:
        value = names.get(part)
        if not isinstance(value, type):
            return {}
        names = dict(vars(value))
    if names is function.__globals__:
        return {}
    return names
