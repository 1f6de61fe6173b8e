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

    def __str__(self) -> str:
        stars = {VAR_POSITIONAL: "*", VAR_KEYWORD: "**"}.get(self.kind, "")
        return f"{stars}{self.name}{'=…' if self.default else ''}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a callable in order, `self` and `cls` included."""

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
                replace(one, name=f"_{owner}{one.name}") if owner and is_private(one.name) else one
                for one in self.parameters
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
            parts.append(str(parameter))
        if self.parameters and self.parameters[-1].kind == POSITIONAL_ONLY:
            parts.append("/")
        return f"({', '.join(parts)})"


def is_private(name: str) -> bool:
    """Whether Python stores a name from the body of a class as `_Class__name`."""
    return name.startswith("__") and not name.endswith("__")


def of_arguments(arguments: ast.arguments) -> Signature:
    """Read the parameters of a `def` or a `lambda`."""
    places = [
        *((one.arg, POSITIONAL_ONLY) for one in arguments.posonlyargs),
        *((one.arg, POSITIONAL) for one in arguments.args),
    ]
    required = len(places) - len(arguments.defaults)
    parameters = [Parameter(name, kind, at >= required) for at, (name, kind) in enumerate(places)]
    if arguments.vararg:
        parameters.append(Parameter(arguments.vararg.arg, VAR_POSITIONAL))
    parameters += [
        Parameter(one.arg, KEYWORD_ONLY, default is not None)
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(Parameter(arguments.kwarg.arg, VAR_KEYWORD))
    return Signature(tuple(parameters))
