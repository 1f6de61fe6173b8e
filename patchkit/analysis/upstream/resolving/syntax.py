"""What statements and expressions say by themselves, and how a `def` is called."""

import ast
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import Parameter
from typing import Any

Def = ast.FunctionDef | ast.AsyncFunctionDef
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*DEFS, ast.ClassDef)


def dotted(node: ast.AST | None) -> str:
    """Write `a.b.c` for a chain of names; '' for any other expression."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((node.id, *reversed(attributes)))


def shortened(node: ast.expr, limit: int = 60) -> str:
    """Write an expression on one line.

    Args:
        node: The expression.
        limit: The number of characters from which on it is cut, with an ellipsis.
    """
    text = " ".join(ast.unparse(node).split())
    if len(text) > limit:
        return f"{text[: limit - 1]}…"
    return text


def argument_values(call: ast.Call) -> list[ast.expr]:
    """List the arguments of a call, positional ones first."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def truth_of(
    test: ast.expr,
    truth_of_part: Callable[[ast.expr], bool | None],
) -> bool | None:
    """Work out `and`, `or` and `not`.

    Args:
        test: The condition.
        truth_of_part: Whether an operand holds, which is none of those; None if it is not known.

    Returns:
        Whether the condition holds; None if its parts do not tell.
    """
    if isinstance(test, ast.BoolOp):
        parts = [truth_of(part, truth_of_part) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        if None in parts:
            return None
        return not decisive
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        operand = truth_of(test.operand, truth_of_part)
        if operand is None:
            return None
        return not operand
    return truth_of_part(test)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """List the statements that run with a body; definitions are, their bodies are not."""
    for statement in body:
        yield statement
        if isinstance(statement, SCOPES):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, field, ()))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from statements(part.body)


def expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """Walk the expressions of a statement itself, decorators included, not of statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            yield from ast.walk(child)


class _Default:
    """Stands for the default of a parameter, whatever it is."""

    def __repr__(self) -> str:
        return "…"


_DEFAULT = _Default()


def parameter(name: str, kind: int, has_default: object = False) -> Parameter:
    """Make a parameter.

    Args:
        name: Its name.
        kind: One of the kinds of `inspect.Parameter`.
        has_default: True if it may be left out.
    """
    default = _DEFAULT if has_default else Parameter.empty
    return Parameter(name, kind, default=default)  # type: ignore[arg-type]


class Signature(inspect.Signature):
    """The parameters of a callable in order, `self` and `cls` included."""

    def __init__(self, parameters: Iterable[Parameter] = ()) -> None:
        # A dataclass may have inherited fields in an order that Python refuses.
        super().__init__([*parameters], __validate_parameters__=False)

    def as_data(self) -> list[tuple[str, int, bool]]:
        """Return name, kind and whether there is a default of each parameter, for JSON."""
        return [
            (argument.name, argument.kind, argument.default is not argument.empty)
            for argument in self.parameters.values()
        ]

    @classmethod
    def of_data(cls, data: Iterable[Sequence[Any]]) -> "Signature":
        """Read what `as_data` returned."""
        return _signature(tuple(map(tuple, data)))

    def bound(self) -> "Signature":
        """Leave out the first positional parameter, as a bound method does."""
        parameters = [*self.parameters.values()]
        if parameters and parameters[0].kind <= Parameter.POSITIONAL_OR_KEYWORD:
            return Signature(parameters[1:])
        return self

    def mangled(self, class_name: str) -> "Signature":
        """Name private parameters as Python does in the body of a class."""
        owner = class_name.lstrip("_")
        parameters: list[Parameter] = []
        for argument in self.parameters.values():
            if owner and is_private(argument.name):
                parameters.append(argument.replace(name=f"_{owner}{argument.name}"))
            else:
                parameters.append(argument)
        return Signature(parameters)


@functools.lru_cache(maxsize=1 << 14)  # most releases have the same ones
def _signature(parameters: tuple[tuple[Any, ...], ...]) -> Signature:
    return Signature(parameter(*fields) for fields in parameters)


def is_private(name: str) -> bool:
    """Whether Python stores a name from the body of a class as `_Class__name`."""
    return name.startswith("__") and not name.endswith("__")


def signature_of(arguments: ast.arguments) -> Signature:
    """Return the parameters of a `def` or a `lambda`."""
    kinds = [
        *(Parameter.POSITIONAL_ONLY for _ in arguments.posonlyargs),
        *(Parameter.POSITIONAL_OR_KEYWORD for _ in arguments.args),
    ]
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    parameters: list[Parameter] = []
    for index, (argument, kind) in enumerate(zip(positional, kinds, strict=True)):
        parameters.append(parameter(argument.arg, kind, index >= required))
    if arguments.vararg:
        parameters.append(parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(parameter(argument.arg, Parameter.KEYWORD_ONLY, default))
    if arguments.kwarg:
        parameters.append(parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(parameters)
