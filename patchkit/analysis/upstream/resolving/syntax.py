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
    """Write `a.b.c` for a chain of names; '' for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def shortened(node: ast.expr, limit: int = 60) -> str:
    """Write an expression on one line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def argument_values(call: ast.Call) -> list[ast.expr]:
    """List what a call is given, by place or by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def truth_of(test: ast.expr, of_part: Callable[[ast.expr], bool | None]) -> bool | None:
    """Work `and`, `or` and `not` out; None where the parts do not tell."""
    if isinstance(test, ast.BoolOp):
        parts = [truth_of(part, of_part) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth_of(test.operand, of_part)
        return None if inner is None else not inner
    return of_part(test)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """List the statements that run with a body, definitions included, but what is in those."""
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
    """Make a parameter of which is known whether it may be left out."""
    default = _DEFAULT if has_default else Parameter.empty
    return Parameter(name, kind, default=default)  # type: ignore[arg-type]


class Signature(inspect.Signature):
    """The parameters of a callable in order, `self` and `cls` included."""

    def __init__(self, parameters: Iterable[Parameter] = ()) -> None:
        # A dataclass may have inherited fields in an order that Python refuses.
        super().__init__([*parameters], __validate_parameters__=False)

    def as_data(self) -> list[tuple[str, int, bool]]:
        """Write it as JSON has it."""
        several = self.parameters.values()
        return [(one.name, one.kind, one.default is not one.empty) for one in several]

    @classmethod
    def of_data(cls, data: Iterable[Sequence[Any]]) -> "Signature":
        """Read what `as_data` has written."""
        return _signature(tuple(map(tuple, data)))

    def bound(self) -> "Signature":
        """Leave out the first positional parameter, as a bound method does."""
        several = [*self.parameters.values()]
        is_bound = several and several[0].kind <= Parameter.POSITIONAL_OR_KEYWORD
        return Signature(several[1:]) if is_bound else self

    def mangled(self, name: str) -> "Signature":
        """Name private parameters as Python does in the body of a class."""
        owner = name.lstrip("_")
        return Signature(
            one.replace(name=f"_{owner}{one.name}") if owner and is_private(one.name) else one
            for one in self.parameters.values()
        )


@functools.lru_cache(maxsize=1 << 14)  # most releases have the same ones
def _signature(parameters: tuple[tuple[Any, ...], ...]) -> Signature:
    return Signature(parameter(*one) for one in parameters)


def is_private(name: str) -> bool:
    """Whether Python stores a name from the body of a class as `_Class__name`."""
    return name.startswith("__") and not name.endswith("__")


def signature_of(arguments: ast.arguments) -> Signature:
    """Read the parameters of a `def` or a `lambda`."""
    places = [
        *((one.arg, Parameter.POSITIONAL_ONLY) for one in arguments.posonlyargs),
        *((one.arg, Parameter.POSITIONAL_OR_KEYWORD) for one in arguments.args),
    ]
    required = len(places) - len(arguments.defaults)
    parameters = [parameter(*place, at >= required) for at, place in enumerate(places)]
    if arguments.vararg:
        parameters.append(parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    parameters += [
        parameter(one.arg, Parameter.KEYWORD_ONLY, default)
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(parameters)
