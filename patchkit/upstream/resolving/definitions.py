"""From a binding to what it makes of its name."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import decorators, inheritance, signature
from patchkit.upstream.resolving.bindings import Form
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
    if binding.form in (Form.FUNCTION, Form.CLASS):
        return (_defined(lookup, binding, scope),)
    if binding.form is Form.OPEN:
        what = f"`from {binding.module} import *`"
        return (undecidable(f"{what} may bring it, which cannot be told"),)
    return _assigned(lookup, binding, scope)


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


def _defined(lookup: Lookup, binding: Binding, scope: Scope) -> Value:
    node = binding.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    value = Value(
        "present",
        None,
        scope.tree.name,
        scope.name(binding.name),
        scope.tree,
        (node, *binding.parts),
        scope=scope,
    )
    inside = replace(scope, until=node)
    if isinstance(node, ast.ClassDef):
        value = replace(value, classes=(*scope.classes, node))
        return inheritance.class_value(lookup, value, inside)
    return _function(lookup, value, node, inside)


def _function(
    lookup: Lookup, value: Value, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope
) -> Value:
    called = signature.of_arguments(node.args)
    if scope.classes:
        called = called.mangled(scope.classes[-1].name)
    kind, unknown = decorators.function_kind(lookup, node, scope, method=bool(scope.classes))
    if kind is None:
        reason = f"nothing is known about the decorator @{unknown}"
        return replace(value, kind=Kind.DECORATED).unsure(reason)
    if scope.classes and kind is Kind.METHOD:
        kind = _IMPLICIT_KINDS.get(node.name, kind)
    return replace(value, kind=kind, signature=called)


# --- assignments


def _assigned(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    """Tell what an assignment makes of its name: an alias, or a value of its own."""
    inside = replace(scope, until=binding.node)
    value = Value(
        "present",
        Kind.ASSIGNMENT,
        scope.tree.name,
        scope.name(binding.name),
        scope.tree,
        (binding.node, *binding.parts),
        expression=binding.value,
        scope=inside,
    )
    is_shaped = any(isinstance(part, ast.FunctionDef) for part in binding.parts)
    if binding.value is None or is_shaped:
        return (replace(value, sure=False),)
    assigned = lookup.evaluate(binding.value, inside)
    if isinstance(binding.value, ast.Attribute) and any(
        result.kind in METHODS for result in assigned
    ):
        owners = lookup.evaluate(binding.value.value, inside)
        is_instance = any(owner.instance_of is not None for owner in owners)
        assigned = tuple(_read_from(result, is_instance=is_instance) for result in assigned)
    return tuple(_as_assigned(value, result) for result in assigned)


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
