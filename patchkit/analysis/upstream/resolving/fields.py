"""Reads classes whose annotations make fields: dataclasses, pydantic, msgspec, named tuples.

Which of these a class is, is called its flavour.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace

from patchkit.analysis.upstream.resolving import literals
from patchkit.analysis.upstream.resolving.annotation_marks import (
    CLASS_VAR,
    INIT_VAR,
    KEYWORDS,
    mark_of,
)
from patchkit.analysis.upstream.resolving.classes import (
    body_bindings,
    class_effects,
    mro,
    source_name,
)
from patchkit.analysis.upstream.resolving.dataclass_makers import SPREAD
from patchkit.analysis.upstream.resolving.field_calls import (
    Field,
    option_value,
    with_call,
)
from patchkit.analysis.upstream.resolving.outside import as_typing, is_class
from patchkit.analysis.upstream.resolving.syntax import dotted, statements
from patchkit.analysis.upstream.resolving.values import (
    AS_METHOD,
    Kind,
    Lookup,
    Scope,
    Value,
    undecided,
)

_FLAVOURS = {
    "ctypes.Structure": "ctypes",
    "ctypes.Union": "ctypes",
    "enum.Enum": "enum",
    "enum.Flag": "enum",
    "enum.IntEnum": "enum",
    "enum.IntFlag": "enum",
    "enum.StrEnum": "enum",
    "msgspec.Struct": "struct",
    "pydantic.BaseModel": "basemodel",
    "pydantic.RootModel": "basemodel",
    "pydantic.main.BaseModel": "basemodel",
    "pydantic.root_model.RootModel": "basemodel",
    "typing.NamedTuple": "namedtuple",
    "typing.TypedDict": "typeddict",
}
"""The flavours of classes that derive from these."""
ALWAYS_IN_SLOTS = frozenset({"struct", "namedtuple"})
"""Classes of these flavours keep every field in a slot."""
_POPPED_BY_ENUM = frozenset({"_ignore_", "_order_"})
"""Names that an enum reads in its body, and takes off the class."""


def flavour(lookup: Lookup, value: Value) -> str:
    """Return the flavour of a class: "dataclass", "pydantic", "struct" and so on.

    Args:
        lookup: The release.
        value: The class, whose decorators count before its bases.

    Returns:
        "unknown" for a dataclass made by a decorator that is not known; '' if annotations make no
        fields.
    """
    from_decorator = class_effects(lookup, value).flavour
    if from_decorator:
        return from_decorator
    for ancestor in mro(lookup, value):
        from_base = _FLAVOURS.get(as_typing(ancestor.dotted), "")
        if from_base:
            return from_base
    return ""


def last_annotation(node: ast.ClassDef, name: str) -> ast.AnnAssign | None:
    """Find the last annotation of a name in the body of a class.

    Args:
        node: The class.
        name: The name.

    Returns:
        None if the body has none; annotations below an `if` or the like do not count.
    """
    for statement in reversed(node.body):
        if isinstance(statement, ast.AnnAssign) and dotted(statement.target) == name:
            return statement
    return None


def field_or_slot(
    lookup: Lookup, owner: Value, name: str, *, bound: bool
) -> Value | None:
    """Return the attribute that an annotation of a name, or a slot, makes on its class.

    Args:
        lookup: The release.
        owner: The class.
        name: The name.
        bound: Whether the body of the class binds the name.

    Returns:
        None if the name is neither a field nor a slot.
    """
    # Python refuses a slot of a name that the body binds.
    if not bound:
        slot = _slot(lookup, owner, name)
        if slot is not None:
            return slot
    node = last_annotation(owner.class_statement, name)
    kind = flavour(lookup, owner)
    if kind == "ctypes" and not bound:
        return undecided(f"the _fields_ of {owner.qualname} may name {name}")
    if node is None or kind in ("", "enum", "ctypes"):
        return None
    mark = mark_of(owner.module_tree, node.annotation)
    if mark in (CLASS_VAR, KEYWORDS):
        return None
    if kind == "namedtuple" and not is_direct(lookup, owner):
        return None  # a class below a named tuple adds no fields to it
    on_class = None  # what attrs leaves on the class depends on its options
    if kind != "attrs":
        on_class = read_field(lookup, owner, node, kind).on_class
    field = owner.own_attribute(name, Kind.FIELD, node, expression=node.value)
    if on_class is None:
        return field.unsure("its default may stand on the class or not")
    if on_class:
        return field
    return replace(
        field, on_class=False, reason="a field, which leaves no attribute on the class"
    )


def as_class_member(lookup: Lookup, owner: Value, name: str, value: Value) -> Value:
    """Return the attribute of a class for a value that its body binds.

    Args:
        lookup: The release.
        owner: The class.
        name: The name that the value is bound to.
        value: The value: a function becomes a method, a constant a member of an enum.
    """
    if value.kind in AS_METHOD:
        return replace(value, kind=AS_METHOD[value.kind])
    read_by_enum = _read_by_enum(lookup, owner, name, value)
    if read_by_enum is not None:
        return read_by_enum
    if value.kind not in (Kind.ASSIGNMENT, Kind.OUTSIDE, Kind.CONSTANT):
        return value
    kind = flavour(lookup, owner)
    # `x = attr.ib()` makes a field without an annotation.
    if kind == "attrs" and isinstance(value.expression, ast.Call):
        return replace(value, kind=Kind.FIELD).unsure("attrs may take it off the class")
    if kind == "basemodel" and name.startswith("_") and not name.startswith("__"):
        return replace(value, kind=Kind.FIELD, reason="a private attribute")
    if kind != "enum" or name.startswith("_"):
        return value
    # The enum makes no members of the names that its `_ignore_` lists.
    ignored = body_bindings(lookup, Scope(owner.module_tree, owner.classes), "_ignore_")
    if ignored[0].binding:  # a single case without binding: there is no `_ignore_`
        return undecided(f"{owner.qualname}._ignore_ may name {name}")
    return owner.own_attribute(
        name,
        Kind.CONSTANT,
        *value.nodes,
        expression=value.expression,
        instance_of=owner,
        scope=value.scope,
        conditions=value.conditions,
    )


def _read_by_enum(
    lookup: Lookup, owner: Value, name: str, value: Value
) -> Value | None:
    """Return what an enum leaves of what its body binds and no member is; None if it leaves it."""
    is_read = name in _POPPED_BY_ENUM
    if not is_read and value.kind is not Kind.CLASS and name != "__new__":
        return None
    if flavour(lookup, owner) != "enum":
        return None
    if is_read:
        return undecided(f"the enum takes {name} off {owner.qualname}")
    return value.unsure(f"the enum may make something else of {name}")


def may_be_field(lookup: Lookup, owner: Value, name: str) -> bool:
    """Whether a base may make a field of `x: int = 1`, as nothing is known of that base.

    Args:
        lookup: The release.
        owner: The class.
        name: The name that the body of the class binds.

    Returns:
        False if the flavour of the class is known: what it makes of the name is known then.
    """
    node = last_annotation(owner.class_statement, name)
    if node is None or flavour(lookup, owner):
        return False
    if mark_of(owner.module_tree, node.annotation) == CLASS_VAR:
        return False
    for ancestor in mro(lookup, owner):
        # A class made by a call, such as `namedtuple(…)`, is taken to make no fields.
        if (
            not ancestor.has_class_statement
            and ancestor.kind is not Kind.CLASS
            and not is_known(ancestor)
        ):
            return True
    return False


def read_field(lookup: Lookup, owner: Value, node: ast.AnnAssign, kind: str) -> Field:
    """Read one field of a class.

    Args:
        lookup: The release.
        owner: The class.
        node: The annotation of a plain name.
        kind: The flavour of the class.

    Returns:
        The field; its `keyword` is None unless its own call of `field(…)` says something of that.
    """
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    # A slot leaves a descriptor on the class, with a default and without.
    in_slot: bool | None = True
    if kind not in ALWAYS_IN_SLOTS:
        in_slot = _has_slots(lookup, owner)
    if node.value is None:
        if kind == "unknown":
            in_slot = None  # whether it is a field at all is not known
        elif kind == "pydantic" and says_more(node.annotation):
            in_slot = None
        elif mark_of(owner.module_tree, node.annotation) == INIT_VAR:
            in_slot = False  # instances do not keep it
        return Field(name, node, default=False, on_class=in_slot)
    field = Field(name, node)
    if isinstance(node.value, ast.Call):
        field = with_call(lookup, owner, field, node.value, kind)
    # A BaseModel keeps on the class only private names, for which its metaclass answers, and
    # deprecated fields, for which a descriptor warns.
    if kind == "basemodel":
        keywords = [keyword.arg for keyword in getattr(node.value, "keywords", ())]
        return field._replace(on_class=name.startswith("_") or "deprecated" in keywords)
    if kind == "typeddict":  # fields are keys; a value stays on the class that has it
        return field._replace(on_class=None)
    if field.on_class or in_slot is False:
        return field  # as its default alone decides
    # The default leaves no attribute, but a slot does; None if it is not known whether it has one.
    return field._replace(on_class=in_slot)


def says_more(annotation: ast.expr) -> bool:
    """Whether an annotation calls something, as `Annotated[int, Field(alias="a", default=1)]`.

    Args:
        annotation: That of a field of pydantic, which may get its default from it.
    """
    return any(isinstance(node, ast.Call) for node in ast.walk(annotation))


def _has_slots(lookup: Lookup, owner: Value) -> bool | None:
    """Whether the decorator of a class has the option `slots=True`; None if that is not known."""
    options = class_effects(lookup, owner).options
    if SPREAD in options and "slots" not in options:
        return None
    return option_value(options.get("slots"))


def _slot(lookup: Lookup, owner: Value, name: str) -> Value | None:
    """Return the attribute that a slot makes on its class; None if no slot has the name."""
    scope = Scope(owner.module_tree, owner.classes)
    cases = body_bindings(lookup, scope, "__slots__")
    values: list[Value] = []
    for case in cases:
        values += lookup.bound_values(case, scope)
    if not values:
        return None
    is_slot = _is_listed(owner, values, source_name(owner, name))
    if is_slot is False:
        return None
    may_lack_slots = any(case.binding is None for case in cases)
    if is_slot is None or may_lack_slots:  # None: some slots are not spelled out
        return undecided(f"the __slots__ of {owner.qualname} may name {name}")
    return owner.own_attribute(name, Kind.FIELD, values[0].nodes[0], reason="a slot")


def _is_listed(owner: Value, values: Sequence[Value], name: str) -> bool | None:
    """Whether the `__slots__` of a class list a name; None if that is not known.

    Args:
        owner: The class.
        values: What its `__slots__` may be.
        name: The name, as the body of the class spells it.
    """
    text = literals.literal_text(values)
    if text is not None:  # a single slot
        return text == name
    made = values[0].expression
    if len(values) == 1 and isinstance(made, ast.Call):
        copied = [dotted(argument) for argument in made.args]
        is_copy = dotted(made.func) in ("list", "tuple")
        if is_copy and copied == ["__annotations__"]:
            return _is_annotated_before(owner, made, name)
    return literals.contains(values, name)


def _is_annotated_before(owner: Value, node: ast.expr, name: str) -> bool | None:
    """Whether a class annotates a name above an expression; None if it does so in a block."""
    annotated: set[str] = set()
    for statement in statements(owner.class_statement.body):
        if isinstance(statement, ast.AnnAssign) and statement.lineno < node.lineno:
            if statement not in owner.class_statement.body:
                return None
            if statement.simple:
                annotated.add(dotted(statement.target))
    return name in annotated


def is_direct(lookup: Lookup, owner: Value) -> bool:
    """Whether a class derives from `NamedTuple` itself, which makes its fields and methods.

    Args:
        lookup: The release.
        owner: A named tuple; one that derives from another inherits those of the other.
    """
    order = mro(lookup, owner)
    if len(order) < 2 or not order[1].dotted.endswith("NamedTuple"):
        return False
    # `NamedTuple("P", […])` has made a class of its own.
    return not isinstance(order[1].expression, ast.Call)


def is_known(ancestor: Value) -> bool:
    """Whether the flavour of a class outside the release is known.

    Args:
        ancestor: The class. A well-known one that is not listed here makes no fields of
            annotations.
    """
    name = as_typing(ancestor.dotted)
    return (
        name in _FLAVOURS
        or is_class(name)
        or name in ("typing.Generic", "typing.Protocol")
    )
