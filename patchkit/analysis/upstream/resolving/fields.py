"""Classes whose annotations mean something: dataclasses, pydantic, msgspec, tuples, enums."""

import ast
from dataclasses import replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving import literals
from patchkit.analysis.upstream.resolving.classes import (
    SPREAD,
    body_bindings,
    class_effects,
    mro,
    source_name,
)
from patchkit.analysis.upstream.resolving.outside import as_typing, is_class
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.upstream.resolving.values import (
    AS_METHOD,
    Kind,
    Lookup,
    Scope,
    Value,
    undecided,
)

DATACLASSES = frozenset({"dataclass", "pydantic", "unknown"})
_BASES = {
    "pydantic.BaseModel": "basemodel",
    "pydantic.main.BaseModel": "basemodel",
    "msgspec.Struct": "struct",
    "typing.NamedTuple": "namedtuple",
    "typing.TypedDict": "typeddict",
    "ctypes.Structure": "ctypes",
    "ctypes.Union": "ctypes",
    **{f"enum.{name}": "enum" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")},
}
_FIELDS = {"dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "msgspec.field"}
_TRUE = ast.Constant(value=True)
HOOKS = ("__new__", "__init__", "__post_init__")
VALUES = (Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT)
"""What a class may seem to hold and does not."""


class Field(NamedTuple):
    """One field of a class."""

    name: str
    node: ast.AnnAssign
    default: bool = True  # whether it may be left out
    in_init: bool = True
    keyword: bool | None = None  # whether only by keyword; None where the class says
    on_class: bool | None = True  # whether its default stands on the class; None: not told


def flavour(lookup: Lookup, value: Value) -> str:
    """Say how a class reads its annotations; '' where they mean nothing."""
    if own := class_effects(lookup, value).flavour:
        return own
    bases = (_BASES.get(as_typing(entry.dotted), "") for entry in mro(lookup, value))
    return next(filter(None, bases), "")


def last_annotation(node: ast.ClassDef, name: str) -> ast.AnnAssign | None:
    """Find the last annotation of a name in the body of a class."""
    found = (one for one in reversed(node.body) if isinstance(one, ast.AnnAssign))
    return next((one for one in found if dotted(one.target) == name), None)


def field_or_slot(lookup: Lookup, entry: Value, name: str, *, bound: bool) -> Value | None:
    """Tell what a class's own annotation, or slot, makes of a name; None where that is nothing."""
    if not bound and (slot := _slot(lookup, entry, name)):
        return slot
    node = last_annotation(entry.classes[-1], name)
    kind = flavour(lookup, entry)
    if kind == "ctypes" and not bound:
        return undecided(f"the _fields_ of {entry.qualname} may name {name}")
    if node is None or is_class_var(node) or kind in ("", "enum", "ctypes"):
        return None
    if kind == "namedtuple" and not is_direct(lookup, entry):
        return None
    stands = None if kind == "attrs" else read_field(lookup, entry, node, kind).on_class
    field = entry.own_attribute(name, Kind.FIELD, node, expression=node.value)
    if stands is None:
        return field.unsure("its default may stand on the class or not")
    if stands:
        return field
    return replace(field, on_class=False, reason="a field, which leaves no attribute on the class")


def as_class_member(lookup: Lookup, entry: Value, name: str, value: Value) -> Value:
    """Correct what a class body binds for what the class makes of it."""
    if value.kind in AS_METHOD:
        return replace(value, kind=AS_METHOD[value.kind])
    if value.kind not in (Kind.ASSIGNMENT, Kind.OUTSIDE, Kind.CONSTANT):
        return value
    kind = flavour(lookup, entry)
    if kind == "attrs" and isinstance(value.expression, ast.Call):
        return replace(value, kind=Kind.FIELD).unsure("attrs may take it off the class")
    if kind == "basemodel" and name.startswith("_") and not name.startswith("__"):
        return replace(value, kind=Kind.FIELD, reason="a private attribute")
    if kind != "enum" or name.startswith("_"):
        return value
    if body_bindings(lookup, Scope(entry.module_tree, entry.classes), "_ignore_")[0].binding:
        return undecided(f"{entry.qualname}._ignore_ may name {name}")
    return entry.own_attribute(
        name,
        Kind.CONSTANT,
        *value.nodes,
        expression=value.expression,
        instance_of=entry,
        scope=value.scope,
        conditions=value.conditions,
    )


def may_be_field(lookup: Lookup, entry: Value, name: str) -> bool:
    """Whether a base that is not known may make a field of what is annotated and has a default."""
    node = last_annotation(entry.classes[-1], name)
    if node is None or is_class_var(node) or flavour(lookup, entry):
        return False
    bases = (one for one in mro(lookup, entry) if not one.classes)
    return any(one.kind is not Kind.CLASS and not is_known(one) for one in bases)


def read_field(lookup: Lookup, entry: Value, node: ast.AnnAssign, kind: str) -> Field:
    """Read one field of a class."""
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    stands = kind in ("struct", "namedtuple") or _has_slots(lookup, entry)
    if node.value is None:
        return Field(name, node, default=False, on_class=stands)
    field = Field(name, node)
    if isinstance(node.value, ast.Call):
        field = _called_field(lookup, entry, field, node.value, kind)
    if kind == "basemodel":  # pydantic answers for private names, and warns of deprecated ones
        is_deprecated = "deprecated" in {one.arg for one in getattr(node.value, "keywords", ())}
        return field._replace(on_class=name.startswith("_") or is_deprecated)
    if kind == "typeddict":
        return field._replace(on_class=False)
    return field if stands is False or field.on_class else field._replace(on_class=stands)


def _has_slots(lookup: Lookup, entry: Value) -> bool | None:
    options = class_effects(lookup, entry).options
    return (
        None if SPREAD in options and "slots" not in options else option_value(options.get("slots"))
    )


def _called_field(lookup: Lookup, entry: Value, field: Field, call: ast.Call, kind: str) -> Field:
    scope = Scope(entry.module_tree, entry.classes, field.node)
    makers = lookup.evaluate(call.func, scope)
    maker = makers[0].dotted if len(makers) == 1 else ""
    if maker not in _FIELDS:
        is_told = all(one.is_sure for one in lookup.evaluate(call, scope))
        # What a function returns may be a `field(…)`.
        return field if is_told else field._replace(on_class=None)
    given = {one.arg: one.value for one in call.keywords}
    first = call.args[0] if call.args else given.get("default")
    is_pydantic = maker.startswith("pydantic.")
    if is_pydantic and isinstance(first, ast.Constant) and first.value is Ellipsis:
        first = None
    has_factory = "default_factory" in given
    stands: bool | None = first is not None
    if has_factory:
        stands = is_pydantic and kind in DATACLASSES
    elif first is None and is_pydantic:
        stands = None
    return field._replace(
        default=first is not None or has_factory,
        in_init=option_value(given.get("init", _TRUE)) is not False,
        keyword=option_value(given["kw_only"]) if "kw_only" in given else None,
        on_class=None if None in given or kind == "unknown" else stands,
    )


def _slot(lookup: Lookup, entry: Value, name: str) -> Value | None:
    """A name in `__slots__` is an attribute of the class, through which instances hold it."""
    scope = Scope(entry.module_tree, entry.classes)
    cases = body_bindings(lookup, scope, "__slots__")
    values = [value for case in cases for value in lookup.bound_values(case, scope)]
    is_inside = literals.contains(values, source_name(entry, name)) if values else False
    if is_inside is False:
        return None
    if is_inside is None or any(case.binding is None for case in cases):
        return undecided(f"the __slots__ of {entry.qualname} may name {name}")
    return entry.own_attribute(name, Kind.FIELD, values[0].nodes[0], reason="a slot")


def instance_storage(lookup: Lookup, entry: Value, name: str, value: Value) -> str:
    """Say where that is kept which a class seems to hold; '' where it lies on the class."""
    kind = flavour(lookup, entry)
    if name in HOOKS:
        return "a hook that msgspec looks for only once" if kind == "struct" else ""
    if kind == "attrs" and value.kind is Kind.FIELD:
        return "a field of an attrs class"
    if value.kind not in VALUES or not value.is_sure:
        return ""
    if kind == "enum" and value.instance_of is not None:
        return "a member of an enum"
    if value.kind is not Kind.FIELD:
        return ""
    if not value.on_class:
        return "a field that leaves nothing on the class"
    has_slots = option_value(class_effects(lookup, entry).options.get("slots"))
    is_slot = kind in ("struct", "namedtuple") or value.reason == "a slot" or has_slots
    return "a field that instances keep in a slot" if is_slot else ""


def is_direct(lookup: Lookup, entry: Value) -> bool:
    """Whether a named tuple derives from `NamedTuple` itself, which writes its methods."""
    order = mro(lookup, entry)
    return len(order) > 1 and order[1].dotted.endswith("NamedTuple")


def is_known(entry: Value) -> bool:
    """Whether it is known how a class outside the release takes annotations."""
    name = as_typing(entry.dotted)
    return name in _BASES or is_class(name) or name in ("typing.Generic", "typing.Protocol")


def is_class_var(node: ast.AnnAssign) -> bool:
    """Whether an annotation says that there is no field."""
    text = ast.unparse(node.annotation)
    return text.strip("'\"").split("[")[0].split(".")[-1] == "ClassVar"


def option_value(node: ast.expr | None) -> bool | None:
    """Read an option; one that is not given is off, None where it is not spelled out."""
    if node is None:
        return False
    return bool(node.value) if isinstance(node, ast.Constant) else None
