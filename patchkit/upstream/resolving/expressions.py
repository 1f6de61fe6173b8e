"""From an expression to what it comes to, a call included, and from a thing to its attributes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import inheritance, signature
from patchkit.upstream.resolving.classes import metaclass, mro, own_binding
from patchkit.upstream.resolving.decorators import DESCRIPTORS
from patchkit.upstream.resolving.outside import as_typing, is_class
from patchkit.upstream.resolving.values import Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.values import Scope, Values

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
_OBJECTS = frozenset(
    {
        *("functools.partial", "re.compile", "regex.compile", "logging.getLogger"),
        *("os.getenv", "os.environ.get", "fastapi.APIRouter"),
        *("typing.TypeVar", "typing.NewType", "typing.ParamSpec"),
    }
)
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
        called = signature.of_arguments(node.args)
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
    what = f"the {value.kind} {value.qualname}".rstrip()
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


# --- calls


def _made(lookup: Lookup, maker: Value, call: ast.Call, scope: Scope) -> Value:
    """Tell what a call makes: an instance, a descriptor, a class."""
    made = Value("present", Kind.ASSIGNMENT, expression=call, sure=False)
    name = as_typing(maker.dotted)
    kind = DESCRIPTORS.get(name)
    # What `lru_cache(8)` makes is a decorator.
    if kind not in (None, Kind.CACHED_FUNCTION) and (call.args or call.keywords):
        inner = lookup.evaluate(call.args[0], scope) if call.args else ()
        called = inner[0].signature if len(inner) == 1 else None
        return replace(made, kind=kind, signature=called, sure=True)
    if name in _CLASSES or (name == "builtins.type" and len(call.args) == 3):
        return replace(made, kind=Kind.CLASS, dotted=name, sure=True)
    if _makes_instances(lookup, maker, name):
        return replace(made, kind=Kind.CONSTANT, instance_of=maker, sure=True)
    return made


def _makes_instances(lookup: Lookup, maker: Value, name: str) -> bool:
    """Whether calling something surely makes an instance of it."""
    if maker.kind is Kind.OUTSIDE:
        return name in _OBJECTS or (is_class(name) and name != "builtins.type")
    if not maker.classes or not maker.sure or metaclass(lookup, maker) is not None:
        return False
    bases = [one for one in mro(lookup, maker) if not one.classes]
    makers = lookup.member(maker, "__new__")
    return all(one.kind is Kind.OUTSIDE for one in (*bases, *makers)) and not any(
        one.dotted in _NOT_PLAIN for one in bases
    )
