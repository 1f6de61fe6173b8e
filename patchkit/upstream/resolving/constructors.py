"""How classes are called, and the methods that machinery such as dataclasses writes for them."""

import ast
from collections.abc import Sequence
from inspect import Parameter

from patchkit.upstream.resolving import fields
from patchkit.upstream.resolving.classes import SPREAD, made, metaclass, mro
from patchkit.upstream.resolving.fields import DATACLASSES, Field, flavour, truth
from patchkit.upstream.resolving.syntax import SCOPES, Signature, dotted, parameter
from patchkit.upstream.resolving.values import Kind, Lookup, Value, undecided

_OPTIONS = {
    "__init__": "init",
    "__repr__": "repr",
    "__eq__": "eq",
    **dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__"), "order"),
    **dict.fromkeys(("__setattr__", "__delattr__"), "frozen"),
}
"""What a dataclass writes, with the option that asks for it."""
_OFF = frozenset({"order", "frozen"})  # off unless somebody turns them on
_MARKERS = frozenset({"__match_args__", "__dataclass_fields__", "__dataclass_params__", "__hash__"})
_OF_ENUMS = frozenset({"__new__", "__repr__", "__str__", "__format__", "__reduce_ex__"})
_OF_TUPLES = frozenset({"__new__", "__repr__", "_make", "_replace", "_asdict", "__getnewargs__"})
_BARE = frozenset({"builtins.object", "abc.ABC", "typing.Generic"})
"""Classes outside that give a class no more than `object` does."""


def call_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Tell how something is called, a class included; None where that cannot be told."""
    if value.kind is not Kind.CLASS or not value.classes:
        return value.signature
    if not value.sure or metaclass(lookup, value) is not None:
        return None
    if flavour(lookup, value) in ("basemodel", "struct", "namedtuple", "typeddict", "enum"):
        return None
    makers, starters = lookup.member(value, "__new__"), lookup.member(value, "__init__")
    if len(makers) != 1 or len(starters) != 1:
        return None
    new, init = makers[0], starters[0]
    if new.kind is not Kind.OUTSIDE and not _takes_anything(new):
        return _bound(new) if init.dotted == "builtins.object.__init__" else None
    if init.kind is not Kind.OUTSIDE:
        return _bound(init)
    is_bare = all(one.classes or one.dotted in _BARE for one in mro(lookup, value))
    return Signature() if is_bare and new.kind is Kind.OUTSIDE else None


def generated(lookup: Lookup, entry: Value, name: str) -> Value | None:
    """Tell what is written for a class by what made it; None for any other name."""
    kind = flavour(lookup, entry)
    if (is_written := _writes(lookup, entry, kind, name)) is None:
        return undecided(f"the {kind} may write {name}, as its options say")
    if not is_written:
        return None
    called = _signature(lookup, entry) if name == "__init__" else None
    return entry.having(
        name,
        Kind.GENERATED,
        *entry.nodes,
        reason=f"written by the {kind}",
        signature=called,
        sure=name != "__init__" or called is not None,
    )


def _bound(method: Value) -> Signature | None:
    return method.signature.bound() if method.signature and method.sure else None


def _takes_anything(new: Value) -> bool:
    """Whether a `__new__` leaves it to `__init__` to say how the class is called."""
    called = _bound(new) or Signature()
    kinds = [one.kind for one in called.parameters.values()]
    return kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]


def _writes(lookup: Lookup, entry: Value, kind: str, name: str) -> bool | None:
    """Whether what makes a class writes a method for it; None where its options do not tell."""
    if kind == "struct":
        return name in ("__repr__", "__eq__")
    if kind == "enum":
        return None if name in _OF_ENUMS else False
    if kind == "namedtuple":
        return name in _OF_TUPLES and fields.is_direct(lookup, entry)
    work = made(lookup, entry)
    if work.flavour not in DATACLASSES:
        return False
    option = _OPTIONS.get(name)
    if option is None:
        return name in _MARKERS
    given = work.options.get(option)
    if work.flavour == "unknown" or (given is None and SPREAD in work.options):
        return None
    return option not in _OFF if given is None else truth(given)


def _signature(lookup: Lookup, value: Value) -> Signature | None:
    by_name: dict[str, Field] = {}
    for entry in reversed(mro(lookup, value)):
        own = _own(lookup, entry)
        if own is None:
            return None
        by_name |= {field.name: field for field in own}
    place, named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    taken = [one for one in by_name.values() if one.in_init]
    taken.sort(key=lambda one: bool(one.keyword))
    several = (parameter(one.name, named if one.keyword else place, one.default) for one in taken)
    return Signature((parameter("self", place), *several))


def _own(lookup: Lookup, entry: Value) -> list[Field] | None:
    """List the fields that a class adds to a constructor; None where that cannot be told."""
    if not entry.classes:
        return [] if fields.is_known(entry) else None
    work = made(lookup, entry)
    if work.flavour not in DATACLASSES:  # a plain class between dataclasses adds no field
        return [] if flavour(lookup, entry) in ("", *DATACLASSES) else None
    is_keyword = truth(work.options.get("kw_only"))
    nodes = _annotated(entry.classes[-1].body)
    if work.flavour == "unknown" or is_keyword is None or nodes is None or SPREAD in work.options:
        return None
    found: list[Field] = []
    for node in nodes:
        if dotted(node.annotation).split(".")[-1] == "KW_ONLY":
            is_keyword = True
        elif not fields.is_class_var(node):
            field = fields.read(lookup, entry, node, work.flavour)
            if node.value is not None and field.attribute is None:
                return None
            bases = (one for one in mro(lookup, entry)[1:] if one.classes and node.value is None)
            if any(lookup.member(one, field.name)[0].state != "absent" for one in bases):
                return None
            by_name = is_keyword if field.keyword is None else field.keyword
            found.append(field._replace(keyword=by_name))
    return found


def _annotated(body: Sequence[ast.stmt]) -> list[ast.AnnAssign] | None:
    """List the annotations in the body of a class; None where some depend on a condition."""
    own = [one for one in body if isinstance(one, ast.AnnAssign)]
    others = (one for one in body if not isinstance(one, (ast.AnnAssign, *SCOPES)))
    if any(isinstance(node, ast.AnnAssign) for one in others for node in ast.walk(one)):
        return None
    return [one for one in own if isinstance(one.target, ast.Name)]
