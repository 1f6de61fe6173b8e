"""Dialects of piles: other ways than an assignment to say what is to be put where.

A distribution adds one in the entry-point group `patchkit.dialects`: a function that is given a
reader, a statement and what is around it, and returns the placements that the statement says.
"""

import ast
from collections.abc import Iterator
from importlib.metadata import entry_points

from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted
from patchkit.authoring.adopt.placements import Around, PileReader, Placement, Read
from patchkit.errors import ScaffoldError

GROUP = "patchkit.dialects"


def dialects() -> list[Read]:
    """Load those that are shipped, and what distributions add; ScaffoldError where one fails."""
    found: list[Read] = [registered, of_class]
    for one in entry_points(group=GROUP):
        try:
            found.append(one.load())
        except Exception as error:
            raise ScaffoldError(f"{GROUP}: {one.value}: {error!r}, expected a function") from error
    return found


def registered(reader: PileReader, node: ast.stmt, around: Around) -> Iterator[Placement]:
    """Read `register_patch(target=…, reason=…, …)`, as a decorator or called with a value."""
    for said, value, code, text in _registrations(node):
        given = {one.arg: one.value for one in said.keywords}
        places, reasons = (
            around.scope.strings(given[name]) if name in given else []
            for name in ("target", "reason")
        )
        found = reader.placed(node, places, value, code, text, around)
        found.key, found.why = "-".join(places) or "registered", " ".join(reasons)
        found.condition, found.verify = given.get("condition"), given.get("verify")
        found.priority = _number(given.get("priority"))
        found.builds = "build" in given
        if not places:
            found.reason = "its target is no text that can be read"
        yield found


def _registrations(node: ast.stmt) -> Iterator[tuple[ast.Call, ast.expr, ast.AST, str]]:
    """Find the call that registers, the value, and the code that goes, with what comes for it."""
    if isinstance(node, SCOPES):
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and _is_registration(mark):
                yield mark, ast.Name(node.name, ast.Load()), mark, ""
    elif isinstance(node, (ast.Assign, ast.Expr)) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Call) and _is_registration(call.func) and call.args:
            value = ast.unparse(call.args[0])
            if isinstance(node, ast.Assign):
                yield call.func, node.targets[0], call, value
            else:
                yield call.func, call.args[0], node, f"{{}} = {value}"


def _is_registration(call: ast.Call) -> bool:
    return dotted(call.func).endswith("register_patch") and any(
        one.arg == "target" for one in call.keywords
    )


def _number(node: ast.expr | None) -> int:
    """Read a priority, 50 by default; a name tells by its first word whether it is an end."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return {"MIN": 0, "MAX": 100}.get(dotted(node).rpartition(".")[2][:3], 50)


def of_class(reader: PileReader, node: ast.stmt, around: Around) -> Iterator[Placement]:
    """Read `class Any(ArcticPatch[Target])`, whose attributes become the target's."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    for base in bases:
        if isinstance(base, ast.Subscript) and dotted(base.value).endswith("Patch"):
            assert isinstance(node, ast.ClassDef)
            for place in around.scope.dotted(base.slice):
                for name, one in _attributes(node):
                    value = ast.Attribute(ast.Name(node.name, ast.Load()), name, ast.Load())
                    yield reader.placed(one, [f"{place}.{name}"], value, base, "object", around)


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    for one in node.body:
        if isinstance(one, SCOPES):
            yield one.name, one
        elif isinstance(one, ast.Assign):
            yield from ((target.id, one) for target in one.targets if isinstance(target, ast.Name))
