"""Lists the code that runs below a class or function at import, and may change it."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    expressions,
    statements,
)


class LaterCode(NamedTuple):
    """A statement, with those of its expressions that may change an object.

    Args:
        text: Where it stands, for the report: "line 12", or "fix() at line 12".
        statement: The statement.
        nodes: The attributes that it sets or deletes, and its calls.
        called: The plain names that it calls.
    """

    text: str
    statement: ast.stmt
    nodes: Sequence[ast.AST]
    called: Sequence[str]


def later_code(tree: ModuleTree, end: int) -> Iterator[LaterCode]:
    """List the statements that run after a line of a module, and in functions that these call.

    Statements that change no object are left out.

    Args:
        tree: The module.
        end: The line.

    Yields:
        Those of the module first.
    """
    # A module has it for all of its classes: generated ones have thousands.
    of_module = tree.remember_with_file(
        "code of module", lambda: list(code_of(tree.tree.body))
    )
    functions: Mapping[str, Def] = tree.remember_with_file(
        "functions", lambda: _functions(tree)
    )
    called: list[str] = []
    for code in of_module:
        if (code.statement.end_lineno or 0) > end:
            yield code
            called += code.called
    # The list grows while functions call further ones; each function is read once.
    read: set[str] = set()
    for name in called:
        if name in read or name not in functions:
            continue
        read.add(name)
        for code in code_of(functions[name].body, f"{name}() at "):
            yield code
            called += code.called


def _functions(tree: ModuleTree) -> dict[str, Def]:
    """Return the functions of a module, by name; the last one of each name."""
    return {
        statement.name: statement
        for statement in statements(tree.tree.body)
        if isinstance(statement, DEFS)
    }


def code_of(body: Sequence[ast.stmt], where: str = "") -> Iterator[LaterCode]:
    """Read the statements of a body that may change an object.

    Args:
        body: The statements.
        where: What stands before their lines in the report.

    Yields:
        Those that set or delete attributes, or call anything.
    """
    for statement in statements(body):
        nodes = [node for node in expressions(statement) if _may_change(node)]
        if nodes:
            calls = [node for node in nodes if isinstance(node, ast.Call)]
            called = [one.func.id for one in calls if isinstance(one.func, ast.Name)]
            yield LaterCode(f"{where}line {statement.lineno}", statement, nodes, called)


def _may_change(node: ast.AST) -> bool:
    """Whether an expression sets or deletes an attribute, or is a call, which may."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, (ast.Store, ast.Del))
    return isinstance(node, ast.Call)
