"""How classes are called, and the methods that machinery such as dataclasses writes for them."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from inspect import Parameter

from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.classes import SPREAD, class_effects, metaclass, mro
from patchkit.analysis.upstream.resolving.fields import DATACLASSES, Field, flavour, option_value
from patchkit.analysis.upstream.resolving.syntax import SCOPES, Signature, dotted, parameter
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, Value, undecided

_WRITTEN = frozenset(
    [
        *("__init__", "__repr__", "__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__"),
        *("__setattr__", "__delattr__", "__str__", "__format__", "__reduce_ex__", "__match_args__"),
        *("__dataclass_fields__", "__dataclass_params__", "_make", "_replace", "_asdict"),
    ]
)
"""What machinery may write for a class, as options and versions of Python have it."""
_OF_VALUES = frozenset({"enum", "namedtuple"})  # for which it writes `__new__`, too


def call_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Tell how something is called, a class included; None where that cannot be told."""
    if value.kind is not Kind.CLASS or not value.classes:
        return value.signature
    if not value.is_sure or metaclass(lookup, value) is not None:
        return None
    if flavour(lookup, value) not in ("", "attrs", "ctypes", *DATACLASSES):
        return None
    makers, starters = lookup.member(value, "__new__"), lookup.member(value, "__init__")
    if len(starters) != 1 or not all(map(_leaves_it_to_init, makers)):
        return None
    init = starters[0]
    return init.signature.bound() if init.signature and init.is_sure else None


def _leaves_it_to_init(new: Value) -> bool:
    """Whether a `__new__` takes anything, and leaves it to `__init__` to refuse."""
    kinds = [one.kind for one in (new.signature or Signature()).bound().parameters.values()]
    takes_anything = kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]
    return new.kind is Kind.OUTSIDE or (new.is_sure and takes_anything)


def generated_method(lookup: Lookup, entry: Value, name: str) -> Value | None:
    """Tell what is written for a class by what made it; None for any other name."""
    kind, work = flavour(lookup, entry), class_effects(lookup, entry)
    is_plain = work.flavour in DATACLASSES - {"unknown"} and SPREAD not in work.options
    if name == "__init__" and is_plain and "init" not in work.options:
        called = _signature(lookup, entry)
        found = entry.own_attribute(
            name, Kind.GENERATED, *entry.nodes, reason=f"written by the {kind}"
        )
        return replace(found, signature=called, is_sure=called is not None)
    may_write = name in _WRITTEN or (name == "__new__" and kind in _OF_VALUES)
    is_writer = kind not in ("", "basemodel", "struct", "typeddict", "ctypes")
    return undecided(f"the {kind} may write {name}") if may_write and is_writer else None


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
    work = class_effects(lookup, entry)
    if work.flavour not in DATACLASSES:  # a plain class between dataclasses adds no field
        return [] if flavour(lookup, entry) in ("", *DATACLASSES) else None
    is_keyword = option_value(work.options.get("kw_only"))
    nodes = _annotated(entry.classes[-1].body)
    if work.flavour == "unknown" or is_keyword is None or nodes is None or SPREAD in work.options:
        return None
    found: list[Field] = []
    for node in nodes:
        if dotted(node.annotation).split(".")[-1] == "KW_ONLY":
            is_keyword = True
        elif not fields.is_class_var(node):
            field = fields.read_field(lookup, entry, node, work.flavour)
            if node.value is not None and field.on_class is None:
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
