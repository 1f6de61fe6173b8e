"""A short hash of what a target's source does, the same on every Python that runs patchkit.

What does not count: comments, docstrings, layout, the style of quotes and numbers, statements
without effect, the order of undecorated methods in a class, annotations of parameters, results
and variables. What counts: names, constants, operators, decorators, defaults, bases, the functions
that a call wraps, and annotations that are read at run time: in the body of a class, since
dataclasses and their kin read them, and of operators, kernels and routes.
"""

import ast
import copy
import hashlib
from collections.abc import Iterable, Iterator, Sequence

from patchkit.analysis.upstream.resolving.resolve import Resolution
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, dotted
from patchkit.analysis.upstream.resolving.values import Kind, Value
from patchkit.analysis.upstream.resolving.wrapped import WrappedCode, operator_call

_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "simple"})
_ANNOTATED = frozenset({"annotation", "returns"})
_READERS = frozenset(
    [
        *("custom_op", "triton_op", "jit", "register", "validate_call"),
        *("get", "post", "put", "patch", "delete", "websocket", "api_route"),
    ]
)
"""Decorators to which the annotations of a function say what to do: schemas, types, routes."""
_SCOPES = (*SCOPES, ast.Lambda)


def of_resolution(resolution: Resolution) -> str | None:
    """Hash each way in which a target may be bound; None where it is not there or has no source."""
    if resolution.state != "present":
        return None
    variants = zip(resolution.variants, resolution.wrapped, strict=True)
    present = [(one, wrapped) for one, wrapped in variants if one.state == "present"]
    parts = [part for one, wrapped in present for part in _of_value(one, wrapped)]
    return _digest(parts) if parts else None


def of_nodes(nodes: Iterable[ast.AST], *, named: bool = True) -> str:
    """Hash statements, in order, with their own names or without."""
    return _digest([part for node in nodes for part in canonical(node, named=named)])


def canonical(
    node: ast.AST, *, named: bool = True, in_class: bool = False, annotated: bool = False
) -> Iterator[str]:
    """Write a tree as words that do not depend on the version of Python, root first.

    The root's own name counts if it is `named`, a function's annotations if it is `annotated`.
    Without recursion, since upstream's trees may be deeper than Python's stack.
    """
    counted = _annotations(node) if annotated else set()
    stack: list[tuple[object, bool]] = [(node, in_class)]
    while stack:
        item, inside = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, ast.Constant):
            yield _constant(item.value)
        elif isinstance(item, ast.AST):
            if _reads_annotations(item):
                counted |= _annotations(item)
            # An annotated assignment to a variable is one; see the annotations that count.
            yield f"<{'Assign' if isinstance(item, ast.AnnAssign) else type(item).__name__}"
            stack.append((">", False))
            is_named = named or item is not node
            stack += reversed([*_children(item, counted, in_class=inside, named=is_named)])


def _of_value(value: Value, wrapped: Sequence[WrappedCode]) -> list[str]:
    parts = [word for one in value.conditions for word in _of_condition(one.text, one.test)]
    if value.kind in (Kind.OUTSIDE, Kind.GENERATED):
        parts.append(f"{value.kind} {value.dotted or value.qualname} {value.signature}")
    in_class = value.kind is Kind.FIELD
    annotated = any(operator_call(one.node) for one in wrapped)
    for node in value.nodes if value.kind is not Kind.OUTSIDE else ():
        defined = _without_methods(node) if value.kind is Kind.GENERATED else node
        parts += canonical(defined, in_class=in_class, annotated=annotated)
    for one in wrapped:
        parts += canonical(one.node)
    return parts


def _without_methods(node: ast.AST) -> ast.AST:
    if not isinstance(node, ast.ClassDef):
        return node
    rest = copy.copy(node)
    rest.body = [one for one in node.body if not isinstance(one, SCOPES)]
    return rest


def _of_condition(words: str, test: ast.expr | None) -> list[str]:
    negated = "not" if words.startswith("not (") else ""
    return [f"if {words}"] if test is None else [f"if {negated}", *canonical(test)]


def _digest(parts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode("utf-8", "surrogatepass"))
        whole.update(b"\0")
    return whole.hexdigest()[:16]


def _children(
    node: ast.AST, annotated: set[int], *, in_class: bool, named: bool
) -> Iterator[tuple[object, bool]]:
    inside = isinstance(node, ast.ClassDef) or (in_class and not isinstance(node, _SCOPES))
    for field in node._fields:
        value = getattr(node, field, None)
        if field in _SKIPPED or value is None or value == [] or (field == "name" and not named):
            continue
        of_field = in_class and isinstance(node, ast.AnnAssign)
        if field in _ANNOTATED and not of_field and id(node) not in annotated:
            continue
        if field == "values" and isinstance(node, ast.JoinedStr):
            value = _joined(node)
        yield f".{'targets' if field == 'target' else field}", False
        if not isinstance(value, list):
            yield _item(value), inside
            continue
        if field in ("body", "orelse", "finalbody"):
            kept = [one for one in value if not _is_idle(one, in_class=inside)]
            value = _in_order(kept) if isinstance(node, ast.ClassDef) else kept
        for one in value:
            # None is a keyword-only parameter without a default, or a `**` in a dict.
            yield ("-" if one is None else _item(one)), inside


def _item(value: object) -> ast.AST | str:
    return value if isinstance(value, ast.AST) else _constant(value)


def _annotations(node: ast.AST) -> set[int]:
    if not isinstance(node, DEFS):
        return set()
    return {id(node), *(id(one) for one in ast.walk(node.args) if isinstance(one, ast.arg))}


def _reads_annotations(node: ast.AST) -> bool:
    decorators = node.decorator_list if isinstance(node, DEFS) else []
    called = (one.func if isinstance(one, ast.Call) else one for one in decorators)
    return any(dotted(one).rpartition(".")[2] in _READERS for one in called)


def _constant(value: object) -> str:
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return repr(value)
    if isinstance(value, int):
        return f"int {value:x}"  # repr refuses numbers of more than 4,300 digits
    return f"{type(value).__name__} {value!r}" if not isinstance(value, str) else f"str {value}"


def _joined(node: ast.JoinedStr) -> list[ast.expr]:
    """Join the neighbouring texts of an f-string, which Python versions split in their own ways."""
    joined: list[ast.expr] = []
    for one in node.values:
        last = joined[-1] if joined else None
        if isinstance(one, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(one.value))
        elif not (isinstance(one, ast.Constant) and one.value == ""):
            joined.append(one)
    return joined


def _is_idle(statement: ast.AST, *, in_class: bool) -> bool:
    """Whether a statement does nothing: `pass`, a docstring, `...`, a bare annotation."""
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.AnnAssign) and statement.value is None and not in_class


def _in_order(body: list[ast.AST]) -> list[ast.AST]:
    """Put what may stand in any order in one: undecorated methods that are defined once."""
    names = [one.name for one in body if isinstance(one, SCOPES)]
    free = [
        one
        for one in body
        if isinstance(one, DEFS) and not one.decorator_list and names.count(one.name) == 1
    ]
    loose = set(map(id, free))
    fixed = [one for one in body if id(one) not in loose]
    return [*fixed, *sorted(free, key=lambda one: one.name)]
