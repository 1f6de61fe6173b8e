"""Tells what attributes a class has: its own, inherited ones, and those that are generated."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.classes import (
    after_metaclass,
    body_bindings,
    class_effects,
    may_add_names,
    metaclass,
    mro,
    source_name,
)
from patchkit.analysis.upstream.resolving.constructors import generated_method
from patchkit.analysis.upstream.resolving.outside import has_member
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    dotted,
    is_private,
)
from patchkit.analysis.upstream.resolving.touches import changes_below
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)

_SET_BY_PYTHON = frozenset(dir(type)) | {
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__args__",
    "__class_getitem__",
    "__classcell__",
    "__classdictcell__",
    "__closed__",
    "__deprecated__",
    "__dict__",
    "__doc__",
    "__extra_items__",
    "__final__",
    "__firstlineno__",
    "__hash__",
    "__match_args__",
    "__module__",
    "__non_callable_proto_members__",
    "__orig_bases__",
    "__orig_class__",
    "__override__",
    "__parameters__",
    "__protocol_attrs__",
    "__slots__",
    "__static_attributes__",
    "__type_params__",
    "__weakref__",
}
"""Attributes that Python, or `typing`, may set on a class that does not define them."""
_METHODS_OF_TYPE = {name for name, method in vars(type).items() if callable(method)} - {
    *vars(object)
}
_TYPE = Value("present", Kind.OUTSIDE, dotted="builtins.type")
_WRITTEN = frozenset(
    {"__init__", "__new__", "__repr__", "__eq__", "__hash__", "__post_init__"}
)
"""Methods that dataclasses and the like generate for classes that do not define them."""


def member(lookup: Lookup, value: Value, name: str) -> Values:
    """Return what an attribute of a class is, its own or inherited.

    Args:
        lookup: The release.
        value: The class.
        name: The name of the attribute, as the class stores it: `_Class__x` for a private one.
    """
    if is_private(name):
        return (
            absent(
                f"a class stores {name!r} under another name, _{value.qualname}{name}"
            ),
        )
    return _search(lookup, value, name, mro(lookup, value))


def instance_member(lookup: Lookup, value: Value, name: str) -> Values:
    """Return what an attribute of an instance is.

    Args:
        lookup: The release.
        value: The class of the instance.
        name: The name of the attribute.
    """
    if not value.has_class_statement:
        return (undecided(f"it is an instance of {value.dotted}, outside the release"),)
    members = member(lookup, value, name)
    if _are_absent(members):
        if members[0].kind is Kind.INSTANCE_ATTRIBUTE:
            reason = f"an instance has it once {members[0].reason}"
            return (
                replace(members[0], state="undecidable", reason=reason, is_sure=False),
            )
        if not _are_absent(member(lookup, value, "__getattr__")):
            return (undecided(f"{value.qualname} has a __getattr__"),)
    # An instance has all fields, whether they leave an attribute on the class or not.
    return tuple(replace(attribute, on_class=True) for attribute in members)


def _are_absent(values: Values) -> bool:
    return all(value.state == "absent" for value in values)


def _search(
    lookup: Lookup, value: Value, name: str, ancestors: Sequence[Value], doubt: str = ""
) -> Values:
    """Look an attribute up in a class and its bases in order, as Python does.

    Args:
        lookup: The release.
        value: The class whose attribute it is.
        name: The name of the attribute.
        ancestors: The classes to look through: the class and its bases, or the rest of them.
        doubt: A base looked at before that may have the attribute, in words; '' for none.
    """
    open_reason = ""  # what may set the attribute on a class that was looked at
    for index, ancestor in enumerate(ancestors):
        if not ancestor.has_class_statement:  # it is outside the release, or not known
            is_member = None
            if ancestor.kind is Kind.OUTSIDE:
                is_member = has_member(ancestor.dotted, name)
            if is_member:
                return (_doubted(_inherited(ancestor, name), doubt, open_reason),)
            if is_member is None:  # it may have the attribute, and comes first
                doubt = doubt or _described(ancestor)
            continue
        following = ancestors[index + 1 :]
        search_following = partial(_search, lookup, value, name, following, doubt)
        members = _own_members(lookup, ancestor, name, search_following)
        if members is not None:
            is_inherited = index > 0
            if is_inherited and name in _WRITTEN:
                # The class itself may have got a method of this name, generated by a base.
                doubt = doubt or _possible_writer(following)
            return tuple(
                _doubted(attribute, doubt, open_reason) for attribute in members
            )
        open_reason = open_reason or _open_reason(lookup, ancestor)
    return _not_found(lookup, value, name, doubt)


def _possible_writer(ancestors: Sequence[Value]) -> str:
    """Describe a base that may generate methods for classes that derive from it; '' for none.

    Args:
        ancestors: The bases that follow the one that has the method.
    """
    for ancestor in ancestors:
        is_outside = ancestor.kind is Kind.OUTSIDE
        # None: the attributes of this base are not known.
        if is_outside and has_member(ancestor.dotted, "__init__") is None:
            return _described(ancestor)
    return ""


def _own_members(
    lookup: Lookup, owner: Value, name: str, search_following: Callable[[], Values]
) -> Values | None:
    """Return the attribute that one class itself has, its bases left out.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
        search_following: Looks the name up in the bases that follow.

    Returns:
        The values, with those of the bases if the class may have none; None if it has none.
    """
    plain_name = source_name(owner, name)
    scope = Scope(owner.module_tree, owner.classes)
    cases = body_bindings(lookup, scope, plain_name)
    bound_cases = [case for case in cases if case.binding is not None]
    field = fields.field_or_slot(lookup, owner, name, bound=bool(bound_cases))
    values: list[Value] = []
    for case in bound_cases:
        values += lookup.bound_values(case, scope)
    if plain_name != name:  # a private name, which the body spells without `_Class`
        qualname = f"{owner.qualname}.{name}"
        values = [replace(value, qualname=qualname) for value in values]
    if field is not None:
        return (_inherited_default(field, search_following),)
    effects = class_effects(lookup, owner)
    # A decorator, a hook or a later statement may set it after the body has run.
    setter = effects.touched.get(name) or changes_below(owner).names.get(name)
    if setter:
        reason = f"{setter} sets {name}"
        if not values:
            return (undecided(reason),)
        return tuple(value.unsure(reason) for value in values)
    if not bound_cases:
        method = generated_method(lookup, owner, name)
        if method is None:
            return None
        return (method,)
    if len(bound_cases) < len(cases):  # the body binds it only under a condition
        values += search_following()
    if effects.replaced_reason:
        return tuple(value.unsure(effects.replaced_reason) for value in values)
    return _as_members(lookup, owner, name, values)


def _as_members(
    lookup: Lookup, owner: Value, name: str, values: Sequence[Value]
) -> Values:
    """Return the attribute of a class for the values that its body binds to a name."""
    members = tuple(
        fields.as_class_member(lookup, owner, name, value) for value in values
    )
    if fields.may_be_field(lookup, owner, name):
        reason = "a base that is not known may make a field of it"
        return tuple(
            replace(value, kind=Kind.FIELD).unsure(reason) for value in members
        )
    return tuple(after_metaclass(lookup, owner, name, value) for value in members)


def _inherited_default(field: Value, search_following: Callable[[], Values]) -> Value:
    """Return a field; if a base has an attribute of its name, the class has one, too."""
    if not field.on_class:
        for base in search_following():
            if base.state == "present" and base.on_class:
                return replace(
                    field, on_class=True, reason=f"as {base.qualname} left it"
                )
    return field


def _inherited(ancestor: Value, name: str) -> Value:
    """Return an attribute of a class outside the release."""
    module, _, class_name = ancestor.dotted.rpartition(".")
    dotted_name = f"{ancestor.dotted}.{name}"
    return Value(
        "present", Kind.OUTSIDE, module, f"{class_name}.{name}", dotted=dotted_name
    )


def _doubted(value: Value, doubt: str, open_reason: str) -> Value:
    """Return an attribute as unsure if it may not be the one that the class has.

    Args:
        value: The attribute.
        doubt: A base before it that may have the attribute, in words; '' for none.
        open_reason: Code that may set the attribute on a class before it; '' for none.
    """
    if value.state != "present":
        return value
    if doubt:
        return value.unsure(f"unless {doubt} has one")
    if open_reason:
        return value.unsure(open_reason)
    return value


def _described(ancestor: Value) -> str:
    if ancestor.dotted:
        return f"{ancestor.dotted}, which is outside the release,"
    return ancestor.reason or ancestor.qualname


def _not_found(lookup: Lookup, value: Value, name: str, doubt: str) -> Values:
    """Return what an attribute is that neither a class nor its bases define.

    Args:
        lookup: The release.
        value: The class.
        name: The name of the attribute.
        doubt: A base that may have it, in words; '' for none.
    """
    from_metaclass = _of_metaclass(lookup, value, name)
    if from_metaclass:
        return from_metaclass
    if doubt:
        return (undecided(f"{doubt} may have it"),)
    classes = [
        ancestor for ancestor in mro(lookup, value) if ancestor.has_class_statement
    ]
    for ancestor in classes:
        for base in class_effects(lookup, ancestor).bases:  # a decorator adds these
            members = lookup.member(base, name)
            if not _are_absent(members):
                return members
    for ancestor in classes:
        open_reason = _open_reason(lookup, ancestor) or _built_by_code(ancestor)
        if open_reason:
            return (undecided(open_reason),)
    if name in _METHODS_OF_TYPE:  # such as `mro`: a class is an instance of `type`
        return (_inherited(_TYPE, name),)
    if name in _SET_BY_PYTHON:
        return (undecided(f"{name} is one that Python itself may set"),)
    return (_absent(value, classes, name),)


def _of_metaclass(lookup: Lookup, value: Value, name: str) -> Values:
    """Look an attribute up in the metaclass; () if that has none, and sets none on the class."""
    meta = metaclass(lookup, value)
    if meta is None:
        return ()
    if not meta.has_class_statement:
        return (undecided(f"the metaclass {_described(meta)} may provide it"),)
    # Without `object`, whose attributes the class has itself.
    members = _search(lookup, meta, name, mro(lookup, meta)[:-1])
    if any(attribute.state == "present" for attribute in members):
        return members
    if may_add_names(lookup, meta):
        return (undecided(f"the metaclass {meta.qualname} may provide it"),)
    return ()


def _absent(value: Value, classes: Sequence[Value], name: str) -> Value:
    """Say why a class has no attribute; undecided if a class method assigns it.

    Args:
        value: The class.
        classes: The class and its bases, without those outside the release.
        name: The name of the attribute.
    """
    class_name = f"{value.module}:{value.qualname}"
    for owner in classes:
        assignment = next(_assignments(owner, name), None)
        if assignment is not None:
            method, node = assignment
            reason = f"{owner.qualname}.{method.name} assigns it"
            if method.args.args[0].arg == "cls":
                return undecided(reason)
            words = f"an instance attribute of {class_name}, not one of the class"
            attribute = owner.own_attribute(
                name, Kind.INSTANCE_ATTRIBUTE, node, reason=f"{words}: {reason}"
            )
            return replace(attribute, state="absent")
        if fields.last_annotation(owner.class_statement, name) is not None:
            reason = f"{class_name} only annotates {name}, which leaves no attribute"
            return absent(reason)
    return absent(f"the class {class_name} has no {name!r}")


def _open_reason(lookup: Lookup, owner: Value) -> str:
    """Say what may set attributes on a class that are not known; '' for nothing."""
    effects = class_effects(lookup, owner)
    return (
        effects.open_reason
        or effects.replaced_reason
        or changes_below(owner).open_reason
    )


def _built_by_code(owner: Value) -> str:
    """Say that code in the body of a class may bind any name; '' if none does."""
    for statement in owner.class_statement.body:
        if isinstance(statement, SCOPES):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and dotted(node.func) in (
                "locals",
                "vars",
                "exec",
            ):
                return f"{owner.qualname} builds attributes by code"
    return ""


def _assignments(owner: Value, name: str) -> Iterator[tuple[Def, ast.AST]]:
    """List the methods of a class that assign `self.name` or `cls.name`, each with that part."""
    # Most files have no `.name` at all: a search of the text spares them the walk.
    if not re.search(rb"\.%s\b" % re.escape(name.encode()), owner.module_tree.source):
        return
    for method in owner.class_statement.body:
        if not isinstance(method, DEFS) or not method.args.args:
            continue
        target = f"{method.args.args[0].arg}.{name}"
        for node in ast.walk(method):
            is_stored = isinstance(node, ast.Attribute) and isinstance(
                node.ctx, ast.Store
            )
            if is_stored and dotted(node) == target:
                yield method, node
