"""What a name may be bound to, and on which conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from patchkit.upstream.resolving.conditions import Condition


class Form(str, Enum):
    """How a name is bound."""

    FUNCTION = "def"
    CLASS = "class"
    ASSIGN = "assignment"
    IMPORT = "import"
    FROM = "from import"
    OTHER = "other"
    OPEN = "unknown"


@dataclass(frozen=True, eq=False)
class Binding:
    """
    One way in which a name is bound.

    Args:
        name: what is bound.
        form: how.
        node: the statement.
        value: the expression, for an assignment that has one for this name.
        module: absolute name of what is imported, or imported from.
        imported: the name there.
        parts: further statements that shape the value: setters, `+=`, `TABLE['k'] = …`.

    """

    name: str
    form: Form
    node: ast.stmt
    value: ast.expr | None = None
    module: str = ""
    imported: str = ""
    parts: tuple[ast.stmt, ...] = ()


@dataclass(frozen=True)
class Case:
    """A binding, None where the name is not bound, and the conditions of getting there."""

    binding: Binding | None
    conditions: tuple[Condition, ...] = ()


Cases = tuple[Case, ...]
UNBOUND: Cases = (Case(None),)


def merged(first: Cases, second: Cases) -> Cases:
    """Put what two ways have bound together."""
    known = {id(case.binding) for case in first}
    return (*first, *(case for case in second if id(case.binding) not in known))


def joined(*ways: tuple[Condition, Cases | None]) -> Cases | None:
    """Join what the ways that complete have bound; a condition stands where they differ."""
    complete = [(condition, cases) for condition, cases in ways if cases is not None]
    if not complete:
        return None
    everywhere = set.intersection(*({id(one.binding) for one in cases} for _, cases in complete))
    joined: dict[int, Case] = {}
    for condition, cases in complete:
        for case in cases:
            key = id(case.binding)
            if key not in joined:
                mark = () if key in everywhere else (condition,)
                joined[key] = replace(case, conditions=(*mark, *case.conditions))
    return tuple(joined.values())


def shaped(cases: Cases, part: ast.stmt) -> Cases:
    """Note a statement that shapes what is bound."""
    return tuple(
        case
        if case.binding is None
        else replace(case, binding=replace(case.binding, parts=(*case.binding.parts, part)))
        for case in cases
    )
