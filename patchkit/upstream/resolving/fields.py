"""
Classes whose annotations mean something: dataclasses, pydantic, msgspec, named tuples, enums.

A field is there as a field; whether it also leaves an attribute on the class depends on what made
the class, and on its default.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving import ancestry, class_body, literals
from patchkit.upstream.resolving.at_import import SCOPES
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.outside import is_class
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.signature import KEYWORD_ONLY, POSITIONAL, Parameter, Signature
from patchkit.upstream.resolving.values import AS_METHOD, Kind, Value, undecidable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree

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
_GENERATED = {
    "init": frozenset({"__init__"}),
    "repr": frozenset({"__repr__"}),
    "eq": frozenset({"__eq__"}),
    "order": frozenset({"__lt__", "__le__", "__gt__", "__ge__"}),
    "frozen": frozenset({"__setattr__", "__delattr__"}),
}
"""What a dataclass writes, by the option that asks for it."""
_OFF = frozenset({"order", "frozen"})
"""Options that are off unless somebody turns them on."""
_OF_ENUMS = frozenset({"__new__", "__repr__", "__str__", "__format__", "__reduce_ex__"})
_OF_TUPLES = frozenset({"__new__", "__repr__", "_make", "_replace", "_asdict", "__getnewargs__"})
_MARKERS = frozenset({"__match_args__", "__dataclass_fields__", "__dataclass_params__", "__hash__"})
_FIELD = frozenset({"dataclasses.field"})
_PYDANTIC_FIELD = frozenset({"pydantic.Field", "pydantic.fields.Field"})
_STRUCT_FIELD = frozenset({"msgspec.field"})


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
    default: bool
    in_init: bool
    keyword: bool | None
    attribute: bool | None


def flavour(lookup: Lookup, value: Value) -> str:
    """Say how a class reads its annotations; '' where they mean nothing."""
    own = class_body.made(lookup, value).flavour
    if own:
        return own
    for entry in ancestry.mro(lookup, value):
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
    if node is None or _is_class_var(node):
        return None
    if kind in ("", "enum", "ctypes") or (kind == "namedtuple" and not _is_direct(lookup, entry)):
        return None
    field = _field(lookup, entry, node, kind)
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
        if class_body.own_binding(lookup, entry.tree, entry.classes, "_ignore_")[0].binding:
            return undecidable(f"{entry.qualname}._ignore_ may name {name}")
        where = f"{entry.qualname}.{name}"
        return replace(
            value,
            state="present",
            kind=Kind.CONSTANT,
            module=entry.module,
            qualname=where,
            instance_of=entry,
            sure=True,
            reason="",
            dotted="",
        )
    return value


def may_be_field(lookup: Lookup, entry: Value, name: str) -> bool:
    """Whether a base that is not known may make a field of what is annotated and has a default."""
    node = annotation(entry.classes[-1], name)
    if node is None or _is_class_var(node) or flavour(lookup, entry):
        return False
    bases = (one for one in ancestry.mro(lookup, entry) if not one.classes)
    return any(one.kind is not Kind.CLASS and not _is_known(one) for one in bases)


def generated(lookup: Lookup, entry: Value, name: str) -> Value | None:
    """Tell what is written for a class by what made it; None for any other name."""
    kind = flavour(lookup, entry)
    written = _writes(lookup, entry, kind, name)
    if written is None:
        return undecidable(f"the {kind} may write {name}, as its options say")
    if not written:
        return None
    value = Value(
        "present",
        Kind.GENERATED,
        entry.module,
        f"{entry.qualname}.{name}",
        entry.tree,
        entry.nodes,
        reason=f"written by the {kind}",
    )
    if name != "__init__":
        return value
    called = _signature(lookup, entry)
    return replace(value, signature=called, sure=called is not None)


def _writes(lookup: Lookup, entry: Value, kind: str, name: str) -> bool | None:
    """Whether what makes a class writes a method for it; None where its options do not tell."""
    if kind == "struct":
        return name in ("__repr__", "__eq__")
    if kind == "enum":
        return None if name in _OF_ENUMS else False
    if kind == "namedtuple":
        return name in _OF_TUPLES and _is_direct(lookup, entry)
    work = class_body.made(lookup, entry)
    if work.flavour not in DATACLASSES:
        return False
    option = next((one for one, names in _GENERATED.items() if name in names), None)
    if option is None:
        return name in _MARKERS
    given = work.options.get(option)
    if work.flavour == "unknown" or (given is None and class_body.SPREAD in work.options):
        return None
    is_default = option not in _OFF
    return is_default if given is None else _truth(given)


# --- the fields of a class


def _signature(lookup: Lookup, value: Value) -> Signature | None:
    found: dict[str, Field] = {}
    for entry in reversed(ancestry.mro(lookup, value)):
        if not entry.classes:
            if not _is_known(entry):
                return None
            continue
        kind = flavour(lookup, entry)
        if kind in DATACLASSES and not class_body.made(lookup, entry).flavour:
            continue  # a plain class between dataclasses adds no field
        if kind in ("unknown", "attrs"):
            return None
        if kind:
            own = _own(lookup, entry, kind)
            if own is None:
                return None
            for field in own:
                found[field.name] = field
    ordered = [one for one in found.values() if one.in_init]
    places = [Parameter(one.name, POSITIONAL, one.default) for one in ordered if not one.keyword]
    named = [Parameter(one.name, KEYWORD_ONLY, one.default) for one in ordered if one.keyword]
    return Signature((Parameter("self", POSITIONAL), *places, *named))


def _own(lookup: Lookup, entry: Value, kind: str) -> list[Field] | None:
    assert entry.tree is not None
    options = class_body.made(lookup, entry).options
    by_class = {one.arg: one.value for one in entry.classes[-1].keywords}
    keyword = _truth(options.get("kw_only", by_class.get("kw_only")))
    nodes = _annotated(lookup, entry.tree, entry.classes[-1].body)
    if keyword is None or class_body.SPREAD in options or nodes is None:
        return None
    found: list[Field] = []
    for node in nodes:
        if dotted(node.annotation).split(".")[-1] == "KW_ONLY":
            keyword = True
        elif not _is_class_var(node) and not _is_private(node, kind):
            field = _field(lookup, entry, node, kind)
            if field.attribute is None and kind != "basemodel" and node.value is not None:
                return None
            if node.value is None and kind in DATACLASSES and _inherits(lookup, entry, field.name):
                return None  # what a base has of that name is its default
            by_name = keyword if field.keyword is None else field.keyword
            found.append(field._replace(keyword=by_name or kind == "basemodel"))
    return found


def _inherits(lookup: Lookup, entry: Value, name: str) -> bool:
    """Whether the bases of a class may have something of a name on them."""
    return any(
        lookup.member(base, name)[0].state != "absent"
        for base in ancestry.mro(lookup, entry)[1:]
        if base.classes
    )


def _annotates(statement: ast.stmt) -> bool:
    return any(isinstance(one, ast.AnnAssign) for one in ast.walk(statement))


def _annotated(
    lookup: Lookup, tree: ModuleTree, body: Sequence[ast.stmt]
) -> list[ast.AnnAssign] | None:
    """List the annotations in the body of a class; None where it depends on more than that."""
    found: list[ast.AnnAssign] = []
    for one in body:
        truth = lookup.decide(one.test, tree) if isinstance(one, ast.If) else None
        if isinstance(one, ast.If) and truth is not None:
            inner = _annotated(lookup, tree, one.body if truth else one.orelse)
            if inner is None:
                return None
            found += inner
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            found.append(one)
        elif not isinstance(one, SCOPES) and _annotates(one):
            return None
    return found


def _field(lookup: Lookup, entry: Value, node: ast.AnnAssign, kind: str) -> Field:
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    if node.value is None:
        stands = kind in ("struct", "namedtuple") or _has_slots(lookup, entry)
        return Field(name, node, default=False, in_init=True, keyword=None, attribute=stands)
    field = _called_field(lookup, entry, node, kind)
    if field is None:
        field = Field(name, node, default=True, in_init=True, keyword=None, attribute=True)
    if kind == "basemodel":  # pydantic answers for private names, and warns of deprecated ones
        return field._replace(attribute=name.startswith("_") or _is_deprecated(node.value))
    if kind == "typeddict":
        return field._replace(attribute=False)
    stands = kind in ("struct", "namedtuple") or _has_slots(lookup, entry)
    return field if stands is False or field.attribute else field._replace(attribute=stands)


def _is_deprecated(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and any(one.arg == "deprecated" for one in value.keywords)


def _has_slots(lookup: Lookup, entry: Value) -> bool | None:
    options = class_body.made(lookup, entry).options
    if "slots" not in options and class_body.SPREAD in options:
        return None
    return _truth(options.get("slots"))


def _called_field(lookup: Lookup, entry: Value, node: ast.AnnAssign, kind: str) -> Field | None:
    """Read `field(…)` and `Field(…)`; None for any other default."""
    assert isinstance(node.target, ast.Name)
    assert entry.tree is not None
    if not isinstance(node.value, ast.Call):
        return None
    made_by = lookup.evaluate(node.value.func, Scope(entry.tree, entry.classes, node))
    name = made_by[0].dotted if len(made_by) == 1 else ""
    if name not in _FIELD | _PYDANTIC_FIELD | _STRUCT_FIELD:
        made = lookup.evaluate(node.value, Scope(entry.tree, entry.classes, node))
        if all(one.sure for one in made):
            return None
        # What a function returns may be a `field(…)`.
        return Field(node.target.id, node, default=True, in_init=True, keyword=None, attribute=None)
    given = {one.arg: one.value for one in node.value.keywords}
    spread = None in given
    first = node.value.args[0] if node.value.args else given.get("default")
    if name in _PYDANTIC_FIELD and isinstance(first, ast.Constant) and first.value is Ellipsis:
        first = None
    factory = "default_factory" in given
    stands: bool | None = first is not None
    if factory:
        stands = name in _PYDANTIC_FIELD and kind in DATACLASSES
    elif first is None and name in _PYDANTIC_FIELD:
        stands = None
    return Field(
        node.target.id,
        node,
        default=first is not None or factory,
        in_init=not _is_false(given.get("init")),
        keyword=_truth(given["kw_only"]) if "kw_only" in given else None,
        attribute=None if spread or kind == "unknown" else stands,
    )


def _slot(lookup: Lookup, entry: Value, name: str) -> Value | None:
    """A name in `__slots__` is an attribute of the class, through which instances hold it."""
    assert entry.tree is not None
    cases = class_body.own_binding(lookup, entry.tree, entry.classes, "__slots__")
    bindings = [one.binding for one in cases if one.binding]
    written = class_body.written(entry, name)
    inside = {literals.membership(lookup, one, entry.tree, written) for one in bindings}
    where = f"{entry.qualname}.{name}"
    if inside <= {False}:
        return None
    if inside != {True} or len(bindings) < len(cases):
        return undecidable(f"the __slots__ of {entry.qualname} may name {name}")
    node = bindings[0].node
    return Value("present", Kind.FIELD, entry.module, where, entry.tree, (node,), "a slot")


def _is_direct(lookup: Lookup, entry: Value) -> bool:
    order = ancestry.mro(lookup, entry)
    return len(order) > 1 and order[1].dotted.endswith("NamedTuple")


def _is_known(entry: Value) -> bool:
    name = entry.dotted.replace("typing_extensions.", "typing.")
    return name in _BASES or is_class(name) or name in ("typing.Generic", "typing.Protocol")


def _is_class_var(node: ast.AnnAssign) -> bool:
    text = ast.unparse(node.annotation)
    return text.strip("'\"").split("[")[0].split(".")[-1] == "ClassVar"


def _is_private(node: ast.AnnAssign, kind: str) -> bool:
    assert isinstance(node.target, ast.Name)
    return kind == "basemodel" and node.target.id.startswith("_")


def _truth(node: ast.expr | None) -> bool | None:
    """Read an option; one that is not given is off, None where it is not spelled out."""
    if node is None:
        return False
    return bool(node.value) if isinstance(node, ast.Constant) else None


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
