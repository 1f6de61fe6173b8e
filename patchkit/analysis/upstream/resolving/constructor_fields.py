"""Tells which arguments the generated constructors of dataclasses and named tuples take."""

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
    ClassEffects,
    body_bindings,
    class_effects,
    mro,
)
from patchkit.analysis.upstream.resolving.dataclass_makers import SPREAD
from patchkit.analysis.upstream.resolving.field_calls import (
    DATACLASSES,
    Field,
    option_value,
)
from patchkit.analysis.upstream.resolving.fields import flavour
from patchkit.analysis.upstream.resolving.syntax import (
    SCOPES,
    Signature,
    dotted,
    parameter,
    walk,
)
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value


def init_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Return the signature of a dataclass's `__init__`.

    Args:
        lookup: The release.
        value: The class.

    Returns:
        None if a field is not known.
    """
    in_init = _fields_in_init(lookup, value)
    if in_init is None or any(field.default is None for field in in_init):
        return None
    return _signature_of(in_init)


def widest_init_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Return a signature that takes all calls that a dataclass's `__init__`, or a Struct, may take.

    It has every field that may be a parameter, each with a default.

    Args:
        lookup: The release.
        value: The class.

    Returns:
        None if there may be other fields.
    """
    in_init = _fields_in_init(lookup, value)
    if in_init is None:
        return None
    return _signature_of([field._replace(default=True) for field in in_init])


def _fields_in_init(lookup: Lookup, value: Value) -> list[Field] | None:
    """List the fields of a dataclass that `__init__` may take; None if there may be others."""
    fields_by_name: dict[str, Field] = {}
    # From `object` on: a field that a derived class defines anew keeps its place.
    for ancestor in reversed(mro(lookup, value)):
        own_fields = _own_fields(lookup, ancestor)
        if own_fields is None:
            return None
        fields_by_name |= {field.name: field for field in own_fields}
    return [field for field in fields_by_name.values() if field.in_init]


def _signature_of(in_init: Sequence[Field]) -> Signature:
    """Return the signature of an `__init__` that takes fields."""
    # Keyword-only fields come last; the others stay in their order.
    in_order = sorted(in_init, key=lambda field: bool(field.keyword))
    parameters = [parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for field in in_order:
        kind: int = Parameter.POSITIONAL_OR_KEYWORD
        if field.keyword:
            kind = Parameter.KEYWORD_ONLY
        parameters.append(parameter(field.name, kind, bool(field.default)))
    return Signature(parameters)


def new_signature(lookup: Lookup, owner: Value) -> Signature | None:
    """Return the signature of a named tuple's `__new__`.

    Args:
        lookup: The release.
        owner: The class, which derives from `NamedTuple` itself.

    Returns:
        None if a field is not known.
    """
    annotations = _annotated(owner.class_statement.body)
    if annotations is None or changes_annotations(owner):
        return None
    parameters = {"_cls": parameter("_cls", Parameter.POSITIONAL_OR_KEYWORD)}
    scope = Scope(owner.module_tree, owner.classes)
    for node in annotations:
        name = dotted(node.target)
        is_bound = {
            case.binding is not None for case in body_bindings(lookup, scope, name)
        }
        if len(is_bound) != 1:
            return None  # whether it has a default depends on a condition
        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters[name] = parameter(name, kind, is_bound == {True})
    return Signature(parameters.values())


def _own_fields(lookup: Lookup, owner: Value) -> list[Field] | None:
    """List the fields that a class itself adds to `__init__`; None if they are not known."""
    if not owner.has_class_statement:  # a class outside the release
        if fields.is_known(owner):
            return []  # none of the well-known classes is a dataclass
        return None
    effects = class_effects(lookup, owner)
    if effects.flavour not in DATACLASSES:
        kind = flavour(lookup, owner)
        if kind == "struct":
            return _annotated_fields(lookup, owner, replace(effects, flavour=kind))
        # A plain class between dataclasses adds no field.
        return [] if kind in ("", *DATACLASSES) else None
    if effects.flavour == "unknown" or SPREAD in effects.options:
        return None
    return _annotated_fields(lookup, owner, effects)


def _annotated_fields(
    lookup: Lookup,
    owner: Value,
    effects: ClassEffects,
) -> list[Field] | None:
    """List the fields that the annotations of a dataclass make; None if there may be others."""
    is_keyword = option_value(effects.options.get("kw_only"))
    annotations = _annotated(owner.class_statement.body)
    if is_keyword is None or annotations is None:
        return None
    if changes_annotations(owner):
        return None
    own_fields: list[Field] = []
    for node in annotations:
        mark = mark_of(owner.module_tree, node.annotation)
        if mark == KEYWORDS:
            is_keyword = True  # all fields below it
        elif mark != CLASS_VAR:
            field = fields.read_field(lookup, owner, node, effects.flavour)
            if _default_is_unsure(lookup, owner, field, effects):
                field = field._replace(default=None)
            if field.keyword is None:
                field = field._replace(keyword=is_keyword)
            own_fields.append(field)
    return own_fields


def changes_annotations(owner: Value) -> bool:
    """Whether the body of a class changes its `__annotations__`, from which fields are read.

    Args:
        owner: The class.
    """
    if b"__annotations__" not in owner.module_tree.source:
        return False
    return any(
        "__annotations__" in ast.unparse(statement)
        for statement in owner.class_statement.body
        if not isinstance(statement, SCOPES)
    )


def _default_is_unsure(
    lookup: Lookup, owner: Value, field: Field, effects: ClassEffects
) -> bool:
    """Whether a field may have a default, or may have none."""
    if field.default is None:
        return True
    if effects.flavour == "pydantic" and fields.says_more(field.node.annotation):
        return True
    if field.node.value is not None:
        return False
    if hasattr(type, field.name):
        return True  # `getattr` of the class finds what its metaclass has: `mro`, `__name__`
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
