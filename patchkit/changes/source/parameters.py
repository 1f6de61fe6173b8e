"""
Defaults and annotations of a function whose `def` line was edited.

The edited line is executed alone. A default that was not edited is not evaluated again: the very
object that the function has stays.
"""

from __future__ import annotations
import __future__

import ast
from typing import TYPE_CHECKING, Any, cast

from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FunctionType

    Definition = ast.FunctionDef | ast.AsyncFunctionDef

_ATTRIBUTES = ("__code__", "__defaults__", "__kwdefaults__", "__annotations__")


def edited_values(
    function: FunctionType, original: Mapping[str, Any], old: str, new: str
) -> dict[str, Any]:
    """
    Return the function's attributes that become others, by their names.

    Args:
        function: it.
        original: its attributes that were edited already, as they were before.
        old: its `def` line before any edit.
        new: the edited one.

    Raises:
        TargetError: new text cannot be evaluated where the function is.

    """
    former, later = _parsed(old), _parsed(new)
    changed = _signature(former) != _signature(later)
    if not changed:
        _drop_annotations(later)
    before = {name: original.get(name, getattr(function, name)) for name in _ATTRIBUTES}
    kept = _keep_unedited(former, later, _live_defaults(before))
    made = _executed(function, later, kept)
    values = {"__defaults__": made.__defaults__, "__kwdefaults__": made.__kwdefaults__}
    if changed:
        values["__annotations__"] = made.__annotations__
    return {name: value for name, value in values.items() if not _identical(value, before[name])}


def _parsed(line: str) -> Definition:
    return cast("Definition", ast.parse(f"{line} pass").body[0])


def _signature(definition: Definition) -> str:
    """Names and annotations, without the defaults."""
    parts = (*_arguments(definition), definition.returns)
    return " ".join(ast.dump(part) if part else "" for part in parts)


def _arguments(definition: Definition) -> list[ast.arg | None]:
    given = definition.args
    return [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]


def _drop_annotations(definition: Definition) -> None:
    definition.returns = None
    for argument in _arguments(definition):
        if argument is not None:
            argument.annotation = None


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
    """Return the defaults that a function has, whoever set them."""
    code, values = attributes["__code__"], attributes["__defaults__"] or ()
    positional = code.co_varnames[: code.co_argcount]
    last = positional[max(0, len(positional) - len(values)) :]
    return {**dict(zip(last, values, strict=False)), **(attributes["__kwdefaults__"] or {})}


def _executed(function: FunctionType, definition: Definition, kept: dict[str, Any]) -> Any:
    """Make a function of a `def` line: in a class of the same name, which private names take."""
    owner = (function.__qualname__.split(".")[:-1] or ["_"])[-1].strip("<>")
    module = ast.parse(f"class {owner}: pass")
    cast("ast.ClassDef", module.body[0]).body = [definition]
    definition.name = "edited"
    flags = function.__code__.co_flags & __future__.annotations.compiler_flag
    names = {**function.__globals__, **_of_class(function), **_of_closure(function), **kept}
    code = compile(module, "<def line>", "exec", flags, dont_inherit=True)
    try:
        exec(code, names)  # noqa: S102 - text of the row
        made = vars(names[owner])["edited"]
        _ = made.__annotations__  # which newer Pythons evaluate only now
    except Exception as error:
        raise TargetError(f"the edited `def` line raises {error!r}") from error
    return made


def _of_class(function: FunctionType) -> dict[str, Any]:
    value: Any = None
    for number, part in enumerate(function.__qualname__.split(".")[:-1]):
        value = (vars(value) if number else function.__globals__).get(part)
        if not isinstance(value, type):
            return {}
    return dict(vars(value)) if value is not None else {}


def _of_closure(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}


def _identical(former: Any, later: Any) -> bool:
    """Whether defaults are the very same objects, however they are held."""
    if isinstance(former, tuple) and isinstance(later, tuple):
        return len(former) == len(later) and all(a is b for a, b in zip(former, later, strict=True))
    if isinstance(former, dict) and isinstance(later, dict):
        return former.keys() == later.keys() and all(former[name] is later[name] for name in former)
    return former is later
