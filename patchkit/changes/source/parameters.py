"""
Defaults and annotations of a function whose `def` line was edited.

What was not edited keeps its very objects; only new text is evaluated.
"""

from __future__ import annotations
import __future__

import ast
import enum
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType, FunctionType


class _Kind(enum.Enum):
    POSITIONAL = enum.auto()
    KEYWORD = enum.auto()
    OTHER = enum.auto()


class _Parameter(NamedTuple):
    """One parameter, or what is returned; its default and annotation as written, or None."""

    name: str
    kind: _Kind
    default: ast.expr | None
    annotation: ast.expr | None


def edited_values(
    function: FunctionType, old: tuple[CodeType, str], new: tuple[CodeType, str]
) -> dict[str, Any]:
    """
    Return the function's attributes that become others, by their names.

    Args:
        function: not edited yet.
        old: its code, and its `def` line.
        new: the edited ones.

    Raises:
        TargetError: new text cannot be evaluated where the function is, or a parameter without a
            default follows one with.

    """
    former, later = list(_parameters(*old)), list(_parameters(*new))
    names = _Names(function)
    return {
        **_defaults(function, old[0], former, later, names),
        **_annotations(function, former, later, names),
    }


class _Names:
    """The names that an expression of the `def` line may use."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    def value(self, expression: ast.expr) -> Any:
        """
        Evaluate an expression.

        Raises:
            TargetError: it raises.

        """
        code = compile(ast.Expression(expression), "<def line>", "eval", dont_inherit=True)
        names = {**self._of_class(), **dict(self._cells())}
        try:
            return eval(code, self._function.__globals__, names)  # noqa: S307 - text of the row
        except Exception as error:
            text = ast.unparse(expression)
            raise TargetError(f"{text} of the edited `def` line raises {error!r}") from error

    def annotation(self, expression: ast.expr) -> Any:
        """Return an annotation as the module would have it: a text, if it postpones them."""
        if self._function.__code__.co_flags & __future__.annotations.compiler_flag:
            return ast.unparse(expression)
        return self.value(expression)

    def _of_class(self) -> Mapping[str, Any]:
        value: Any = None
        for number, part in enumerate(self._function.__qualname__.split(".")[:-1]):
            names = vars(value) if number else self._function.__globals__
            value = names.get(part)
            if not isinstance(value, type):
                return {}
        return vars(value) if value is not None else {}

    def _cells(self) -> Iterator[tuple[str, Any]]:
        code = self._function.__code__
        for name, cell in zip(code.co_freevars, self._function.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:  # empty still
                continue


def _parameters(code: CodeType, line: str) -> Iterator[_Parameter]:
    """Take a `def` line apart; names as the code has them, private ones with their class."""
    definition = ast.parse(f"{line} pass").body[0]
    assert isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef))
    given = definition.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    names = iter(code.co_varnames)
    for arg, default in zip(plain, defaults, strict=True):
        yield _Parameter(next(names), _Kind.POSITIONAL, default, arg.annotation)
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _Parameter(next(names), _Kind.KEYWORD, default, arg.annotation)
    for more in (given.vararg, given.kwarg):
        if more is not None:
            yield _Parameter(next(names), _Kind.OTHER, None, more.annotation)
    yield _Parameter("return", _Kind.OTHER, None, definition.returns)


def _defaults(
    function: FunctionType,
    code: CodeType,
    former: list[_Parameter],
    later: list[_Parameter],
    names: _Names,
) -> dict[str, Any]:
    written = {one.name: one.default for one in former}
    live = _live_defaults(function, code)
    found: dict[str, Any] = {}
    for one in later:
        if one.name in written and _same(written[one.name], one.default):
            found.update({one.name: live[one.name]} if one.name in live else {})
        elif one.default is not None:
            found[one.name] = names.value(one.default)
    keywords = {one.name for one in later if one.kind is _Kind.KEYWORD} & found.keys()
    by_position = _in_row([one.name for one in later if one.kind is _Kind.POSITIONAL], found)
    values: dict[str, Any] = {}
    if not _identical(by_position, function.__defaults__ or ()):
        values["__defaults__"] = by_position or None
    by_keyword = {name: found[name] for name in found if name in keywords}
    now = function.__kwdefaults__ or {}
    if by_keyword.keys() != now.keys() or any(now[name] is not by_keyword[name] for name in now):
        values["__kwdefaults__"] = by_keyword or None
    return values


def _live_defaults(function: FunctionType, code: CodeType) -> dict[str, Any]:
    """Return the defaults that the function has by now, whoever set them."""
    positional = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    last = positional[max(0, len(positional) - len(values)) :]
    return {**dict(zip(last, values, strict=False)), **(function.__kwdefaults__ or {})}


def _in_row(positional: list[str], found: Mapping[str, Any]) -> tuple[Any, ...]:
    """
    Return the values of those that have one, which must be the last.

    Raises:
        TargetError: one in between has none.

    """
    having = [name for name in positional if name in found]
    if having != positional[len(positional) - len(having) :]:
        raise TargetError(f"a parameter without a default follows {having[0]!r}, which has one")
    return tuple(found[name] for name in having)


def _identical(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _annotations(
    function: FunctionType, former: list[_Parameter], later: list[_Parameter], names: _Names
) -> dict[str, Any]:
    written = {one.name: one.annotation for one in former}
    if list(written) == [one.name for one in later] and all(
        _same(written[one.name], one.annotation) for one in later
    ):
        return {}
    live = function.__annotations__
    found = {name: live[name] for name in live if name not in written}
    for one in later:
        if one.name in written and _same(written[one.name], one.annotation):
            found.update({one.name: live[one.name]} if one.name in live else {})
        elif one.annotation is not None:
            found[one.name] = names.annotation(one.annotation)
    return {"__annotations__": found}


def _same(one: ast.expr | None, other: ast.expr | None) -> bool:
    if one is None or other is None:
        return one is other
    return ast.dump(one) == ast.dump(other)
