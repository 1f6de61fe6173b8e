"""Judges the decorator of a Decorate: whether it takes one target, and what it returns for it."""

import ast
from collections.abc import Iterator
from inspect import Parameter

from patchkit.analysis.check import codes
from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.check.findings import REWRITE, Fault, undecidable
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.code_kinds import returned_by
from patchkit.analysis.upstream.resolving.natures import Nature
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    Signature,
    signature_of,
)
from patchkit.analysis.upstream.resolving.values import METHODS, Kind

_WITH_SELF = METHODS - {Kind.STATICMETHOD} | {Kind.PROPERTY, Kind.CACHED_PROPERTY}
"""Kinds of functions whose first parameter callers do not pass."""
_GIVEN_BACK = (Nature.CODE, Nature.CLASS)
"""What can be given back at an undo, whatever a decorator has set on it."""
_AS_IT_IS = "what it is given, and only a function, a class or an immutable value can be given back"


def decorator_faults(
    name: str,
    decorator: Facts,
    node: ast.AST | None,
    target: Facts,
    *,
    is_bound: bool = False,
) -> Iterator[Fault]:
    """Judge a decorator of a body for one target.

    Args:
        name: The name of the decorator in the body.
        decorator: What it is.
        node: Its definition, if there is one.
        target: What it decorates.
        is_bound: Whether the target is named on an object: the decorator gets a bound method.

    Yields:
        What is certain from the source: it takes no target, it returns nothing, or it returns a
        function that takes other calls, or gives another kind of result, than the target does.
    """
    if decorator.signature is not None:
        refusal = _refused_target(decorator.signature)
        if refusal:
            message = f"{name}{decorator.signature} has to take (target): {refusal}"
            yield Fault(codes.SIGNATURE_CHANGED, message, REWRITE, name)
            return
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return  # a class, or what is decorated itself, has no `return` that tells what a call gives
    returned = _returned_values(node)
    if not any(returned):  # there is no `return`, or only bare ones
        message = f"{name} returns nothing, expected what the target becomes"
        yield Fault(codes.KIND_CHANGED, message, REWRITE, name)
        return
    if all(_is_parameter(node, value) for value in returned):
        is_method = is_bound and target.kind in _WITH_SELF
        yield from _unchanged_faults(name, target, is_method=is_method)
    for value in returned:
        inner = _inner_function(node, value)
        if inner is not None and target.is_sure:
            yield from _inner_faults(name, inner, target, is_bound=is_bound)


def _takes_first(signature: Signature) -> bool:
    """Whether a function takes a first argument by position."""
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return bool(kinds) and kinds[0] <= Parameter.VAR_POSITIONAL


def _is_parameter(node: ast.FunctionDef, value: ast.expr | None) -> bool:
    """Whether a value is the target that a decorator is given."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    return isinstance(value, ast.Name) and value.id == parameters[0].arg


def _unchanged_faults(name: str, target: Facts, *, is_method: bool) -> Iterator[Fault]:
    """Find that a decorator returns a target as it is, and the target could not be given back.

    A class and a function of Python are compared with what they were. Other objects are not, such
    as the method of one object, which is made anew whenever it is read.
    """
    is_cached = target.kind == Kind.CACHED_FUNCTION
    if target.nature in _GIVEN_BACK and not is_cached and not is_method:
        return
    if target.kind == Kind.CACHED_PROPERTY:
        return  # the decorator is given the function in it
    if target.nature in (Nature.UNKNOWN, Nature.ROUTINE, Nature.VALUE):
        yield undecidable(f"{name} returns {_AS_IT_IS}")
        return
    kind = target.kind if is_cached else target.nature
    message = f"{name} returns what it is given ({kind}), expected another object"
    yield Fault(codes.KIND_CHANGED, message, REWRITE, name)


def _refused_target(signature: Signature) -> str:
    """Say why a function cannot be called as `by(target)`; '' where it can."""
    try:
        signature.bind("target")
    except TypeError as error:
        return str(error)
    return ""


def _returned_values(node: ast.FunctionDef) -> list[ast.expr | None]:
    """Return what the `return` statements of a function return, not those of functions in it."""
    values: list[ast.expr | None] = []
    pending: list[ast.AST] = list(node.body)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Return):
            values.append(part.value)
        elif not isinstance(part, SCOPES):
            pending += ast.iter_child_nodes(part)
    return values


def _inner_function(node: ast.FunctionDef, value: ast.expr | None) -> Def | None:
    """Return the function that a decorator defines and returns; None if it returns another thing.

    It is None too if the function has a decorator, which may change how it is called; only
    `functools.wraps` is known not to.
    """
    if not isinstance(value, ast.Name):
        return None
    definitions = [
        part
        for part in ast.walk(node)
        if isinstance(part, DEFS) and part.name == value.id
    ]
    if len(definitions) != 1:
        return None
    (inner,) = definitions
    for decorator in inner.decorator_list:
        if "wraps" not in ast.unparse(decorator):
            return None
    return inner


def _inner_faults(
    name: str, inner: Def, target: Facts, *, is_bound: bool
) -> Iterator[Fault]:
    """Compare what a decorator returns with its target: its calls, and what they return."""
    if target.nature == Nature.CLASS:
        message = (
            f"what {name} returns is a function, expected a class that derives from "
            f"{target.qualname or 'the target'}"
        )
        yield Fault(codes.KIND_CHANGED, message, REWRITE, name)
        return
    if target.nature == Nature.UNKNOWN and target.kind == Kind.OUTSIDE:
        yield undecidable(
            "it is defined outside the release; no function can replace a class"
        )
    if target.signature is not None:
        inner_signature = signature_of(inner.args)
        theirs, ours = target.signature, inner_signature
        if target.kind in _WITH_SELF and (is_bound or _takes_first(ours)):
            # Nobody passes `self` by name, so that it may have any.
            theirs = theirs.bound()
            ours = ours if is_bound else ours.bound()
        refusal = refused_call(theirs, ours)
        if refusal:
            takes = f"what {name} returns takes {inner_signature}"
            message = f"upstream takes {target.signature}, {takes}: {refusal}"
            yield Fault(codes.SIGNATURE_CHANGED, message, REWRITE, name)
    inner_result = ""  # not known of a function with a decorator
    if not inner.decorator_list:
        inner_result = returned_by(inner)
    if inner_result and target.returned and inner_result != target.returned:
        message = (
            f"calls of what {name} returns give {inner_result}, expected {target.returned}, as "
            f"upstream's {target.qualname} gives"
        )
        yield Fault(codes.KIND_CHANGED, message, REWRITE, name)
