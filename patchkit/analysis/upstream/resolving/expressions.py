"""Tells what objects expressions, bindings and attributes stand for, without running them."""

import ast
from dataclasses import replace

from patchkit.analysis.upstream.resolving import decorators, inheritance
from patchkit.analysis.upstream.resolving.bindings import Binding, BindingCase
from patchkit.analysis.upstream.resolving.classes import body_bindings, subscripted
from patchkit.analysis.upstream.resolving.decorator_source import SAME
from patchkit.analysis.upstream.resolving.decorators import DESCRIPTORS
from patchkit.analysis.upstream.resolving.interfaces import INTERFACE, is_interface
from patchkit.analysis.upstream.resolving.later_changes import may_change_signature
from patchkit.analysis.upstream.resolving.metaclasses import (
    function_as_metaclass,
    is_metaclass,
    makes_instances,
)
from patchkit.analysis.upstream.resolving.named_tuples import named_tuple_member
from patchkit.analysis.upstream.resolving.outside import (
    CLASS_FACTORIES,
    as_typing,
)
from patchkit.analysis.upstream.resolving.read_values import (
    read_from_instance,
    read_from_owner,
)
from patchkit.analysis.upstream.resolving.returned_classes import returned_class
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, signature_of
from patchkit.analysis.upstream.resolving.values import (
    OUTSIDE,
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)
from patchkit.analysis.upstream.resolving.variants import distinct

_PLAIN = (
    ast.BinOp,
    ast.Compare,
    ast.Constant,
    ast.Dict,
    ast.DictComp,
    ast.GeneratorExp,
    ast.JoinedStr,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Tuple,
    ast.UnaryOp,
)
"""Expressions that come to a plain object, such as a number or a list: it has no signature."""


def evaluate(lookup: Lookup, node: ast.expr, scope: Scope) -> Values:
    """Return the objects that an expression may come to, without running it.

    Args:
        lookup: The release.
        node: The expression.
        scope: Where it stands.

    Returns:
        One value for each object; an expression that cannot be followed has a single one, of
        kind `ASSIGNMENT`, that is not sure.
    """
    if isinstance(node, ast.Name):
        return _name(lookup, node.id, scope)
    if isinstance(node, ast.Attribute):
        return _attribute(lookup, node, scope)
    if isinstance(node, ast.Lambda):
        signature = signature_of(node.args)
        return (Value("present", Kind.FUNCTION, signature=signature, expression=node),)
    if isinstance(node, ast.Call):
        callees = evaluate(lookup, node.func, scope)
        return tuple(
            _called(lookup, callee, node, scope).under(callee.conditions)
            for callee in callees
        )
    if isinstance(node, ast.IfExp):
        return _conditional(lookup, node, scope)
    if isinstance(node, ast.NamedExpr):
        return evaluate(lookup, node.value, scope)
    if isinstance(node, ast.Subscript):
        generics = evaluate(lookup, node.value, scope)
        are_classes = all(
            value.has_class_statement or value.kind is Kind.OUTSIDE
            for value in generics
        )
        if are_classes:  # `Generic[T]` is taken for `Generic`
            return tuple(subscripted(value) for value in generics)
    is_plain = isinstance(node, _PLAIN)
    is_none = isinstance(node, ast.Constant) and node.value is None
    kind = Kind.ASSIGNMENT
    if is_plain:
        kind = Kind.CONSTANT
    return (Value("present", kind, expression=node, is_none=is_none, is_sure=is_plain),)


def member(lookup: Lookup, value: Value, name: str) -> Values:
    """Return what an attribute of a value is.

    Args:
        lookup: The release.
        value: A module, a class, or any other object.
        name: The name of the attribute.

    Returns:
        One value for each object that it may be. Of an absent value, and of one about which
        nothing is known, it is that value itself.
    """
    if value.state == "absent":
        return (value,)
    if value.is_none and value.is_sure:
        return (replace(absent(f"{value.qualname} is None there"), is_none=True),)
    if value.kind is Kind.OUTSIDE:
        reason = f"{value.dotted} {OUTSIDE}"
        return (undecided(reason, Kind.OUTSIDE, f"{value.dotted}.{name}"),)
    if value.state == "undecidable":
        return (value,)
    if value.kind is Kind.MODULE:
        return lookup.module_attribute(value.module, name)
    if value.has_class_statement:
        return inheritance.member(lookup, value, name)
    # Such as `namedtuple(…)`, which no `class` statement defines.
    if value.kind is Kind.CLASS:
        field = named_tuple_member(lookup, value, name)
        if field is not None:
            return (field,)
        maker = value.instance_of.qualname if value.instance_of else value.dotted
        return (undecided(f"{value.qualname} is made by {maker}(…)"),)
    if value.instance_of is not None:
        return inheritance.instance_member(lookup, value.instance_of, name)
    description = f"the {value.kind} {value.qualname}".rstrip()
    return (undecided(f"the attributes of {description} are not told"),)


def _name(lookup: Lookup, name: str, scope: Scope) -> Values:
    """Look a name up in the innermost class, then in the module, as code in a class body does.

    Python does not look into the classes around that class.
    """
    if scope.classes:
        values: list[Value] = []
        for case in body_bindings(lookup, scope, name):
            values += lookup.bound_values(case, scope)
        if values:
            return tuple(values)
    return lookup.visible(scope.tree, name, scope.until)


def _attribute(lookup: Lookup, node: ast.Attribute, scope: Scope) -> Values:
    """Return what `x.name` comes to, for each object that `x` may be."""
    attributes: list[Value] = []
    for value in evaluate(lookup, node.value, scope):
        members = member(lookup, value, node.attr)
        if value.instance_of is not None:
            members = tuple(map(read_from_instance, members))
        attributes += [attribute.under(value.conditions) for attribute in members]
    return tuple(attributes)


def _conditional(lookup: Lookup, node: ast.IfExp, scope: Scope) -> Values:
    """Return what `x if test else y` comes to; both if the test cannot be decided."""
    truth = lookup.decide(node.test, scope.tree)
    if truth is True:
        return evaluate(lookup, node.body, scope)
    if truth is False:
        return evaluate(lookup, node.orelse, scope)
    both = (*evaluate(lookup, node.body, scope), *evaluate(lookup, node.orelse, scope))
    # Each once: a chain of such expressions would have twice as many at each.
    return distinct(both)


def _called(lookup: Lookup, callee: Value, call: ast.Call, scope: Scope) -> Value:
    """Return the object that a call returns, as far as that is known of what is called.

    Args:
        lookup: The release.
        callee: What is called.
        call: The call.
        scope: Where it stands.

    Returns:
        A descriptor, a class or an instance; a value that is not sure for any other call.
    """
    result = Value("present", Kind.ASSIGNMENT, expression=call, is_sure=False)
    name = as_typing(callee.dotted)
    descriptor = DESCRIPTORS.get(name)
    has_arguments = call.args or call.keywords
    # `property(f)` is a property. Caches are left out: `lru_cache(8)` is a decorator.
    if descriptor not in (None, Kind.CACHED_FUNCTION) and has_arguments:
        signature = None
        if call.args:
            functions = lookup.evaluate(call.args[0], scope)
            if len(functions) == 1:
                signature = functions[0].signature
        return replace(result, kind=descriptor, signature=signature, is_sure=True)
    # `P(1, 2)`: the class that a factory has made is called.
    if callee.kind is Kind.CLASS and not callee.has_class_statement:
        return result
    # `namedtuple("P", "x y")` and `type("P", (), {})` are classes; `type(x)` is any class.
    if name in CLASS_FACTORIES or (name == "builtins.type" and len(call.args) == 3):
        return replace(result, kind=Kind.CLASS, dotted=name, is_sure=True)
    # `Meta("C", (), {})` is a class, unless `Meta.__new__` returns something else.
    if callee.has_class_statement and is_metaclass(lookup, callee):
        return replace(result, kind=Kind.CLASS, instance_of=callee)
    # `C = add_methods(C)` is the class still.
    same = returned_class(lookup, callee, call, scope)
    if same is not None:
        return same
    # `Config()` is an instance of `Config`.
    if makes_instances(lookup, callee, name):
        return replace(result, kind=Kind.CONSTANT, instance_of=callee, is_sure=True)
    return result


# Methods that Python makes static or class methods without a decorator.
_IMPLICIT_KINDS = {
    "__new__": Kind.STATICMETHOD,
    "__init_subclass__": Kind.CLASSMETHOD,
    "__class_getitem__": Kind.CLASSMETHOD,
}


def bound_values(lookup: Lookup, case: BindingCase, scope: Scope) -> Values:
    """Return the objects that a name may stand for in one case.

    Args:
        lookup: The release.
        case: The case: how the name is bound, and under which conditions.
        scope: The scope that the binding stands in.

    Returns:
        One value for each object, under the conditions of the case; () if the name is not bound.
    """
    if case.binding is None:
        return ()
    values = _values_of_binding(lookup, case.binding, scope)
    return tuple(value.under(case.conditions) for value in values)


def _values_of_binding(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    """Return the objects that a statement binds: an import, a `class`, a `def`, an assignment."""
    if binding.is_uncertain:
        source = f"line {binding.node.lineno}"
        if binding.module:
            source = f"`from {binding.module} import *`"
        return (undecided(f"{source} may bring it, which cannot be told"),)
    if binding.imported:
        return _imported(lookup, binding, scope)
    if binding.module:
        module = _as_imported(lookup.module(binding.module))
        return (replace(module, is_module=module.kind is Kind.OUTSIDE),)
    value = Value(
        "present",
        Kind.ASSIGNMENT,
        module=scope.tree.name,
        qualname=scope.qualify(binding.name),
        tree=scope.tree,
        nodes=(binding.node, *binding.modifiers),
        expression=binding.value,
        scope=scope,
    )
    # Names in the statement have the values that they have before it.
    scope_before = replace(scope, until=binding.node)
    if isinstance(binding.node, ast.ClassDef):
        classes = (*scope.classes, binding.node)
        return (_class(lookup, replace(value, classes=classes), scope_before),)
    if isinstance(binding.node, DEFS):
        return (_function(lookup, value, binding.node, scope_before),)
    name = replace(value, scope=scope_before)
    return _assigned(lookup, binding, name, scope_before)


def _imported(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    """Return the objects that `from module import name` binds."""
    # A package that imports from itself finds what it has bound before this statement.
    if binding.module == scope.tree.name and not scope.classes:
        values = lookup.visible(scope.tree, binding.imported, binding.node)
    else:
        values = lookup.module_attribute(binding.module, binding.imported)
    importer = f"{scope.tree.name}:{scope.qualify(binding.name)}"
    imported: list[Value] = []
    for value in values:
        if value.state == "absent":
            imported.append(absent(f"{importer} is imported: {value.reason}"))
        else:
            imported.append(_as_imported(value))
    return tuple(imported)


def _as_imported(value: Value) -> Value:
    """Return an object outside the release as present: it is imported, so it must exist."""
    if value.kind is not Kind.OUTSIDE:
        return value
    return replace(value, state="present", is_sure=True, reason="")


def _class(lookup: Lookup, value: Value, scope: Scope) -> Value:
    """Return the class of a `class` statement, or what an unknown decorator makes of it."""
    for decorator in value.class_statement.decorator_list:
        effect = decorators.effect_of(lookup, decorator, scope)
        if effect.outcome != SAME or effect.kind is not None:
            return _decorated(value, ast.unparse(decorator))
    made = replace(value, kind=Kind.CLASS)
    maker = function_as_metaclass(lookup, value, scope)
    if maker:
        return made.unsure(maker)
    if is_interface(lookup, value, scope):
        return made.unsure(INTERFACE)
    return made


def _function(lookup: Lookup, value: Value, node: Def, scope: Scope) -> Value:
    """Return the function or descriptor of a `def`, or what an unknown decorator makes of it."""
    kind, unknown_decorator = decorators.function_kind(lookup, node, scope)
    if kind is None:
        return _decorated(value, unknown_decorator)
    signature = decorators.signature_below(lookup, node, scope)
    if signature is not None and scope.classes:
        signature = signature.mangled(scope.classes[-1].name)
    if kind is Kind.METHOD and scope.classes:
        kind = _IMPLICIT_KINDS.get(node.name, kind)
    function = replace(value, kind=kind, signature=signature)
    doubt = may_change_signature(lookup, function)
    if doubt:
        return function.unsure(doubt)
    return function


def _decorated(value: Value, decorator: str) -> Value:
    reason = f"nothing is known about the decorator @{decorator}"
    return replace(value, kind=Kind.DECORATED).unsure(reason)


def _assigned(lookup: Lookup, binding: Binding, value: Value, scope: Scope) -> Values:
    """Return the objects that an assignment binds.

    Args:
        lookup: The release.
        binding: The assignment.
        value: The name that is assigned to, with nothing known of the object yet.
        scope: The scope, up to the assignment.
    """
    if binding.value is None:  # no expression is for this name alone
        return (replace(value, is_sure=False),)
    # `x = property(…)` may be followed by `@x.setter`, which makes another object.
    has_setter = any(
        isinstance(modifier, ast.FunctionDef) for modifier in binding.modifiers
    )
    if has_setter:
        return (replace(value, is_sure=False),)
    assigned = lookup.evaluate(binding.value, scope)
    if isinstance(binding.value, ast.Attribute):
        assigned = tuple(map(read_from_owner, assigned))
    return tuple(_as_assigned(value, result) for result in assigned)


def _as_assigned(value: Value, assigned: Value) -> Value:
    """Return the value of a name that an expression is assigned to.

    Args:
        value: The name, with nothing known of the object yet.
        assigned: What the expression comes to.
    """
    # `Alias = Generic[T]` is another object than `Generic`, for which `evaluate` takes it.
    if isinstance(value.expression, ast.Subscript):
        return replace(value, is_sure=False, reason=assigned.reason)
    # `alias = json.loads` has no definition in the release but this statement.
    if assigned.kind is Kind.OUTSIDE:
        return replace(_as_imported(assigned), tree=value.tree, nodes=value.nodes)
    # The name exists, whatever it is assigned.
    if assigned.state != "present":
        return replace(value, is_sure=False, reason=assigned.reason)
    # `alias = function`: the object has a definition of its own.
    if assigned.qualname or assigned.kind is Kind.MODULE:
        return assigned
    # `x = 1`, `x = C()`, `x = lambda: …`: this statement is the definition.
    return replace(
        assigned,
        module=value.module,
        qualname=value.qualname,
        tree=value.tree,
        nodes=value.nodes,
        expression=assigned.expression or value.expression,
        scope=value.scope,
    )
