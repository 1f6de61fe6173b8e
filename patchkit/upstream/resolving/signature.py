"""How something can be called, read from its source; annotations do not count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

POSITIONAL_ONLY = "positional-only"
POSITIONAL = "positional"
VAR_POSITIONAL = "*args"
KEYWORD_ONLY = "keyword-only"
VAR_KEYWORD = "**kwargs"


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter.

    Args:
        name: as written.
        kind: how it is passed, one of this module's constants.
        default: whether it may be left out.

    """

    name: str
    kind: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """
    The parameters of a callable, `self` and `cls` included.

    Args:
        parameters: in order.

    """

    parameters: tuple[Parameter, ...] = ()

    def bound(self) -> Signature:
        """Leave out the first positional parameter, as a bound method does."""
        if self.parameters and self.parameters[0].kind in (POSITIONAL_ONLY, POSITIONAL):
            return Signature(self.parameters[1:])
        return self

    def mangled(self, name: str) -> Signature:
        """Name private parameters as Python does in the body of a class."""
        owner = name.lstrip("_")
        return Signature(
            tuple(
                replace(parameter, name=f"_{owner}{parameter.name}")
                if parameter.name.startswith("__") and not parameter.name.endswith("__") and owner
                else parameter
                for parameter in self.parameters
            )
        )

    def __str__(self) -> str:
        parts: list[str] = []
        for at, parameter in enumerate(self.parameters):
            before = self.parameters[at - 1].kind if at else ""
            if before == POSITIONAL_ONLY != parameter.kind:
                parts.append("/")
            if parameter.kind == KEYWORD_ONLY and before not in (KEYWORD_ONLY, VAR_POSITIONAL):
                parts.append("*")
            parts.append(_text(parameter))
        if self.parameters and self.parameters[-1].kind == POSITIONAL_ONLY:
            parts.append("/")
        return f"({', '.join(parts)})"


def of_arguments(arguments: ast.arguments) -> Signature:
    """Read the parameters of a `def` or a `lambda`."""
    places = [
        *((argument.arg, POSITIONAL_ONLY) for argument in arguments.posonlyargs),
        *((argument.arg, POSITIONAL) for argument in arguments.args),
    ]
    required = len(places) - len(arguments.defaults)
    parameters = [Parameter(name, kind, at >= required) for at, (name, kind) in enumerate(places)]
    if arguments.vararg:
        parameters.append(Parameter(arguments.vararg.arg, VAR_POSITIONAL))
    parameters += [
        Parameter(argument.arg, KEYWORD_ONLY, default is not None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(Parameter(arguments.kwarg.arg, VAR_KEYWORD))
    return Signature(tuple(parameters))


def _text(parameter: Parameter) -> str:
    if parameter.kind == VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind == VAR_KEYWORD:
        return f"**{parameter.name}"
    return f"{parameter.name}=…" if parameter.default else parameter.name
