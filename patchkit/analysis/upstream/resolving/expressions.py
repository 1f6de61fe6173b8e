"""What expressions and bindings come to, calls included, and what attributes of a thing are."""

import ast
from dataclasses import replace

from patchkit.analysis.upstream.resolving import decorators, inheritance
from patchkit.analysis.upstream.resolving.bindings import Binding, BindingCase
from patchkit.analysis.upstream.resolving.classes import body_bindings, metaclass, mro
from patchkit.analysis.upstream.resolving.decorators import DESCRIPTORS, UNKNOWN
from patchkit.analysis.upstream.resolving.outside import as_typing, is_class
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, signature_of
from patchkit.analysis.upstream.resolving.values import (
    METHODS,
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)

_PLAIN = (
    *(ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr, ast.BinOp),
    *(ast.Compare, ast.UnaryOp, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
)
_CLASSES = {f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")} | {
    *("collections.namedtuple", "typing.NamedTuple", "typing.TypedDict"),
    *("dataclasses.make_dataclass", "pydantic.create_model"),
}
"""What makes a class where it is called."""
_NOT_PLAIN = frozenset({"types.ModuleType", "builtins.type", "abc.ABCMeta", "builtins.property"})
_OBJECTS = {
    *("functools.partial", "re.compile", "regex.compile", "logging.getLogger"),
    *("os.getenv", "os.environ.get", "fastapi.APIRouter"),
    *("typing.TypeVar", "typing.NewType", "typing.ParamSpec"),
}
"""What makes an object where it is called; classes do so too."""


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
        called = signature_of(node.args)
        return (Value("present", Kind.FUNCTION, signature=called, expression=node),)
    if isinstance(node, ast.Call):
        return tuple(
            _made(lookup, maker, node, scope).under(maker.conditions)
            for maker in evaluate(lookup, node.func, scope)
        )
    if isinstance(node, ast.IfExp):
        truth = lookup.decide(node.test, scope.tree)
        ways = [] if truth is False else [node.body]
        ways += [] if truth is True else [node.orelse]
        return tuple(value for way in ways for value in evaluate(lookup, way, scope))
    if isinstance(node, ast.NamedExpr):
        return evaluate(lookup, node.value, scope)
    is_plain = isinstance(node, _PLAIN)
    if isinstance(node, ast.Subscript):  # `Generic[T]` and `list[int]` are their base
        base = evaluate(lookup, node.value, scope)
        if all(value.classes or value.kind is Kind.OUTSIDE for value in base):
            return base
    is_none = isinstance(node, ast.Constant) and node.value is None
    kind = Kind.CONSTANT if is_plain else Kind.ASSIGNMENT
    return (Value("present", kind, expression=node, is_none=is_none, is_sure=is_plain),)


def member(lookup: Lookup, value: Value, name: str) -> Values:
    """Tell what an attribute of something is."""
    if value.state == "absent":
        return (value,)
    if value.is_none:
        return (replace(absent(f"{value.qualname} is None there"), is_none=True),)
    if value.kind is Kind.OUTSIDE:
        dot = f"{value.dotted}.{name}"
        return (undecided(f"{value.dotted} lies outside the release", Kind.OUTSIDE, dot),)
    if value.state == "undecidable":
        return (value,)
    if value.kind is Kind.MODULE:
        return lookup.module_attribute(value.module, name)
    if value.classes:
        return inheritance.member(lookup, value, name)
    if value.kind is Kind.CLASS:
        return (undecided(f"{value.qualname} is made by {value.dotted}(…)"),)
    if value.instance_of is not None:
        return inheritance.instance_member(lookup, value.instance_of, name)
    what = f"the {value.kind} {value.qualname}".rstrip()
    return (undecided(f"the attributes of {what} are not told"),)


def _name(lookup: Lookup, name: str, scope: Scope) -> Values:
    """Look into the innermost class, then into the module: classes between are not seen."""
    if scope.classes:
        cases = body_bindings(lookup, scope, name)
        if values := tuple(value for case in cases for value in lookup.bound_values(case, scope)):
            return values
    return lookup.visible(scope.tree, name, scope.until)


def _made(lookup: Lookup, maker: Value, call: ast.Call, scope: Scope) -> Value:
    made = Value("present", Kind.ASSIGNMENT, expression=call, is_sure=False)
    name = as_typing(maker.dotted)
    kind = DESCRIPTORS.get(name)
    # What `lru_cache(8)` makes is a decorator.
    if kind not in (None, Kind.CACHED_FUNCTION) and (call.args or call.keywords):
        inner = lookup.evaluate(call.args[0], scope) if call.args else ()
        called = inner[0].signature if len(inner) == 1 else None
        return replace(made, kind=kind, signature=called, is_sure=True)
    if name in _CLASSES or (name == "builtins.type" and len(call.args) == 3):
        return replace(made, kind=Kind.CLASS, dotted=name, is_sure=True)
    if _makes_instances(lookup, maker, name):
        return replace(made, kind=Kind.CONSTANT, instance_of=maker, is_sure=True)
    return made


def _makes_instances(lookup: Lookup, maker: Value, name: str) -> bool:
    if maker.kind is Kind.OUTSIDE:
        return name in _OBJECTS or (is_class(name) and name != "builtins.type")
    if not maker.classes or not maker.is_sure or metaclass(lookup, maker) is not None:
        return False
    bases = [one for one in mro(lookup, maker) if not one.classes]
    makers = lookup.member(maker, "__new__")
    return all(one.kind is Kind.OUTSIDE for one in (*bases, *makers)) and not any(
        one.dotted in _NOT_PLAIN for one in bases
    )


_IMPLICIT_KINDS = {
    "__new__": Kind.STATICMETHOD,
    "__init_subclass__": Kind.CLASSMETHOD,
    "__class_getitem__": Kind.CLASSMETHOD,
}


def bound_values(lookup: Lookup, case: BindingCase, scope: Scope) -> Values:
    """Tell what a name is in a case; () where it is not bound."""
    if case.binding is None:
        return ()
    return tuple(value.under(case.conditions) for value in _bound(lookup, case.binding, scope))


def _bound(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    if binding.is_uncertain:
        star, line = f"`from {binding.module} import *`", f"line {binding.node.lineno}"
        what = star if binding.module else line
        return (undecided(f"{what} may bring it, which cannot be told"),)
    if binding.imported:
        return _imported(lookup, binding, scope)
    if binding.module:
        return (_as_imported(lookup.module(binding.module)),)
    where = (
        scope.tree.name,
        scope.qualify(binding.name),
        scope.tree,
        (binding.node, *binding.modifiers),
    )
    value = Value("present", Kind.ASSIGNMENT, *where, expression=binding.value, scope=scope)
    inside = replace(scope, until=binding.node)
    if isinstance(binding.node, ast.ClassDef):
        return (_class(lookup, replace(value, classes=(*scope.classes, binding.node)), inside),)
    if isinstance(binding.node, DEFS):
        return (_function(lookup, value, binding.node, inside),)
    return _assigned(lookup, binding, replace(value, scope=inside), inside)


def _imported(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    if binding.module == scope.tree.name and not scope.classes:
        values = lookup.visible(scope.tree, binding.imported, binding.node)
    else:
        values = lookup.module_attribute(binding.module, binding.imported)
    where = f"{scope.tree.name}:{scope.qualify(binding.name)}"
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
    return replace(value, state="present", is_sure=True, reason="")


def _class(lookup: Lookup, value: Value, scope: Scope) -> Value:
    for decorator in value.classes[-1].decorator_list:
        if decorators.effect_of(lookup, decorator, scope).outcome == UNKNOWN:
            return _decorated(value, ast.unparse(decorator))
    return replace(value, kind=Kind.CLASS)


def _function(lookup: Lookup, value: Value, node: Def, scope: Scope) -> Value:
    kind, unknown = decorators.function_kind(lookup, node, scope)
    if kind is None:
        return _decorated(value, unknown)
    called = signature_of(node.args)
    if scope.classes:
        called = called.mangled(scope.classes[-1].name)
        kind = _IMPLICIT_KINDS.get(node.name, kind) if kind is Kind.METHOD else kind
    return replace(value, kind=kind, signature=called)


def _decorated(value: Value, decorator: str) -> Value:
    reason = f"nothing is known about the decorator @{decorator}"
    return replace(value, kind=Kind.DECORATED).unsure(reason)


def _assigned(lookup: Lookup, binding: Binding, value: Value, scope: Scope) -> Values:
    is_shaped = any(isinstance(part, ast.FunctionDef) for part in binding.modifiers)
    if binding.value is None or is_shaped:
        return (replace(value, is_sure=False),)
    assigned = lookup.evaluate(binding.value, scope)
    if isinstance(binding.value, ast.Attribute):
        assigned = tuple(_read_from(one) if one.kind in METHODS else one for one in assigned)
    return tuple(_as_assigned(value, one) for one in assigned)


def _as_assigned(value: Value, assigned: Value) -> Value:
    if isinstance(value.expression, ast.Subscript):
        return replace(value, is_sure=False, reason=assigned.reason)
    if assigned.kind is Kind.OUTSIDE:
        return replace(_as_imported(assigned), tree=value.tree, nodes=value.nodes)
    if assigned.state != "present":
        return replace(value, is_sure=False, reason=assigned.reason)
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


def _read_from(method: Value) -> Value:
    reason = f"{method.qualname} is read from what has it, and may be called without self"
    return replace(method, kind=Kind.FUNCTION).unsure(reason)
