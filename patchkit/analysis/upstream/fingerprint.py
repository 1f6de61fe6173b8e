"""Hashes what a target's source does, the same on every Python that runs patchkit.

What does not count: comments, docstrings, layout, the style of quotes and numbers, statements
without effect, the order of undecorated methods in a class, annotations of parameters, results
and variables. What counts: names, constants, operators, decorators, defaults, bases, the functions
that a call wraps, and annotations that are read at run time: in the body of a class, since
dataclasses and the like read them, and those of operators, kernels and routes.

The source is written as tokens, in the order of its syntax tree, and these are hashed: `return x`
is `<Return`, `.value`, `<Name`, `.id`, `str x`, `>`, `>`.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from patchkit.analysis.upstream.resolving.resolve import Resolution
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    NODE_KINDS,
    SCOPES,
    dotted,
    walk,
)
from patchkit.analysis.upstream.resolving.values import Kind, Value
from patchkit.analysis.upstream.resolving.wrapped import WrappedCode, operator_call

_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "simple"})
"""Fields of nodes that never count, as they do not change what the code does."""
_ANNOTATIONS = frozenset({"annotation", "returns"})
"""Fields of nodes that hold an annotation."""
_BLOCKS = frozenset({"body", "orelse", "finalbody"})
"""Fields of nodes that hold statements."""
_READERS = frozenset(
    {
        "custom_op",
        "triton_op",
        "jit",
        "register",
        "validate_call",
        "get",
        "post",
        "put",
        "patch",
        "delete",
        "websocket",
        "api_route",
    }
)
"""Decorators that read the annotations of a function: for schemas, types of kernels, routes."""
_SCOPES = (*SCOPES, ast.Lambda)


def of_resolution(resolution: Resolution) -> str | None:
    """Hash each way in which a target may be bound.

    Args:
        resolution: The target in a release.

    Returns:
        The hash; None where the target is not there, or has no source.
    """
    if resolution.state != "present":
        return None
    parts: list[str] = []
    # A variant is one way to bind the target; `wrapped` has the code that each of them wraps.
    for variant, wrapped in zip(resolution.variants, resolution.wrapped, strict=True):
        if variant.state == "present":
            parts += _parts_of_value(variant, wrapped)
    if not parts:
        return None
    return _digest(parts)


def of_nodes(nodes: Iterable[ast.AST], *, named: bool = True) -> str:
    """Hash statements.

    Args:
        nodes: The statements, whose order counts.
        named: Whether their own names count.

    Returns:
        The hash.
    """
    parts: list[str] = []
    for node in nodes:
        parts += canonical(node, named=named)
    return _digest(parts)


def canonical(
    node: ast.AST,
    *,
    named: bool = True,
    in_class: bool = False,
    annotated: bool = False,
) -> list[str]:
    """Write a syntax tree as tokens that do not depend on the version of Python, root first.

    Without recursion, since upstream's trees may be deeper than Python's stack.

    Args:
        node: The root of the tree.
        named: Whether the root's own name counts.
        in_class: Whether the root stands in the body of a class.
        annotated: Whether the annotations of the root, a function, count.

    Returns:
        The tokens.
    """
    tokens: list[str] = []
    tree = _Tree(
        {id(node)} if in_class else set(), _annotated(node) if annotated else set()
    )
    unnamed = None if named else node
    pending: list[ast.AST | str] = [node]  # a stack, the next one last
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            tokens.append(part)
        elif isinstance(part, ast.Name):
            # As below, but faster: most nodes are names.
            tokens += ("<Name", ".id", f"str {part.id}", ">")
        elif isinstance(part, ast.Constant):
            tokens.append(_constant(part.value))
        else:
            tokens.append(f"<{_kind(part)}")
            inside = tree.inside(part, named=part is not unnamed)
            pending.append(">")
            inside.reverse()
            pending += inside
    return tokens


def _kind(node: ast.AST) -> str:
    """Name the kind of a node: `x: int = 1` is an assignment as `x = 1` is."""
    if isinstance(node, ast.AnnAssign):
        return "Assign"
    return type(node).__name__


def _parts_of_value(value: Value, wrapped: Sequence[WrappedCode]) -> list[str]:
    """List the tokens of a value: of its conditions, its source, and the code that it wraps."""
    parts: list[str] = []
    for condition in value.conditions:
        parts += _parts_of_condition(condition.text, condition.test)
    # An object without source of its own is identified by its name and signature.
    if value.kind in (Kind.OUTSIDE, Kind.GENERATED):
        parts.append(f"{value.kind} {value.dotted or value.qualname} {value.signature}")
    # Of `alias = json.loads`, only the name `json.loads` counts, not the assignment.
    if value.kind is not Kind.OUTSIDE:
        # A field's annotation is read by dataclasses, an operator's by what makes its schema.
        is_field = value.kind is Kind.FIELD
        is_operator = any(operator_call(code.node) for code in wrapped)
        nodes: Iterable[ast.AST] = value.nodes
        if value.kind is Kind.GENERATED:
            # Of a method that Python generates, such as a dataclass's `__init__`, the class.
            nodes = map(_without_methods, nodes)
        for node in nodes:
            parts += canonical(node, in_class=is_field, annotated=is_operator)
    for code in wrapped:
        parts += canonical(code.node)
    return parts


def _without_methods(node: ast.AST) -> ast.AST:
    """Return a copy of a class without its methods and inner classes; any other node as it is.

    A generated method, such as a dataclass's `__init__`, follows from the fields of the class: if
    another method changes, the fingerprint of the generated one stays.
    """
    if not isinstance(node, ast.ClassDef):
        return node
    without_methods = copy.copy(node)
    without_methods.body = [
        statement for statement in node.body if not isinstance(statement, SCOPES)
    ]
    return without_methods


def _parts_of_condition(text: str, test: ast.expr | None) -> list[str]:
    """List the tokens of a condition; its text counts only where there is no test to parse."""
    if test is None:
        return [f"if {text}"]
    # The `else` of a test has the same `test`, and the text `not (…)`.
    negation = "not" if text.startswith("not (") else ""
    return [f"if {negation}", *canonical(test)]


def _digest(parts: Iterable[str]) -> str:
    """Hash tokens; return 16 hexadecimal digits."""
    # Each token ends with a NUL, so that `ab`, `c` is not the same as `a`, `bc`.
    text = "\0".join([*parts, ""])
    # A string in the source may hold a lone surrogate, which "utf-8" alone refuses.
    content = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:16]


class _Tree:
    """Knows of the nodes of a tree what those above them say.

    Args:
        in_class: The ids of the nodes that stand in the body of a class.
        annotated: The ids of the nodes whose annotations count, see `_annotated`.
    """

    def __init__(self, in_class: set[int], annotated: set[int]) -> None:
        self._in_class = in_class
        self._annotated = annotated

    def inside(self, node: ast.AST, *, named: bool) -> list[ast.AST | str]:
        """List the name of each field that counts, followed by the nodes and tokens in the field.

        Args:
            node: The node that has the fields.
            named: Whether the name of the node counts.
        """
        in_class = id(node) in self._in_class
        if isinstance(node, DEFS) and _reads_annotations(node):
            self._annotated |= _annotated(node)
        is_class_field = in_class and isinstance(node, ast.AnnAssign)
        is_annotated = is_class_field or id(node) in self._annotated
        # What is in an `if` of a class stands in the class, what is in a `def` of it does not.
        is_around = isinstance(node, ast.ClassDef) or (
            in_class and not isinstance(node, _SCOPES)
        )
        parts: list[ast.AST | str] = []
        for field, label in _COUNTED_FIELDS[type(node)]:
            value = getattr(node, field, None)
            # An empty field is as none at all: newer Pythons have more, such as `type_params`.
            if value is None or value == []:
                continue
            if field == "name" and not named:
                continue
            if field in _ANNOTATIONS and not is_annotated:
                continue
            parts.append(label)
            if isinstance(value, list):
                parts += _elements(node, field, value, in_class=is_around)
            elif isinstance(value, ast.AST):
                parts.append(value)
            else:
                parts.append(_constant(value))
        if is_around:
            self._in_class.update(map(id, parts))
        return parts


def _counted_fields(kind: type[ast.AST]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a kind of nodes, without those that never count, and their labels."""
    labels = []
    for field in kind._fields:
        if field not in _SKIPPED:
            # An assignment with an annotation has a `target`, one without has `targets`.
            label = "targets" if field == "target" else field
            labels.append((field, f".{label}"))
    return tuple(labels)


_COUNTED_FIELDS = {kind: _counted_fields(kind) for kind in NODE_KINDS}
"""The fields of each kind of nodes that count, with their labels."""


def _elements(
    node: ast.AST, field: str, elements: list[Any], *, in_class: bool
) -> list[ast.AST | str]:
    """Return the nodes and tokens in a field, in canonical order, without what does not count."""
    if field == "values" and isinstance(node, ast.JoinedStr):
        return list(_joined(node))
    if field in _BLOCKS:
        elements = [
            statement
            for statement in elements
            if not _is_idle(statement, in_class=in_class)
        ]
        if isinstance(node, ast.ClassDef):
            return list(_with_sorted_methods(elements))
        return elements
    return [
        element if isinstance(element, ast.AST) else _token(element)
        for element in elements
    ]


def _token(element: object) -> str:
    """Write an element of a field that is not a node."""
    if element is None:
        return "-"  # a keyword-only parameter without a default, or a `**` in a dict
    return _constant(element)


def _annotated(node: ast.AST) -> set[int]:
    """Return the ids of a function and of its parameters: the nodes that have its annotations.

    It is an empty set for any other node.
    """
    if not isinstance(node, DEFS):
        return set()
    annotated_ids = {id(node)}
    for child in walk(node.args):
        if isinstance(child, ast.arg):
            annotated_ids.add(id(child))
    return annotated_ids


def _reads_annotations(node: ast.AST) -> bool:
    """Whether a decorator of a function reads its annotations."""
    if not isinstance(node, DEFS):
        return False
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted(function).rpartition(".")[2] in _READERS:
            return True
    return False


def _constant(value: object) -> str:
    """Write a constant as one token, the same on every version of Python."""
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return repr(value)
    if isinstance(value, int):
        return f"int {value:x}"  # repr refuses numbers of more than 4,300 digits
    if isinstance(value, str):
        return f"str {value}"
    return f"{type(value).__name__} {value!r}"


def _joined(node: ast.JoinedStr) -> list[ast.expr]:
    """Return the parts of an f-string, with adjacent texts joined and empty ones left out.

    Versions of Python split the texts in different ways.
    """
    joined: list[ast.expr] = []
    for part in node.values:
        if not isinstance(part, ast.Constant):
            joined.append(part)
            continue
        last = joined[-1] if joined else None
        if isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(part.value))
        elif part.value != "":
            joined.append(part)
    return joined


def _is_idle(statement: ast.AST, *, in_class: bool) -> bool:
    """Whether a statement does nothing: `pass`, a docstring, `...`, or `x: int` by itself.

    In the body of a class `x: int` counts, as dataclasses read it as a field.
    """
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return (
        isinstance(statement, ast.AnnAssign)
        and statement.value is None
        and not in_class
    )


def _with_sorted_methods(body: list[ast.AST]) -> list[ast.AST]:
    """Move the methods of a class whose order does not matter to its end, sorted by name.

    These are the undecorated ones that are defined once; all other statements stay in order.
    """
    counts = Counter(member.name for member in body if isinstance(member, SCOPES))
    fixed: list[ast.AST] = []
    methods: dict[str, ast.AST] = {}
    for member in body:
        if (
            isinstance(member, DEFS)
            and not member.decorator_list
            and counts[member.name] == 1
        ):
            methods[member.name] = member
        else:
            fixed.append(member)
    return fixed + [methods[name] for name in sorted(methods)]
