"""Reads the dialects of piles: statements that set attributes by other means than an assignment.

A pile is a package that patches upstream as it is imported. Some do that by a decorator such as
`@register_patch(target="vllm.engine.Engine.step")`; such a form is a dialect. A distribution adds a
dialect in the entry-point group `patchkit.dialects`: a function that is called with a reader, a
statement and the code around it, and returns the placements of the statement.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted
from patchkit.authoring.piles.hooks import hooked
from patchkit.authoring.piles.pile_reader import Dialect, PileReader
from patchkit.authoring.piles.placements import Placement, StatementContext
from patchkit.core.engines.entry_points import entry_points_of
from patchkit.errors import ScaffoldError

GROUP = "patchkit.dialects"
_DEFAULT_PRIORITY = 50
_NAMED_PRIORITIES = {"MIN": 0, "MAX": 100}


def dialects() -> list[Dialect]:
    """Return patchkit's own dialects, and those of other distributions.

    Raises:
        ScaffoldError: A dialect cannot be loaded.
    """
    loaded: list[Dialect] = [registered, of_class, hooked]
    for entry in entry_points_of(GROUP):
        try:
            loaded.append(entry.load())
        except Exception as error:
            fault = f"{entry.value}: {error!r}, expected a function"
            raise ScaffoldError(f"{GROUP}: {fault}") from error
    return loaded


class _Registration(NamedTuple):
    """A use of `register_patch(…)`, and what it registers.

    Args:
        call: The call with the keywords, such as `register_patch(target=…)`.
        value: What is registered: the new value of the target.
        node: The code that is replaced in the body.
        text: The code that replaces it, with `{}` for the name that the body gives to the value.
    """

    call: ast.Call
    value: ast.expr
    node: ast.AST
    text: str


def registered(
    reader: PileReader, node: ast.stmt, context: StatementContext
) -> Iterator[Placement]:
    """Yield the placements of `register_patch(target=…, reason=…, …)` in a statement.

    It is the decorator of a definition, or called with a value: `register_patch(target=…)(value)`.

    Args:
        reader: The reader of the module.
        node: The statement.
        context: The code around it.
    """
    for registration in _registrations(node):
        keywords = {
            keyword.arg: keyword.value for keyword in registration.call.keywords
        }
        targets = _strings(keywords.get("target"), context)
        placement = reader.make_placement(
            node,
            targets,
            registration.value,
            registration.node,
            registration.text,
            context,
        )
        # A key, so that what is registered gets a row of its own, with its reason and condition.
        placement.key = "-".join(targets) or "registered"
        placement.why = " ".join(_strings(keywords.get("reason"), context))
        placement.condition = keywords.get("condition")
        placement.verify = keywords.get("verify")
        placement.priority = _priority(keywords.get("priority"))
        # With `build=…`, what is registered is called for the value.
        placement.builds = "build" in keywords
        if not targets:
            placement.reason = "its target is no text that can be read"
        yield placement


def _strings(node: ast.expr | None, context: StatementContext) -> list[str]:
    """Return the strings that an argument may be; none for no argument."""
    return context.scope.strings_of(node) if node else []


def _registrations(node: ast.stmt) -> Iterator[_Registration]:
    """Yield the uses of `register_patch` in a statement."""
    if isinstance(node, SCOPES):
        # The body keeps the definition; '' replaces its decorator.
        for decorator in node.decorator_list:
            if _is_registration(decorator):
                name = ast.Name(node.name, ast.Load())
                yield _Registration(decorator, name, decorator, text="")
    elif isinstance(node, (ast.Assign, ast.Expr)) and isinstance(node.value, ast.Call):
        call = node.value  # `register_patch(…)(value)`, perhaps assigned to a name
        registration = call.func
        if not call.args or not _is_registration(registration):
            return
        value = call.args[0]
        if isinstance(node, ast.Assign):
            # In the body, `f = register_patch(…)(value)` becomes `f = value`.
            yield _Registration(registration, node.targets[0], call, ast.unparse(value))
        else:
            yield _Registration(
                registration, value, node, f"{{}} = {ast.unparse(value)}"
            )


def _is_registration(node: ast.expr) -> TypeGuard[ast.Call]:
    """Return whether an expression is a call of `register_patch` with a target."""
    if not isinstance(node, ast.Call) or not dotted(node.func).endswith(
        "register_patch"
    ):
        return False
    return any(keyword.arg == "target" for keyword in node.keywords)


def _priority(node: ast.expr | None) -> int:
    """Return a priority that is given as a number, or by a name such as `MIN_PRIORITY`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    name = dotted(node).rpartition(".")[2]
    return _NAMED_PRIORITIES.get(name[:3], _DEFAULT_PRIORITY)  # by `MIN` or `MAX`


def of_class(
    reader: PileReader, node: ast.stmt, context: StatementContext
) -> Iterator[Placement]:
    """Yield the placements of a class such as `class P(ArcticPatch[Engine])`.

    Each attribute of the class is set on the target, here `Engine`.

    Args:
        reader: The reader of the module.
        node: The statement.
        context: The code around it.
    """
    if not isinstance(node, ast.ClassDef):
        return
    for base in node.bases:
        if not isinstance(base, ast.Subscript) or not dotted(base.value).endswith(
            "Patch"
        ):
            continue
        for target in context.scope.dotted_names_of(base.slice):
            for name, statement in _attributes(node):
                value = ast.Attribute(ast.Name(node.name, ast.Load()), name, ast.Load())
                dotted_names = [f"{target}.{name}"]
                # In the body, the class derives from `object` instead.
                placement = reader.make_placement(
                    statement, dotted_names, value, base, "object", context
                )
                placement.is_by_class = True
                yield placement


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the names that a class defines, each with the statement that defines it."""
    for statement in node.body:
        if isinstance(statement, SCOPES):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement
