"""From an expression to what it comes to, and from a thing to its attributes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import factories, inheritance, signature
from patchkit.upstream.resolving.class_body import own_binding
from patchkit.upstream.resolving.values import (
    Kind,
    Value,
    absent,
    undecidable,
)

if TYPE_CHECKING:
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.scope import Scope
    from patchkit.upstream.resolving.values import Values

_PLAIN = (
    *(ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr, ast.BinOp),
    *(ast.Compare, ast.UnaryOp, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
)


def evaluate(lookup: Lookup, node: ast.expr, scope: Scope) -> Values:
    """Tell what an expression comes to; one value for each way that it may."""
    if isinstance(node, ast.Name):
        return _name(lookup, node.id, scope)
    if isinstance(node, ast.Attribute):
        return tuple(
            attribute.under(value.conditions)
            for value in evaluate(lookup, node.value, scope)
            for attribute in member(lookup, value, node.attr)
        )
    if isinstance(node, ast.Lambda):
        called = signature.of_arguments(node.args)
        return (Value("present", Kind.FUNCTION, signature=called, expression=node),)
    if isinstance(node, ast.Call):
        return factories.of_call(lookup, node, scope)
    if isinstance(node, ast.IfExp):
        return _if_expression(lookup, node, scope)
    if isinstance(node, ast.NamedExpr):
        return evaluate(lookup, node.value, scope)
    if isinstance(node, ast.Subscript):
        return _subscript(lookup, node, scope)
    is_plain = isinstance(node, _PLAIN)
    is_none = isinstance(node, ast.Constant) and node.value is None
    kind = Kind.CONSTANT if is_plain else Kind.ASSIGNMENT
    return (Value("present", kind, expression=node, is_none=is_none, sure=is_plain),)


def member(lookup: Lookup, value: Value, name: str) -> Values:
    """Tell what an attribute of something is."""
    if value.state == "absent":
        return (value,)
    if value.is_none:
        return (replace(absent(f"{value.qualname} is None there"), is_none=True),)
    if value.kind is Kind.OUTSIDE:
        dot = f"{value.dotted}.{name}"
        return (undecidable(f"{value.dotted} lies outside the release", Kind.OUTSIDE, dot),)
    if value.state == "undecidable":
        return (value,)
    if value.kind is Kind.MODULE:
        return lookup.attribute(value.module, name)
    if value.classes:
        return inheritance.member(lookup, value, name)
    if value.kind is Kind.CLASS:
        return (undecidable(f"{value.qualname} is made by {value.dotted}(…)"),)
    if value.instance_of is not None:
        return inheritance.instance_member(lookup, value.instance_of, name)
    what = f"the {value.kind} {value.qualname}" if value.qualname else f"the {value.kind}"
    return (undecidable(f"the attributes of {what} are not told"),)


def _name(lookup: Lookup, name: str, scope: Scope) -> Values:
    """Look into the innermost class, then into the module: classes between are not seen."""
    if scope.classes:
        cases = own_binding(lookup, scope.tree, scope.classes, name, scope.until)
        if any(case.binding for case in cases):
            return tuple(
                value.under(case.conditions)
                for case in cases
                if case.binding
                for value in lookup.bound(case.binding, scope)
            )
    return lookup.visible(scope.tree, name, scope.until)


def _if_expression(lookup: Lookup, node: ast.IfExp, scope: Scope) -> Values:
    truth = lookup.decide(node.test, scope.tree)
    if truth is not None:
        return evaluate(lookup, node.body if truth else node.orelse, scope)
    return (*evaluate(lookup, node.body, scope), *evaluate(lookup, node.orelse, scope))


def _subscript(lookup: Lookup, node: ast.Subscript, scope: Scope) -> Values:
    """Leave out what is in brackets: of `Generic[T]` and `list[int]` the rest is the base."""
    base = evaluate(lookup, node.value, scope)
    if all(value.classes or value.kind is Kind.OUTSIDE for value in base):
        return base
    return (Value("present", Kind.ASSIGNMENT, expression=node, sure=False),)
