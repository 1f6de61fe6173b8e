"""Defaults and annotations of a function whose `def` line was edited.

The edited line is executed alone. A default that was not edited is not evaluated again: the very
object that the function has stays.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any, cast

from patchkit.errors import TargetError

Definition = ast.FunctionDef | ast.AsyncFunctionDef

_ATTRIBUTES = ("__code__", "__defaults__", "__kwdefaults__", "__annotations__")


def edited_values(
    function: FunctionType, original: Mapping[str, Any], old: str, new: str
) -> dict[str, Any]:
    """Return the function's attributes that become others, by their names.

    `original`: those edited already, as they were before. `old`, `new`: the `def` line before any
    edit, and now; a TargetError where that cannot be evaluated.
    """
    former, later = (cast("Definition", ast.parse(f"{line} pass").body[0]) for line in (old, new))
    before = {name: original.get(name, getattr(function, name)) for name in _ATTRIBUTES}
    kept = _keep_unedited(former, later, _live_defaults(before))
    flags = __future__.annotations.compiler_flag
    if changed := _signature(former) != _signature(later):
        flags &= function.__code__.co_flags  # else nobody asks for the annotations
    made = _executed(function, later, kept, flags)
    names = ("__defaults__", "__kwdefaults__", *["__annotations__"] * changed)
    values = {name: getattr(made, name) for name in names}
    return {name: value for name, value in values.items() if _ids(value) != _ids(before[name])}


def _signature(definition: Definition) -> list[str]:
    given = definition.args
    arguments = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    return [ast.dump(part) if part else "" for part in (*arguments, definition.returns)]


def _ids(held: Any) -> dict[Any, int] | None:
    by_name = dict(enumerate(held)) if isinstance(held, tuple) else held
    return None if held is None else {name: id(value) for name, value in by_name.items()}


def _keep_unedited(former: Definition, later: Definition, live: dict[str, Any]) -> dict[str, Any]:
    """Put a name in place of each default that stays as it was; return the objects by name."""
    written = {name: ast.dump(default) for name, default in _defaults(former)}
    kept: dict[str, Any] = {}

    def keep(name: str, default: ast.expr) -> ast.expr:
        if name not in live or written.get(name) != ast.dump(default):
            return default
        kept[f"<{name}>"] = live[name]
        return ast.copy_location(ast.Name(f"<{name}>", ast.Load()), default)

    unedited = {id(default): keep(name, default) for name, default in _defaults(later)}
    given = later.args
    given.defaults = [unedited[id(default)] for default in given.defaults]
    given.kw_defaults = [default and unedited[id(default)] for default in given.kw_defaults]
    return kept


def _defaults(definition: Definition) -> Iterator[tuple[str, ast.expr]]:
    given = definition.args
    positional = [*given.posonlyargs, *given.args]
    for arg, default in zip(reversed(positional), reversed(given.defaults), strict=False):
        yield arg.arg, default
    for arg, keyword in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if keyword is not None:
            yield arg.arg, keyword


def _live_defaults(attributes: Mapping[str, Any]) -> dict[str, Any]:
    code, values = attributes["__code__"], attributes["__defaults__"] or ()
    positional = reversed(code.co_varnames[: code.co_argcount])
    by_name = dict(zip(positional, reversed(values), strict=False))
    return {**by_name, **(attributes["__kwdefaults__"] or {})}


def _executed(
    function: FunctionType, definition: Definition, kept: dict[str, Any], flags: int
) -> Any:
    """Make a function of a `def` line: in a class of the same name, which private names take."""
    owner = (function.__qualname__.split(".")[:-1] or ["_"])[-1].strip("<>")
    module = ast.parse(f"class {owner}: pass")
    cast("ast.ClassDef", module.body[0]).body = [definition]
    definition.name = "edited"
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}
    names = {**function.__globals__, **_of_class(function), **closure, **kept}
    code = compile(module, "<def line>", "exec", flags, dont_inherit=True)
    try:
        exec(code, names)  # noqa: S102 - text of the row
        made = vars(names[owner])["edited"]
        _ = made.__annotations__  # which newer Pythons evaluate only now
    except Exception as error:
        raise TargetError(f"the edited `def` line raises {error!r}") from error
    return made


def _of_class(function: FunctionType) -> dict[str, Any]:
    names = function.__globals__
    for part in function.__qualname__.split(".")[:-1]:
        value = names.get(part)
        if not isinstance(value, type):
            return {}
        names = dict(vars(value))
    return {} if names is function.__globals__ else names
