"""What expressions and bindings come to, calls included, and what attributes of values are."""

import ast
from dataclasses import replace

from patchkit.analysis.upstream.resolving import decorators, inheritance
from patchkit.analysis.upstream.resolving.bindings import Binding, BindingCase
from patchkit.analysis.upstream.resolving.classes import body_bindings, metaclass, mro
from patchkit.analysis.upstream.resolving.decorator_source import UNKNOWN
from patchkit.analysis.upstream.resolving.decorators import DESCRIPTORS
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
"""Expressions that come to a plain object, which has no signature."""
_MAKES_CLASSES = frozenset(
    {
        "collections.namedtuple",
        "dataclasses.make_dataclass",
        "enum.Enum",
        "enum.Flag",
        "enum.IntEnum",
        "enum.IntFlag",
        "enum.StrEnum",
        "pydantic.create_model",
        "typing.NamedTuple",
        "typing.TypedDict",
    }
)
"""What returns a class if it is called."""
_MAKES_OBJECTS = frozenset(
    {
        "fastapi.APIRouter",
        "functools.partial",
        "logging.getLogger",
        "os.environ.get",
        "os.getenv",
        "re.compile",
        "regex.compile",
        "typing.NewType",
        "typing.ParamSpec",
        "typing.TypeVar",
    }
)
"""What returns an object if it is called; classes do so too."""
_NOT_PLAIN = frozenset(
    {"types.ModuleType", "builtins.type", "abc.ABCMeta", "builtins.property"}
)
"""Classes outside the release whose instances are more than plain objects."""


def evaluate(lookup: Lookup, node: ast.expr, scope: Scope) -> Values:
    """Return what an expression comes to.

    Args:
        lookup: The release.
        node: The expression.
        scope: Its scope.

    Returns:
        One value for each object that it may come to.
    """
    if isinstance(node, ast.Name):
        return _name(lookup, node.id, scope)
    if isinstance(node, ast.Attribute):
        return _attribute(lookup, node, scope)
    if isinstance(node, ast.Lambda):
        signature = signature_of(node.args)
        return (Value("present", Kind.FUNCTION, signature=signature, expression=node),)
    if isinstance(node, ast.Call):
        makers = evaluate(lookup, node.func, scope)
        return tuple(
            _called(lookup, maker, node, scope).under(maker.conditions)
            for maker in makers
        )
    if isinstance(node, ast.IfExp):
        return _conditional(lookup, node, scope)
    if isinstance(node, ast.NamedExpr):
        return evaluate(lookup, node.value, scope)
    if isinstance(node, ast.Subscript):  # `Generic[T]` and `list[int]` are their base
        bases = evaluate(lookup, node.value, scope)
        if all(base.classes or base.kind is Kind.OUTSIDE for base in bases):
            return bases
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
    if value.is_none:
        return (replace(absent(f"{value.qualname} is None there"), is_none=True),)
    if value.kind is Kind.OUTSIDE:
        reason = f"{value.dotted} is outside the release"
        return (undecided(reason, Kind.OUTSIDE, f"{value.dotted}.{name}"),)
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
    description = f"the {value.kind} {value.qualname}".rstrip()
    return (undecided(f"the attributes of {description} are not told"),)


def _name(lookup: Lookup, name: str, scope: Scope) -> Values:
    """Look into the innermost class, then into the module: classes between are not seen."""
    if scope.classes:
        values: list[Value] = []
        for case in body_bindings(lookup, scope, name):
            values += lookup.bound_values(case, scope)
        if values:
            return tuple(values)
    return lookup.visible(scope.tree, name, scope.until)


def _attribute(lookup: Lookup, node: ast.Attribute, scope: Scope) -> Values:
    attributes: list[Value] = []
    for value in evaluate(lookup, node.value, scope):
        members = member(lookup, value, node.attr)
        attributes += [attribute.under(value.conditions) for attribute in members]
    return tuple(attributes)


def _conditional(lookup: Lookup, node: ast.IfExp, scope: Scope) -> Values:
    truth = lookup.decide(node.test, scope.tree)
    if truth is True:
        return evaluate(lookup, node.body, scope)
    if truth is False:
        return evaluate(lookup, node.orelse, scope)
    return (*evaluate(lookup, node.body, scope), *evaluate(lookup, node.orelse, scope))


def _called(lookup: Lookup, maker: Value, call: ast.Call, scope: Scope) -> Value:
    """Return what a call returns.

    Args:
        lookup: The release.
        maker: What is called.
        call: The call.
        scope: Its scope.
    """
    result = Value("present", Kind.ASSIGNMENT, expression=call, is_sure=False)
    name = as_typing(maker.dotted)
    descriptor = DESCRIPTORS.get(name)
    has_arguments = call.args or call.keywords
    # What `lru_cache(8)` returns is a decorator.
    if descriptor not in (None, Kind.CACHED_FUNCTION) and has_arguments:
        signature = None
        if call.args:
            functions = lookup.evaluate(call.args[0], scope)
            if len(functions) == 1:
                signature = functions[0].signature
        return replace(result, kind=descriptor, signature=signature, is_sure=True)
    if name in _MAKES_CLASSES or (name == "builtins.type" and len(call.args) == 3):
        return replace(result, kind=Kind.CLASS, dotted=name, is_sure=True)
    if _makes_instances(lookup, maker, name):
        return replace(result, kind=Kind.CONSTANT, instance_of=maker, is_sure=True)
    return result


def _makes_instances(lookup: Lookup, maker: Value, name: str) -> bool:
    """Whether a call returns an instance of what is called, or another plain object.

    Args:
        lookup: The release.
        maker: What is called.
        name: Its dotted name, if it is outside the release.
    """
    if maker.kind is Kind.OUTSIDE:
        return name in _MAKES_OBJECTS or (is_class(name) and name != "builtins.type")
    if not maker.classes or not maker.is_sure or metaclass(lookup, maker) is not None:
        return False
    bases = [ancestor for ancestor in mro(lookup, maker) if not ancestor.classes]
    constructors = lookup.member(maker, "__new__")
    if any(value.kind is not Kind.OUTSIDE for value in (*bases, *constructors)):
        return False
    return not any(base.dotted in _NOT_PLAIN for base in bases)


_IMPLICIT_KINDS = {
    "__new__": Kind.STATICMETHOD,
    "__init_subclass__": Kind.CLASSMETHOD,
    "__class_getitem__": Kind.CLASSMETHOD,
}


def bound_values(lookup: Lookup, case: BindingCase, scope: Scope) -> Values:
    """Return what a name is in one case.

    Args:
        lookup: The release.
        case: The case.
        scope: The scope that the binding stands in.

    Returns:
        One value for each object that it may be, under the conditions of the case; () if the name
        is not bound.
    """
    if case.binding is None:
        return ()
    values = _values_of_binding(lookup, case.binding, scope)
    return tuple(value.under(case.conditions) for value in values)


def _values_of_binding(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    if binding.is_uncertain:
        source = f"line {binding.node.lineno}"
        if binding.module:
            source = f"`from {binding.module} import *`"
        return (undecided(f"{source} may bring it, which cannot be told"),)
    if binding.imported:
        return _imported(lookup, binding, scope)
    if binding.module:
        return (_as_imported(lookup.module(binding.module)),)
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
    inside = replace(scope, until=binding.node)
    if isinstance(binding.node, ast.ClassDef):
        classes = (*scope.classes, binding.node)
        return (_class(lookup, replace(value, classes=classes), inside),)
    if isinstance(binding.node, DEFS):
        return (_function(lookup, value, binding.node, inside),)
    return _assigned(lookup, binding, replace(value, scope=inside), inside)


def _imported(lookup: Lookup, binding: Binding, scope: Scope) -> Values:
    """Return what `from module import name` binds."""
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
    kind, unknown_decorator = decorators.function_kind(lookup, node, scope)
    if kind is None:
        return _decorated(value, unknown_decorator)
    signature = signature_of(node.args)
    if scope.classes:
        signature = signature.mangled(scope.classes[-1].name)
        if kind is Kind.METHOD:
            kind = _IMPLICIT_KINDS.get(node.name, kind)
    return replace(value, kind=kind, signature=signature)


def _decorated(value: Value, decorator: str) -> Value:
    reason = f"nothing is known about the decorator @{decorator}"
    return replace(value, kind=Kind.DECORATED).unsure(reason)


def _assigned(lookup: Lookup, binding: Binding, value: Value, scope: Scope) -> Values:
    """Return what an assignment binds.

    Args:
        lookup: The release.
        binding: The assignment.
        value: A description of the name that is assigned to.
        scope: The scope, up to the assignment.
    """
    has_setter = any(
        isinstance(modifier, ast.FunctionDef) for modifier in binding.modifiers
    )
    if binding.value is None or has_setter:
        return (replace(value, is_sure=False),)
    assigned = lookup.evaluate(binding.value, scope)
    if isinstance(binding.value, ast.Attribute):
        assigned = tuple(map(_read_from_owner, assigned))
    return tuple(_as_assigned(value, result) for result in assigned)


def _as_assigned(value: Value, assigned: Value) -> Value:
    """Return what a name is that an expression was assigned to.

    Args:
        value: A description of the name.
        assigned: What the expression comes to.
    """
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


def _read_from_owner(value: Value) -> Value:
    """Return what a method is that is read from a class or an instance; others are the same."""
    if value.kind not in METHODS:
        return value
    reason = (
        f"{value.qualname} is read from what has it, and may be called without self"
    )
    return replace(value, kind=Kind.FUNCTION).unsure(reason)
