"""Finds a Replace whose object ends in itself, where it means to reach the original."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import REWRITE, Fault
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.code_kinds import (
    PLAIN_RESULT,
    mentions,
    method_of,
    returned_by,
)
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.uses.files import uses_of
from patchkit.core.rows.declaration import Replace
from patchkit.core.rows.target import Target

_PLAIN = (ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Expr)
"""Statements after which the next one always follows, unless an error is raised."""
_ENDS = (ast.Assert, ast.Break, ast.Continue, ast.Raise, ast.Return)
"""Statements that may keep the next one from being reached."""
_LATER = (
    ast.DictComp,
    ast.GeneratorExp,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
)
"""Expressions with parts that are not evaluated, or not at once."""


def of_subclass(change: Replace, facts: Facts, node: ast.AST | None) -> Iterator[Fault]:
    """Check a subclass in the place of its base, whose methods say `super(Name, self)`.

    `Name` is the subclass then, so `super(Name, self).f()` in the base's `f` finds that very
    method again: endless recursion, unless the subclass has an `f` that does not call it.

    Args:
        change: The Replace of the base.
        facts: What the release says of the base.
        node: The definition of the subclass in the body, if there is one.

    Yields:
        A fault for the first such method.
    """
    name = change.place.qualname
    home = (facts.module, facts.qualname)
    # Methods find `Name` in the module that defines their class. If the target is an imported
    # copy of the class, the Replace does not change what they find.
    if node is None or home != (change.place.module, name):
        return
    for method in facts.naming_itself:
        override = method_of(node, method)
        if override is None or mentions(override, method):
            message = (
                f"found super({name}, …) in {name}.{method}, where {name} would be "
                f"{change.by}: the method calls itself"
            )
            fix = f"Wrap or Edit methods of {name}; unrelated=True if this one is never called"
            yield Fault(codes.KIND_CHANGED, message, fix, change.by)
            return


def of_function(
    change: Replace, node: ast.AST | None, tree: ModuleTree | None
) -> Iterator[Fault]:
    """Check that a function does not always call its target by the target's name, as `module.f()`.

    That is the function itself, once it stands there. A call that depends on anything may be meant,
    as of a function that walks a tree.

    Args:
        change: The Replace by the function.
        node: The definition of the function, if there is one.
        tree: The module that defines it.

    Yields:
        A fault, if each call of the function ends in another one.
    """
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or tree is None:
        return
    calls = _calls_of(node, change.place.qualname.rpartition(".")[2])
    if not calls:  # nearly always; the uses take longer to read
        return
    package = change.place.module.partition(".")[0]
    target = _dotted_name(change.place)
    # The use of `up.mod:f` is `up:mod.f` where the file imports `mod` from `up`.
    lines = {
        use.line
        for use in uses_of([tree], {package})
        if use.how == "call" and _dotted_name(use.target) == target
    }
    for call in calls:
        if call.lineno in lines:
            name = dotted(call.func)
            message = (
                f"found {name}(…) in {change.by}, where {name} would be {change.by}: the function "
                "calls itself"
            )
            fix = f"Wrap it, and call wrapped(…); or {REWRITE}"
            yield Fault(codes.KIND_CHANGED, message, fix, change.by)
            return


@lru_cache(maxsize=1024)  # a row is judged in each release, and its body is the same
def _calls_of(node: ast.FunctionDef, name: str) -> tuple[ast.Call, ...]:
    """Return the calls of attributes of a name that a function makes whenever it is called."""
    if returned_by(node) != PLAIN_RESULT or _may_put(node, name):
        return ()
    return tuple(
        call
        for call in _certain_calls(node)
        if isinstance(call.func, ast.Attribute) and call.func.attr == name
    )


def _dotted_name(target: Target) -> str:
    return str(target).replace(":", ".")


def _may_put(node: ast.FunctionDef, name: str) -> bool:
    """Whether a function may put something at an attribute before it calls that."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == name:
            if not isinstance(part.ctx, ast.Load):
                return True
        elif isinstance(part, ast.Constant) and part.value == name:
            return True  # as in `setattr(module, "f", original)`
    return False


def _certain_calls(node: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yield the calls that a function makes whenever it is called, as far as that is plain."""
    for statement in node.body:
        if isinstance(statement, (*_PLAIN, ast.Return)):
            yield from _calls_in(statement)
        if any(isinstance(part, _ENDS) for part in ast.walk(statement)):
            return


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a statement or an expression that are made whatever its values are."""
    if isinstance(node, ast.Call):
        yield node
    parts: list[ast.AST] = []
    if isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.BoolOp):
        parts = [node.values[0]]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    elif not isinstance(node, _LATER):
        parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield from _calls_in(part)
