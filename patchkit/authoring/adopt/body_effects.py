"""Finds what a body does as it is imported, beside binding names."""

import ast
import builtins
from collections.abc import Iterable, Iterator

from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    dotted,
    expressions,
)
from patchkit.authoring.adopt.definitions import (
    IMPORTS,
    PARTS_OF_PROPERTY,
    Definitions,
    is_for_types,
    is_main_program,
    name_of,
    names_in,
    origin_of,
)
from patchkit.authoring.adopt.global_names import inner_statements, reached
from patchkit.authoring.adopt.members import ASSIGNMENTS

_IDLE = (*IMPORTS, ast.Assert, ast.Pass)
"""The statements that leave the objects of a body as they are."""
_BLOCKS = (ast.If, ast.Try, ast.With)
"""The statements of which those inside count, and not they themselves."""
_REGISTERS_NOTHING = frozenset(
    {"abc", "contextlib", "dataclasses", "enum", "functools", "typing"}
)
"""Modules whose decorators change what they decorate alone."""


def effects(definitions: Definitions, moved: Iterable[str]) -> Iterator[str]:
    """Yield the statements of a body that do more than bind names, each as its first line.

    Args:
        definitions: the body.
        moved: the names of what stands in upstream's module, with all that it uses.
    """
    moved_names = set(moved)
    for node in _statements(definitions.tree.tree.body, moved_names):
        if _acts(node, definitions) or _touches(node, definitions, moved_names):
            yield ast.unparse(node).partition("\n")[0]


def _statements(body: Iterable[ast.stmt], moved: set[str]) -> Iterator[ast.stmt]:
    """List statements and those in their blocks and classes, but not those that move."""
    for node in body:
        if name_of(node) in moved:
            continue
        if isinstance(node, ast.If) and (is_for_types(node) or is_main_program(node)):
            continue
        yield node
        if isinstance(node, (*_BLOCKS, ast.ClassDef)):
            yield from _statements(inner_statements(node), moved)


def _acts(node: ast.stmt, definitions: Definitions) -> bool:
    """Whether a statement is there for what it does, not for the name that it binds."""
    if isinstance(node, (*_IDLE, *_BLOCKS)):
        return False
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, SCOPES):
        return not all(
            _registers_nothing(decorator, definitions)
            for decorator in node.decorator_list
        )
    return not isinstance(node, ASSIGNMENTS) or _sets_part(node)


def _sets_part(node: ast.stmt) -> bool:
    """Whether an assignment sets an attribute or an item of something."""
    for part in ast.walk(node):
        is_set = isinstance(getattr(part, "ctx", None), ast.Store)
        if is_set and isinstance(part, (ast.Attribute, ast.Subscript)):
            return True
    return False


def _registers_nothing(decorator: ast.expr, definitions: Definitions) -> bool:
    """Whether a decorator is a builtin, of the standard library, or a part of a property."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = dotted(function)
    if name.rpartition(".")[2] in PARTS_OF_PROPERTY:
        return True
    top = name.partition(".")[0]
    if top in definitions.imports:
        return origin_of(definitions.imports[top]) in _REGISTERS_NOTHING
    return top not in definitions.binders and hasattr(builtins, top)


def _touches(node: ast.stmt, definitions: Definitions, moved: set[str]) -> bool:
    """Whether a statement calls something with what moves, or derives from it."""
    for part in _running_parts(node):
        if not moved.isdisjoint(reached(definitions.named, names_in(part))):
            return True
    return False


def _running_parts(node: ast.stmt) -> Iterator[ast.AST]:
    """List what runs code of functions and classes as a statement runs."""
    for field in ("decorator_list", "bases", "keywords"):
        yield from getattr(node, field, ())
    parts = list(expressions(node))
    if isinstance(node, DEFS):
        parts += ast.walk(node.args)
    yield from (part for part in parts if isinstance(part, ast.Call))
