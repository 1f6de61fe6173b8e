"""From a binding to what it makes of its name."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import decorators, signature
from patchkit.upstream.resolving.bindings import Form
from patchkit.upstream.resolving.decorator_source import UNKNOWN
from patchkit.upstream.resolving.outside import standard_class
from patchkit.upstream.resolving.values import AS_METHOD, METHODS, Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from patchkit.upstream.resolving.bindings import Binding
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.values import Scope, Values

_IMPLICIT_KINDS = {
    "__new__": Kind.STATICMETHOD,
    "__init_subclass__": Kind.CLASSMETHOD,
    "__class_getitem__": Kind.CLASSMETHOD,
}


def bound(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    """Tell what a binding makes of its name."""
    if binding.form is Form.IMPORT:
        return (_as_imported(lookup.module(binding.module)),)
    if binding.form is Form.FROM:
        return _imported(lookup, binding, scope)
    if binding.form is Form.OPEN:
        star, line = f"`from {binding.module} import *`", f"line {binding.node.lineno}"
        what = star if binding.module else line
        return (undecidable(f"{what} may bring it, which cannot be told"),)
    value = Value(
        "present",
        Kind.ASSIGNMENT,
        scope.tree.name,
        scope.name(binding.name),
        scope.tree,
        (binding.node, *binding.parts),
        expression=binding.value,
        scope=scope,
    )
    inside = replace(scope, until=binding.node)
    if isinstance(binding.node, ast.ClassDef):
        return (_class(lookup, replace(value, classes=(*scope.classes, binding.node)), inside),)
    if isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return (_function(lookup, value, binding.node, inside),)
    return _assigned(lookup, binding, replace(value, scope=inside), inside)


def _imported(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    if binding.module == scope.tree.name and not scope.classes:
        values = lookup.visible(scope.tree, binding.imported, binding.node)
    else:
        values = lookup.attribute(binding.module, binding.imported)
    where = f"{scope.tree.name}:{scope.name(binding.name)}"
    return tuple(
        absent(f"{where} is imported: {value.reason}")
        if value.state == "absent"
        else _as_imported(value)
        for value in values
    )


def _as_imported(value: Value) -> Value:
    """What lies outside is there once it is imported or assigned; nothing more is known of it."""
    if value.kind is not Kind.OUTSIDE:
        return value
    return replace(value, state="present", sure=True, reason="")


# --- definitions


def _class(lookup: Lookup, value: Value, scope: Scope) -> Value:
    for decorator in value.classes[-1].decorator_list:
        if decorators.effect_of(lookup, decorator, scope).what == UNKNOWN:
            return _decorated(value, ast.unparse(decorator))
    return replace(value, kind=Kind.CLASS)


def _function(
    lookup: Lookup, value: Value, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope
) -> Value:
    kind, unknown = decorators.function_kind(lookup, node, scope, method=bool(scope.classes))
    if kind is None:
        return _decorated(value, unknown)
    called = signature.of_arguments(node.args)
    if scope.classes:
        called = called.mangled(scope.classes[-1].name)
        kind = _IMPLICIT_KINDS.get(node.name, kind) if kind is Kind.METHOD else kind
    return replace(value, kind=kind, signature=called)


def _decorated(value: Value, decorator: str) -> Value:
    reason = f"nothing is known about the decorator @{decorator}"
    return replace(value, kind=Kind.DECORATED).unsure(reason)


# --- assignments


def _assigned(lookup: Lookup, binding: Binding, value: Value, scope: Scope) -> Values:
    """Tell what an assignment makes of its name: an alias, or a value of its own."""
    is_shaped = any(isinstance(part, ast.FunctionDef) for part in binding.parts)
    if binding.value is None or is_shaped:
        return (replace(value, sure=False),)
    assigned = lookup.evaluate(binding.value, scope)
    if isinstance(binding.value, ast.Attribute) and any(one.kind in METHODS for one in assigned):
        owners = lookup.evaluate(binding.value.value, scope)
        is_instance = any(owner.instance_of is not None for owner in owners)
        assigned = tuple(_read_from(one, is_instance=is_instance) for one in assigned)
    return tuple(_as_assigned(value, one) for one in assigned)


def _as_assigned(value: Value, assigned: Value) -> Value:
    if isinstance(value.expression, ast.Subscript):
        if _is_alias_of_type(assigned):
            return replace(value, kind=Kind.CONSTANT)
        return replace(value, sure=False, reason=assigned.reason)
    if assigned.kind is Kind.OUTSIDE:
        return replace(_as_imported(assigned), tree=value.tree, nodes=value.nodes)
    if assigned.state != "present":
        return replace(value, sure=False, reason=assigned.reason)
    if assigned.qualname or assigned.kind is Kind.MODULE:
        return assigned
    return replace(
        assigned,
        module=value.module,
        qualname=value.qualname,
        tree=value.tree,
        nodes=value.nodes,
        expression=assigned.expression or value.expression,
        scope=value.scope,
    )


def _is_alias_of_type(value: Value) -> bool:
    """Whether subscribing something makes a type hint, such as `list[int]`."""
    module = value.dotted.rpartition(".")[0]
    return module in ("typing", "typing_extensions", "collections.abc") or (
        value.dotted.startswith("builtins.") and standard_class(value.dotted) is not None
    )


def _read_from(value: Value, *, is_instance: bool) -> Value:
    """Tell what a method is once it is read from a class, or from an instance of one."""
    if value.kind not in METHODS:
        return value
    is_async = bool(value.nodes) and isinstance(value.nodes[0], ast.AsyncFunctionDef)
    kind = Kind.ASYNC_FUNCTION if is_async else Kind.FUNCTION
    is_bound = value.kind is Kind.CLASSMETHOD or (is_instance and value.kind in AS_METHOD.values())
    called = value.signature.bound() if value.signature and is_bound else value.signature
    return replace(value, kind=kind, signature=called)
