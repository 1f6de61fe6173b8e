"""Tells how classes are called, and which methods dataclasses and the like generate."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from inspect import Parameter

from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.annotation_marks import (
    CLASS_VAR,
    KEYWORDS,
    mark_of,
)
from patchkit.analysis.upstream.resolving.classes import (
    SPREAD,
    ClassEffects,
    body_bindings,
    class_effects,
    mro,
)
from patchkit.analysis.upstream.resolving.field_calls import (
    DATACLASSES,
    Field,
    option_value,
)
from patchkit.analysis.upstream.resolving.fields import flavour
from patchkit.analysis.upstream.resolving.machinery import (
    OF_PYDANTIC_DATACLASS,
    may_be_set,
)
from patchkit.analysis.upstream.resolving.metaclasses import (
    may_change_body,
    metaclass,
)
from patchkit.analysis.upstream.resolving.syntax import (
    SCOPES,
    Signature,
    parameter,
    walk,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    undecided,
)

_OF_DATACLASS = frozenset(
    {
        "__dataclass_fields__",
        "__dataclass_params__",
        "__delattr__",
        "__eq__",
        "__ge__",
        "__gt__",
        "__hash__",
        "__init__",
        "__le__",
        "__lt__",
        "__match_args__",
        "__replace__",
        "__repr__",
        "__setattr__",
    }
)
"""What a dataclass may get, which depends on options and versions of Python."""
_WRITTEN = {
    "": frozenset(),
    "attrs": _OF_DATACLASS,
    "basemodel": frozenset(),
    "ctypes": frozenset(),
    "dataclass": _OF_DATACLASS,
    "enum": frozenset(
        {"__format__", "__init__", "__new__", "__reduce_ex__", "__repr__", "__str__"}
    ),
    "namedtuple": frozenset(
        {
            "__init__",
            "__match_args__",
            "__new__",
            "__replace__",
            "__repr__",
            "_asdict",
            "_make",
            "_replace",
        }
    ),
    "pydantic": _OF_DATACLASS,
    "struct": frozenset(),
    "typeddict": frozenset(),
    "unknown": _OF_DATACLASS,
}
"""Attributes that may be generated for a class, by its flavour."""
_STATE_METHODS = frozenset({"__getstate__", "__setstate__"})
"""Methods that a dataclass gets if it is frozen and has slots."""
_PACKAGES = {"attrs": "attr", "pydantic": "pydantic", "unknown": "pydantic"}
"""The package whose decorator makes a class of a flavour."""
_CALLED_BY_INIT = frozenset({"", "attrs", "ctypes", *DATACLASSES})
"""Flavours of classes that pass what they are called with to `__init__`."""


def call_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Return how something is called, a class included.

    Args:
        lookup: The release.
        value: What is called.

    Returns:
        For a class the parameters of its `__init__` without `self`. None if a metaclass,
        `__new__` or the flavour of the class may take other ones, or if they are not known.
    """
    if value.kind is not Kind.CLASS or not value.has_class_statement:
        return value.signature
    if not value.is_sure or metaclass(lookup, value) is not None:
        return None
    if flavour(lookup, value) not in _CALLED_BY_INIT:
        return None
    if _has_own_signature(lookup, value):
        return None
    makers = lookup.member(value, "__new__")
    initializers = lookup.member(value, "__init__")
    if not all(map(_leaves_arguments_to_init, makers)):
        return None
    if len(initializers) != 1:
        return None  # which of them it has depends on conditions
    init = initializers[0]
    if init.signature is None or not init.is_sure:
        return None
    return init.signature.bound()


def _has_own_signature(lookup: Lookup, value: Value) -> bool:
    """Whether the release sets a `__signature__` on a class, which is shown for it."""
    ancestors = mro(lookup, value)
    # Most modules never mention it, and their classes are spared the search.
    if not any(
        ancestor.tree is not None and b"__signature__" in ancestor.tree.source
        for ancestor in ancestors
    ):
        return False
    known = (Kind.GENERATED, Kind.OUTSIDE)
    for member in lookup.member(value, "__signature__"):
        is_bound = member.state == "present" and member.kind not in known
        if is_bound or member.reason.endswith("sets __signature__"):
            return True
    return False


def _leaves_arguments_to_init(new: Value) -> bool:
    """Whether a `__new__` accepts any arguments, so that `__init__` alone may refuse them."""
    if new.kind is Kind.OUTSIDE:
        # As the `__new__` of `object` does. A base that is not known may have another, and a
        # metaclass that takes other arguments.
        return new.is_sure
    signature = new.signature or Signature()
    kinds = [argument.kind for argument in signature.bound().parameters.values()]
    # `(cls, *args, **kwargs)`
    return new.is_sure and kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]


def generated_method(lookup: Lookup, owner: Value, name: str) -> Value | None:
    """Return a method that is generated for a class, such as the `__init__` of a dataclass.

    Args:
        lookup: The release.
        owner: The class, whose body does not bind the name.
        name: The name of the method.

    Returns:
        The method, undecided if it depends on options; None if none of this name is generated.
    """
    kind = flavour(lookup, owner)
    effects = class_effects(lookup, owner)
    is_known = effects.flavour in DATACLASSES and effects.flavour != "unknown"
    # `@dataclass(init=…)` may generate none.
    has_known_options = SPREAD not in effects.options and "init" not in effects.options
    if name == "__init__" and is_known and has_known_options:
        signature = _init_signature(lookup, owner)
        method_name = f"{owner.class_statement.name}.__init__.__"
        if method_name.encode() in owner.module_tree.source:
            signature = (
                None  # code sets its defaults, or what its signature is read from
            )
        reason = f"written by the {kind}"
        method = owner.own_attribute(name, Kind.GENERATED, *owner.nodes, reason=reason)
        return replace(method, signature=signature, is_sure=signature is not None)
    set_besides = _set_besides(lookup, owner, name)
    if set_besides is not None:
        return set_besides
    if name in _WRITTEN[kind]:
        return undecided(f"the {kind} may write {name}")
    if name == "__hash__":
        return _hash_of_compared(lookup, owner)
    return None


def _hash_of_compared(lookup: Lookup, owner: Value) -> Value | None:
    """Return the None that Python sets as `__hash__` of a class that defines `__eq__` alone."""
    if flavour(lookup, owner) == "namedtuple" and fields.is_direct(lookup, owner):
        return None  # its methods are set on it once it is made
    if may_change_body(lookup, owner, "__eq__"):
        return undecided("its metaclass may make the class without its __eq__")
    scope = Scope(owner.module_tree, owner.classes)
    is_bound = {
        case.binding is not None for case in body_bindings(lookup, scope, "__eq__")
    }
    if is_bound == {False}:
        return None
    if is_bound == {True, False}:
        return undecided("Python sets it to None if the class has an __eq__")
    return owner.own_attribute(
        "__hash__",
        Kind.CONSTANT,
        expression=ast.Constant(None),
        is_none=True,
        reason="None, as the class has an __eq__",
    )


def _set_besides(lookup: Lookup, owner: Value, name: str) -> Value | None:
    """Return what a class decorator puts on its class beside methods; None for another name.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
    """
    effects = class_effects(lookup, owner)
    if effects.flavour == "pydantic" and name in OF_PYDANTIC_DATACLASS:
        reason = "set by pydantic"
        return owner.own_attribute(name, Kind.GENERATED, *owner.nodes, reason=reason)
    package = _PACKAGES.get(effects.flavour, "")
    # A dataclass that is frozen, too, gets methods for the state in its slots.
    has_slots = "slots" in effects.options or SPREAD in effects.options
    if may_be_set(package, name) or (has_slots and name in _STATE_METHODS):
        return undecided(f"the decorator of {owner.qualname} may set {name}")
    return None


def _init_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Return the signature of a dataclass's `__init__`; None if a field is not known."""
    fields_by_name: dict[str, Field] = {}
    # From `object` on: a field that a derived class defines anew keeps its place.
    for ancestor in reversed(mro(lookup, value)):
        own_fields = _own_fields(lookup, ancestor)
        if own_fields is None:
            return None
        fields_by_name |= {field.name: field for field in own_fields}
    in_init = [field for field in fields_by_name.values() if field.in_init]
    # Keyword-only fields come last; the others stay in their order.
    in_order = sorted(in_init, key=lambda field: bool(field.keyword))
    parameters = [parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for field in in_order:
        kind: int = Parameter.POSITIONAL_OR_KEYWORD
        if field.keyword:
            kind = Parameter.KEYWORD_ONLY
        parameters.append(parameter(field.name, kind, field.default))
    return Signature(parameters)


def _own_fields(lookup: Lookup, owner: Value) -> list[Field] | None:
    """List the fields that a class itself adds to `__init__`; None if they are not known."""
    if not owner.has_class_statement:  # a class outside the release
        if fields.is_known(owner):
            return []  # none of the well-known classes is a dataclass
        return None
    effects = class_effects(lookup, owner)
    if effects.flavour not in DATACLASSES:
        # A plain class between dataclasses adds no field.
        if flavour(lookup, owner) in ("", *DATACLASSES):
            return []
        return None
    if effects.flavour == "unknown" or SPREAD in effects.options:
        return None
    return _annotated_fields(lookup, owner, effects)


def _annotated_fields(
    lookup: Lookup,
    owner: Value,
    effects: ClassEffects,
) -> list[Field] | None:
    """List the fields that the annotations of a dataclass make; None if one is not known."""
    is_keyword = option_value(effects.options.get("kw_only"))
    annotations = _annotated(owner.class_statement.body)
    if is_keyword is None or annotations is None:
        return None
    if _changes_annotations(owner):
        return None
    own_fields: list[Field] = []
    for node in annotations:
        mark = mark_of(owner.module_tree, node.annotation)
        if mark == KEYWORDS:
            is_keyword = True  # all fields below it
        elif mark != CLASS_VAR:
            field = fields.read_field(lookup, owner, node, effects.flavour)
            if _default_is_unsure(lookup, owner, field):
                return None
            if field.keyword is None:
                field = field._replace(keyword=is_keyword)
            own_fields.append(field)
    return own_fields


def _changes_annotations(owner: Value) -> bool:
    """Whether the body of a class changes its `__annotations__`, from which fields are read."""
    if b"__annotations__" not in owner.module_tree.source:
        return False
    return any(
        "__annotations__" in ast.unparse(statement)
        for statement in owner.class_statement.body
        if not isinstance(statement, SCOPES)
    )


def _default_is_unsure(lookup: Lookup, owner: Value, field: Field) -> bool:
    """Whether a field may have a default, or may have none."""
    if field.node.value is not None:
        return field.on_class is None  # `x: int = f()`, where f may return a `field(…)`
    # An attribute of a base is the default of a field that spells out none. Where a base has no
    # such attribute, `member` returns a single value, an absent one.
    for base in mro(lookup, owner)[1:]:
        if (
            base.has_class_statement
            and lookup.member(base, field.name)[0].state != "absent"
        ):
            return True
    return False


def _annotated(body: Sequence[ast.stmt]) -> list[ast.AnnAssign] | None:
    """List the annotated names in the body of a class; None if some depend on a condition."""
    annotations: list[ast.AnnAssign] = []
    for statement in body:
        if isinstance(statement, ast.AnnAssign):
            if isinstance(statement.target, ast.Name):
                annotations.append(statement)
        elif not isinstance(statement, SCOPES) and _has_annotation(statement):
            return None
    return annotations


def _has_annotation(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.AnnAssign) for node in walk(statement))
