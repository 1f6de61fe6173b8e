"""
Classes whose annotations mean something: dataclasses, pydantic, msgspec, named tuples, enums.

A field is there as a field; whether it also leaves an attribute on the class depends on what made
the class, and on its default.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving import classes, literals
from patchkit.upstream.resolving.outside import is_class
from patchkit.upstream.resolving.values import AS_METHOD, Kind, Scope, Value, undecidable

if TYPE_CHECKING:
    from patchkit.upstream.resolving.lookup import Lookup

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
_FIELDS = frozenset(
    {"dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "msgspec.field"}
)
_TRUE = ast.Constant(value=True)


class Field(NamedTuple):
    """
    One field of a class.

    Args:
        name: of the field.
        node: its annotation.
        default: whether it may be left out.
        in_init: whether the constructor takes it.
        keyword: whether only by keyword; None where the class says.
        attribute: whether its default stands on the class; None where that cannot be told.

    """

    name: str
    node: ast.AnnAssign
    default: bool = True
    in_init: bool = True
    keyword: bool | None = None
    attribute: bool | None = True


def flavour(lookup: Lookup, value: Value) -> str:
    """Say how a class reads its annotations; '' where they mean nothing."""
    own = classes.made(lookup, value).flavour
    if own:
        return own
    for entry in classes.mro(lookup, value):
        found = _BASES.get(entry.dotted.replace("typing_extensions.", "typing."))
        if found:
            return found
    return ""


def annotation(node: ast.ClassDef, name: str) -> ast.AnnAssign | None:
    """Find the last annotation of a name in the body of a class."""
    found = [
        one
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        if one.target.id == name
    ]
    return found[-1] if found else None


def of_name(lookup: Lookup, entry: Value, name: str, *, bound: bool) -> Value | None:
    """
    Tell what a class's own annotation of a name makes of it; None where it makes nothing.

    Args:
        lookup: for what the default is.
        entry: the class.
        name: of the field.
        bound: whether its body binds the name.

    """
    if not bound and (slot := _slot(lookup, entry, name)):
        return slot
    node = annotation(entry.classes[-1], name)
    kind = flavour(lookup, entry)
    if kind == "ctypes" and not bound:
        return undecidable(f"the _fields_ of {entry.qualname} may name {name}")
    if node is None or is_class_var(node):
        return None
    if kind in ("", "enum", "ctypes") or (kind == "namedtuple" and not is_direct(lookup, entry)):
        return None
    field = read(lookup, entry, node, kind)
    if kind == "attrs":
        field = field._replace(attribute=None)
    value = Value(
        "present",
        Kind.FIELD,
        entry.module,
        f"{entry.qualname}.{name}",
        entry.tree,
        (node,),
        expression=node.value,
        attribute=bool(field.attribute),
    )
    if field.attribute is None:
        return replace(value, attribute=True).unsure("its default may stand on the class or not")
    if field.attribute:
        return value
    return replace(value, reason="a field, which leaves no attribute on the class")


def as_member(lookup: Lookup, entry: Value, name: str, value: Value) -> Value:
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
    if kind == "enum" and not name.startswith("_"):
        assert entry.tree is not None
        if classes.own_binding(lookup, entry.tree, entry.classes, "_ignore_")[0].binding:
            return undecidable(f"{entry.qualname}._ignore_ may name {name}")
        return Value(
            "present",
            Kind.CONSTANT,
            entry.module,
            f"{entry.qualname}.{name}",
            entry.tree,
            value.nodes,
            expression=value.expression,
            instance_of=entry,
            scope=value.scope,
            conditions=value.conditions,
        )
    return value


def may_be_field(lookup: Lookup, entry: Value, name: str) -> bool:
    """Whether a base that is not known may make a field of what is annotated and has a default."""
    node = annotation(entry.classes[-1], name)
    if node is None or is_class_var(node) or flavour(lookup, entry):
        return False
    bases = (one for one in classes.mro(lookup, entry) if not one.classes)
    return any(one.kind is not Kind.CLASS and not is_known(one) for one in bases)


def read(lookup: Lookup, entry: Value, node: ast.AnnAssign, kind: str) -> Field:
    """Read one field of a class."""
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    stands = kind in ("struct", "namedtuple") or _has_slots(lookup, entry)
    if node.value is None:
        return Field(name, node, default=False, attribute=stands)
    field = _called_field(lookup, entry, node, kind) or Field(name, node)
    if kind == "basemodel":  # pydantic answers for private names, and warns of deprecated ones
        return field._replace(attribute=name.startswith("_") or _is_deprecated(node.value))
    if kind == "typeddict":
        return field._replace(attribute=False)
    return field if stands is False or field.attribute else field._replace(attribute=stands)


def _is_deprecated(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and any(one.arg == "deprecated" for one in value.keywords)


def _has_slots(lookup: Lookup, entry: Value) -> bool | None:
    options = classes.made(lookup, entry).options
    if "slots" not in options and classes.SPREAD in options:
        return None
    return truth(options.get("slots"))


def _called_field(lookup: Lookup, entry: Value, node: ast.AnnAssign, kind: str) -> Field | None:
    """Read `field(…)` and `Field(…)`; None for any other default."""
    assert isinstance(node.target, ast.Name)
    assert entry.tree is not None
    if not isinstance(node.value, ast.Call):
        return None
    scope = Scope(entry.tree, entry.classes, node)
    makers = lookup.evaluate(node.value.func, scope)
    maker = makers[0].dotted if len(makers) == 1 else ""
    if maker not in _FIELDS:
        is_told = all(one.sure for one in lookup.evaluate(node.value, scope))
        # What a function returns may be a `field(…)`.
        return None if is_told else Field(node.target.id, node, attribute=None)
    given = {one.arg: one.value for one in node.value.keywords}
    first = node.value.args[0] if node.value.args else given.get("default")
    is_pydantic = maker.startswith("pydantic.")
    if is_pydantic and isinstance(first, ast.Constant) and first.value is Ellipsis:
        first = None
    has_factory = "default_factory" in given
    stands: bool | None = first is not None
    if has_factory:
        stands = is_pydantic and kind in DATACLASSES
    elif first is None and is_pydantic:
        stands = None
    return Field(
        node.target.id,
        node,
        default=first is not None or has_factory,
        in_init=truth(given.get("init", _TRUE)) is not False,
        keyword=truth(given["kw_only"]) if "kw_only" in given else None,
        attribute=None if None in given or kind == "unknown" else stands,
    )


def _slot(lookup: Lookup, entry: Value, name: str) -> Value | None:
    """A name in `__slots__` is an attribute of the class, through which instances hold it."""
    assert entry.tree is not None
    cases = classes.own_binding(lookup, entry.tree, entry.classes, "__slots__")
    bindings = [one.binding for one in cases if one.binding]
    written = classes.written(entry, name)
    inside = {literals.membership(lookup, one, entry.tree, written) for one in bindings}
    where = f"{entry.qualname}.{name}"
    if inside <= {False}:
        return None
    if inside != {True} or len(bindings) < len(cases):
        return undecidable(f"the __slots__ of {entry.qualname} may name {name}")
    node = bindings[0].node
    return Value("present", Kind.FIELD, entry.module, where, entry.tree, (node,), "a slot")


def is_direct(lookup: Lookup, entry: Value) -> bool:
    """Whether a named tuple derives from `NamedTuple` itself, which writes its methods."""
    order = classes.mro(lookup, entry)
    return len(order) > 1 and order[1].dotted.endswith("NamedTuple")


def is_known(entry: Value) -> bool:
    """Whether it is known how a class outside the release takes annotations."""
    name = entry.dotted.replace("typing_extensions.", "typing.")
    return name in _BASES or is_class(name) or name in ("typing.Generic", "typing.Protocol")


def is_class_var(node: ast.AnnAssign) -> bool:
    """Whether an annotation says that there is no field."""
    text = ast.unparse(node.annotation)
    return text.strip("'\"").split("[")[0].split(".")[-1] == "ClassVar"


def truth(node: ast.expr | None) -> bool | None:
    """Read an option; one that is not given is off, None where it is not spelled out."""
    if node is None:
        return False
    return bool(node.value) if isinstance(node, ast.Constant) else None
