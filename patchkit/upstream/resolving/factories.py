"""What a call at import time makes: an instance, a descriptor, a class from a factory."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.ancestry import metaclass, mro
from patchkit.upstream.resolving.outside import has_member, is_class
from patchkit.upstream.resolving.values import FUNCTIONS, METHODS, Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.scope import Scope
    from patchkit.upstream.resolving.values import Values

_DESCRIPTORS = {
    "builtins.property": Kind.PROPERTY,
    "builtins.staticmethod": Kind.STATICMETHOD,
    "builtins.classmethod": Kind.CLASSMETHOD,
    "functools.cached_property": Kind.CACHED_PROPERTY,
    "functools.lru_cache": Kind.CACHED_FUNCTION,
    "functools.cache": Kind.CACHED_FUNCTION,
}
_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
_ENUMS = frozenset(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_CLASSES = (
    _TUPLES | _ENUMS | {"typing.TypedDict", "dataclasses.make_dataclass", "pydantic.create_model"}
)
_OF_CLASSES = frozenset(dir(type))
_NOT_PLAIN = frozenset({"types.ModuleType", "builtins.type", "abc.ABCMeta", "builtins.property"})
_PLAIN = frozenset(
    {
        "functools.partial",
        "re.compile",
        "regex.compile",
        "fastapi.APIRouter",
        "os.getenv",
        "logging.getLogger",
        "os.environ.get",
        "typing.TypeVar",
        "typing.NewType",
        "typing.ParamSpec",
    }
)


def of_call(lookup: Lookup, node: ast.Call, scope: Scope) -> Values:
    """Tell what a call makes."""
    return tuple(
        _called(lookup, value, node, scope).under(value.conditions)
        for value in lookup.evaluate(node.func, scope)
    )


def member(value: Value, name: str) -> Value:
    """Tell what an attribute of a class from a factory is."""
    place = f"{value.module}:{value.qualname}"
    names = _names(value)
    if names and name in names:
        kind = Kind.FIELD if value.dotted in _TUPLES else Kind.CONSTANT
        where = f"{value.qualname}.{name}"
        return Value("present", kind, value.module, where, value.tree, value.nodes)
    known = has_member(_base(value.dotted), name)
    if names is None or known is not False or name in _OF_CLASSES:
        return undecidable(f"{place} is made by {value.dotted}(…)")
    return absent(f"{place}, made by {value.dotted}(…), has no {name!r}")


def _called(lookup: Lookup, value: Value, node: ast.Call, scope: Scope) -> Value:
    made = Value("present", Kind.ASSIGNMENT, expression=node, sure=False)
    if value.kind is Kind.OUTSIDE:
        return _outside(lookup, value, node, scope, made)
    if value.classes and value.sure and _makes_instances(lookup, value):
        return replace(made, kind=Kind.CONSTANT, instance_of=value, sure=True)
    return made


def _makes_instances(lookup: Lookup, value: Value) -> bool:
    """Whether calling a class surely makes an instance of it."""
    for one in mro(lookup, value):
        if not one.classes and (one.kind is not Kind.OUTSIDE or one.dotted in _NOT_PLAIN):
            return False
    return metaclass(lookup, value) is None and all(
        one.kind is Kind.OUTSIDE for one in lookup.member(value, "__new__")
    )


def _outside(lookup: Lookup, value: Value, node: ast.Call, scope: Scope, made: Value) -> Value:
    name = value.dotted.replace("typing_extensions.", "typing.")
    if name in _DESCRIPTORS and (node.args or node.keywords):
        return _described(lookup, _DESCRIPTORS[name], node, scope, made)
    if name in _CLASSES or (name == "builtins.type" and len(node.args) == 3):
        return replace(made, kind=Kind.CLASS, dotted=name, sure=True)
    if name in _PLAIN or (is_class(name) and name != "builtins.type"):
        return replace(made, kind=Kind.CONSTANT, instance_of=value, sure=True)
    return made


def _described(lookup: Lookup, kind: Kind, node: ast.Call, scope: Scope, made: Value) -> Value:
    given = [*node.args[:1], *(one.value for one in node.keywords if one.arg in ("fget", "func"))]
    inner = lookup.evaluate(given[0], scope) if given else ()
    if len(inner) == 1 and inner[0].kind in FUNCTIONS | METHODS:
        return replace(made, kind=kind, signature=inner[0].signature, sure=True)
    if kind is Kind.CACHED_FUNCTION:
        return made
    return replace(made, kind=kind)


def _names(value: Value) -> list[str] | None:
    """List what a factory was given to make; None where it is not spelled out."""
    call = value.expression
    if not isinstance(call, ast.Call) or value.dotted not in _TUPLES | _ENUMS:
        return None
    named = {one.arg: one.value for one in call.keywords}
    spelled = [*call.args[1:2], *filter(None, map(named.get, ("field_names", "names", "fields")))]
    if not spelled or None in named or "rename" in named:
        return None
    return _spelled(spelled[0])


def _spelled(node: ast.expr) -> list[str] | None:
    """Read `"a, b"`, `["a", "b"]`, `[("a", int)]`, `{"a": 1}`; None where more is in it."""
    try:
        given = ast.literal_eval(node)
    except (ValueError, SyntaxError):
        pairs = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
        firsts = [one.elts[0] for one in pairs if isinstance(one, ast.Tuple) and one.elts]
        names = [one.value for one in firsts if isinstance(one, ast.Constant)]
        return [str(one) for one in names] if len(names) == len(pairs) else None
    if isinstance(given, str):
        return given.replace(",", " ").split()
    return [one if isinstance(one, str) else str(one[0]) for one in given]


def _base(dotted: str) -> str:
    return "typing.NamedTuple" if dotted in _TUPLES else dotted
