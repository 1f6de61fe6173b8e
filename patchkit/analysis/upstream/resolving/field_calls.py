"""Reads the calls that fields of classes are assigned: `field(default=1)`, `Field(…)`."""

import ast
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

DATACLASSES = frozenset({"dataclass", "pydantic", "unknown"})
"""Flavours that a dataclass decorator makes; "unknown" is one of the release that is not known."""
_FIELD_FUNCTIONS = frozenset(
    {"dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "msgspec.field"}
)


_ALIASES: frozenset[str | None] = frozenset({"alias", "validation_alias"})
"""Options by which pydantic gives a parameter another name than its field."""


class Field(NamedTuple):
    """One field of a class.

    Args:
        name: Its name.
        node: The annotation that makes it.
        default: Whether it has a default, so that a call may leave it out; None if that, or
            anything else of its parameter, is not known.
        in_init: Whether `__init__` has a parameter for it.
        keyword: Whether that is passed by keyword only; None if the options of the class decide.
        on_class: Whether it leaves an attribute on the class, which is its default or a slot; None
            if that is not known.
    """

    name: str
    node: ast.AnnAssign
    default: bool | None = True
    in_init: bool = True
    keyword: bool | None = None
    on_class: bool | None = True


def with_call(
    lookup: Lookup, owner: Value, field: Field, call: ast.Call, kind: str
) -> Field:
    """Return a field to which a call is assigned: a `field(…)`, or any other default.

    Args:
        lookup: The release.
        owner: The class.
        field: The field.
        call: The call.
        kind: The flavour of the class.

    Returns:
        The field, with what the call says of its default, of `__init__` and of keywords.
    """
    scope = Scope(owner.module_tree, owner.classes, field.node)
    functions = lookup.evaluate(call.func, scope)
    function = ""
    if len(functions) == 1:
        function = functions[0].dotted
    if function in _FIELD_FUNCTIONS:
        return _with_options(field, call, function, kind)
    values = lookup.evaluate(call, scope)
    if any(_is_descriptor(lookup, value) for value in values):
        # Its `__get__` says what the default is.
        return field._replace(default=None, on_class=None)
    if all(value.is_sure for value in values):
        return field  # such as an instance, which is the default itself
    # The function may return a `field(…)`.
    return field._replace(default=None, on_class=None)


def _is_descriptor(lookup: Lookup, value: Value) -> bool:
    """Whether a value is an instance of a class of the release that has a `__get__`."""
    cls = value.instance_of
    if cls is None or not cls.has_class_statement:
        return False
    return any(one.state != "absent" for one in lookup.member(cls, "__get__"))


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
    if dotted(default).rpartition(".")[2] == "MISSING":
        default = None
    has_factory = "default_factory" in options
    on_class: bool | None = default is not None
    if has_factory:
        # A factory, which is called for each instance, leaves nothing; but on a dataclass, pydantic
        # leaves its `Field(…)` itself.
        on_class = is_pydantic and kind in DATACLASSES
    elif default is None and is_pydantic:
        on_class = None  # nothing is known of a `Field(…)` without a default
    has_default: bool | None = default is not None or has_factory
    switches = {
        name: option_value(options[name])
        for name in ("init", "kw_only")
        if name in options
    }
    has_other_name = is_pydantic and not _ALIASES.isdisjoint(options)
    if has_other_name or None in switches.values():
        has_default = None
    if None in options or kind == "unknown":  # `**options` has no name
        on_class = None
        has_default = None
    return field._replace(
        default=has_default,
        in_init=switches.get("init") is not False,
        keyword=switches.get("kw_only"),
        on_class=on_class,
    )


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
