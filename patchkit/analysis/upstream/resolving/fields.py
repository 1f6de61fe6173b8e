"""Reads classes whose annotations make fields: dataclasses, pydantic, msgspec, named tuples.

Which of these a class is, is called its flavour.
"""

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
"""Flavours that a dataclass decorator makes; "unknown" is one of the release that is not known."""
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
_FIELD_FUNCTIONS = frozenset(
    {"dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "msgspec.field"}
)
ALWAYS_IN_SLOTS = frozenset({"struct", "namedtuple"})
"""Classes of these flavours keep every field in a slot."""
_TRUE = ast.Constant(value=True)


class Field(NamedTuple):
    """One field of a class.

    Args:
        name: Its name.
        node: The annotation that makes it.
        default: Whether it has a default, so that a call may leave it out.
        in_init: Whether `__init__` has a parameter for it.
        keyword: Whether that is passed by keyword only; None if the options of the class decide.
        on_class: Whether it leaves an attribute on the class, which is its default or a slot; None
            if that is not known.
    """

    name: str
    node: ast.AnnAssign
    default: bool = True
    in_init: bool = True
    keyword: bool | None = None
    on_class: bool | None = True


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
    if is_class_var(node) or is_keyword_mark(node):
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
    if node is None or is_class_var(node) or flavour(lookup, owner):
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
        return Field(name, node, default=False, on_class=in_slot)
    field = Field(name, node)
    if isinstance(node.value, ast.Call):
        field = _with_call(lookup, owner, field, node.value, kind)
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


def _has_slots(lookup: Lookup, owner: Value) -> bool | None:
    """Whether the decorator of a class has the option `slots=True`; None if that is not known."""
    options = class_effects(lookup, owner).options
    if SPREAD in options and "slots" not in options:
        return None
    return option_value(options.get("slots"))


def _with_call(
    lookup: Lookup, owner: Value, field: Field, call: ast.Call, kind: str
) -> Field:
    """Return a field to which a call is assigned: a `field(…)`, or any other default.

    Args:
        lookup: The release.
        owner: The class.
        field: The field.
        call: The call.
        kind: The flavour of the class.
    """
    scope = Scope(owner.module_tree, owner.classes, field.node)
    functions = lookup.evaluate(call.func, scope)
    function = ""
    if len(functions) == 1:
        function = functions[0].dotted
    if function in _FIELD_FUNCTIONS:
        return _with_options(field, call, function, kind)
    if all(value.is_sure for value in lookup.evaluate(call, scope)):
        return field  # such as an instance, which is the default itself
    return field._replace(on_class=None)  # the function may return a `field(…)`


def _with_options(field: Field, call: ast.Call, function: str, kind: str) -> Field:
    """Return a field with the options that are passed for it.

    Args:
        field: The field.
        call: The call, such as `field(default_factory=list)`.
        function: What is called, one of `_FIELD_FUNCTIONS`.
        kind: The flavour of the class.
    """
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    is_pydantic = function.startswith("pydantic.")
    default = options.get("default")
    if call.args:
        default = call.args[0]
    # `Field(...)` is pydantic's way to say that the field is required.
    if is_pydantic and isinstance(default, ast.Constant) and default.value is Ellipsis:
        default = None
    has_factory = "default_factory" in options
    on_class: bool | None = default is not None
    if has_factory:
        # A factory, which is called for each instance, leaves nothing; but on a dataclass, pydantic
        # leaves its `Field(…)` itself.
        on_class = is_pydantic and kind in DATACLASSES
    elif default is None and is_pydantic:
        on_class = None  # nothing is known of a `Field(…)` without a default
    if None in options or kind == "unknown":  # `**options` has no name
        on_class = None
    keyword_only = None
    if "kw_only" in options:
        keyword_only = option_value(options["kw_only"])
    return field._replace(
        default=default is not None or has_factory,
        in_init=option_value(options.get("init", _TRUE)) is not False,
        keyword=keyword_only,
        on_class=on_class,
    )


def _slot(lookup: Lookup, owner: Value, name: str) -> Value | None:
    """Return the attribute that a slot makes on its class; None if no slot has the name."""
    scope = Scope(owner.module_tree, owner.classes)
    cases = body_bindings(lookup, scope, "__slots__")
    values: list[Value] = []
    for case in cases:
        values += lookup.bound_values(case, scope)
    if not values:
        return None
    is_slot = literals.contains(values, source_name(owner, name))
    if is_slot is False:
        return None
    may_lack_slots = any(case.binding is None for case in cases)
    if is_slot is None or may_lack_slots:  # None: some slots are not spelled out
        return undecided(f"the __slots__ of {owner.qualname} may name {name}")
    return owner.own_attribute(name, Kind.FIELD, values[0].nodes[0], reason="a slot")


def is_direct(lookup: Lookup, owner: Value) -> bool:
    """Whether a class derives from `NamedTuple` itself, which makes its fields and methods.

    Args:
        lookup: The release.
        owner: A named tuple; one that derives from another inherits those of the other.
    """
    order = mro(lookup, owner)
    return len(order) > 1 and order[1].dotted.endswith("NamedTuple")


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


def is_class_var(node: ast.AnnAssign) -> bool:
    """Whether an annotation is a `ClassVar`, which makes no field.

    Args:
        node: The annotation, which may be written as a string.
    """
    text = ast.unparse(node.annotation).strip("'\"")
    name = text.partition("[")[0]  # `typing.ClassVar` of `typing.ClassVar[int]`
    return name.rpartition(".")[2] == "ClassVar"


def is_keyword_mark(node: ast.AnnAssign) -> bool:
    """Whether an annotation is that of `_: KW_ONLY`, which makes no field.

    Args:
        node: The annotation; all fields below it are passed by keyword only.
    """
    return dotted(node.annotation).split(".")[-1] == "KW_ONLY"


def option_value(node: ast.expr | None) -> bool | None:
    """Return the value of an option of a decorator or call that is off by default.

    Args:
        node: The expression that is passed for it; None if it is not passed.

    Returns:
        False if it is not passed; None if the value is not spelled out.
    """
    if node is None:
        return False
    if isinstance(node, ast.Constant):
        return bool(node.value)
    return None
