"""Tells what attributes a class has: its own, inherited ones, and those that are generated."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.absence import (
    absent_from,
    built_by_code,
    open_reason_of,
)
from patchkit.analysis.upstream.resolving.after_body import (
    as_replaced,
    as_resigned,
    deletes_below,
    set_later,
)
from patchkit.analysis.upstream.resolving.classes import (
    body_bindings,
    class_effects,
    mro,
    source_name,
)
from patchkit.analysis.upstream.resolving.constructors import generated_method
from patchkit.analysis.upstream.resolving.descriptors import set_by_descriptors
from patchkit.analysis.upstream.resolving.importer_changes import (
    ANY,
    changed_where_imported,
    set_by_text,
    sets_any_by_instances,
)
from patchkit.analysis.upstream.resolving.machinery import (
    CALLED_BY_METACLASS,
    OF_TYPE,
    SET_BY_PYTHON,
    SET_BY_ZOPE,
    STANDS_FOR,
)
from patchkit.analysis.upstream.resolving.metaclasses import (
    after_metaclass,
    may_provide,
    metaclass,
    named_metaclasses,
    set_by_metaclass,
)
from patchkit.analysis.upstream.resolving.outside import (
    as_defined,
    as_typing,
    has_member,
    has_room_for_weakref,
    may_store,
    of_known_metaclass,
)
from patchkit.analysis.upstream.resolving.syntax import (
    dotted,
    is_private,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)

_TYPE = Value("present", Kind.OUTSIDE, dotted="builtins.type")
_SETTERS = {"Python itself": SET_BY_PYTHON, "zope.interface": SET_BY_ZOPE}
"""Who may set an attribute on a class that does not define it, and which."""
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
    members = _search(lookup, value, name, mro(lookup, value))
    doubt = set_by_metaclass(lookup, value, name)
    if doubt:
        members = tuple(_doubted(attribute, "", doubt) for attribute in members)
    for base in value.class_statement.bases:
        members = changed_where_imported(value.module_tree, dotted(base), name, members)
    return members


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
    if _are_absent(members):  # from the class: its instances may have it all the same
        if members[0].kind is Kind.INSTANCE_ATTRIBUTE:  # a method assigns it
            reason = f"an instance has it once {members[0].reason}"
            return (
                replace(members[0], state="undecidable", reason=reason, is_sure=False),
            )
        if not _are_absent(member(lookup, value, "__getattr__")):
            return (undecided(f"{value.qualname} has a __getattr__"),)
        for ancestor in mro(lookup, value):
            if ancestor.kind is Kind.OUTSIDE and may_store(ancestor.dotted, name):
                return (undecided(f"{ancestor.dotted} may give it to its objects"),)
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
            is_member = None  # stays so if nothing is known of its attributes
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
            if index > 0 and name in _WRITTEN:  # it is inherited
                # The class itself may have got a method of this name, generated by a base.
                doubt = doubt or _possible_writer(following)
            return tuple(
                _doubted(attribute, doubt, open_reason) for attribute in members
            )
        open_reason = open_reason or open_reason_of(lookup, ancestor, name)
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
    # An annotation or a slot comes first, then what sets the attribute after the body has run.
    if field is not None and not deletes_below(lookup, owner, name):
        return (_inherited_default(field, search_following),)
    later = set_later(lookup, owner, name, values, search_following)
    if later is not None:
        return later
    if not bound_cases:
        method = generated_method(lookup, owner, name)
        if method is None:
            return None
        return (method,)
    if len(bound_cases) < len(cases):  # the body binds it only under a condition
        values += search_following()
    replaced = as_replaced(lookup, owner, name, values)
    if replaced is not None:
        return replaced
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
    # A metaclass sees what the body binds, and may make something else of it.
    made = tuple(after_metaclass(lookup, owner, name, value) for value in members)
    return as_resigned(lookup, owner, name, made)


def _inherited_default(field: Value, search_following: Callable[[], Values]) -> Value:
    """Return a field; if a base has an attribute of its name, the class has one, too."""
    if not field.on_class:
        for base in search_following():
            if base.state == "present" and base.on_class:
                if not base.is_sure:
                    return field.unsure(f"{base.qualname} may leave it on the class")
                return replace(
                    field, on_class=True, reason=f"as {base.qualname} left it"
                )
    return field


def _inherited(ancestor: Value, name: str) -> Value:
    """Return an attribute that a class outside the release is known to have, such as `object`."""
    owner = as_defined(ancestor.dotted)
    module, _, class_name = owner.rpartition(".")
    qualname = f"{class_name}.{name}"
    return Value("present", Kind.OUTSIDE, module, qualname, dotted=f"{owner}.{name}")


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
    # A call in the bases, such as `Meta("Base", (), {})`, makes a class that has no name there.
    return ancestor.reason or ancestor.qualname or "a base that a call makes"


def _not_found(lookup: Lookup, value: Value, name: str, doubt: str) -> Values:
    """Return what an attribute is that neither a class nor its bases define.

    Args:
        lookup: The release.
        value: The class.
        name: The name of the attribute.
        doubt: A base that may have it, in words; '' for none.
    """
    classes = [
        ancestor for ancestor in mro(lookup, value) if ancestor.has_class_statement
    ]
    open_reason = _open_reason(lookup, classes, name)
    from_metaclass = _of_metaclass(lookup, value, name)
    if from_metaclass:
        return tuple(_doubted(one, doubt, open_reason) for one in from_metaclass)
    if doubt:
        return (undecided(f"{doubt} may have it"),)
    for ancestor in classes:
        for base in class_effects(lookup, ancestor).bases:  # a decorator adds these
            members = lookup.member(base, name)
            if not _are_absent(members):
                return members
    if open_reason:
        return (undecided(open_reason),)
    if name in OF_TYPE:  # such as `mro`: a class is an instance of `type`
        return (_of_type(lookup, value, name),)
    if name == "__weakref__" and _has_weakref(lookup, value):
        reason = "set by Python"
        return (value.own_attribute(name, Kind.CONSTANT, reason=reason),)
    setter = next((who for who, names in _SETTERS.items() if name in names), "")
    if setter:
        return (undecided(f"{name} is one that {setter} may set"),)
    return (absent_from(value, classes, name),)


def _has_weakref(lookup: Lookup, value: Value) -> bool:
    """Whether Python gives a class, or a base of it, a `__weakref__`; False if that is not known.

    It gives one to each class without slots, unless a class of its own leaves no room.
    """
    has_room = False
    for ancestor in mro(lookup, value):
        if not ancestor.has_class_statement:
            if not has_room_for_weakref(ancestor.dotted):
                return False
            continue
        scope = Scope(ancestor.module_tree, ancestor.classes)
        slots = body_bindings(lookup, scope, "__slots__")
        is_plain = not ancestor.class_statement.decorator_list
        if is_plain and all(case.binding is None for case in slots):
            has_room = True
    return has_room and metaclass(lookup, value) is None


def _open_reason(lookup: Lookup, classes: Sequence[Value], name: str) -> str:
    """Say what may set an attribute on a class or one of its bases; '' if nothing may."""
    for ancestor in classes:
        reason = open_reason_of(lookup, ancestor, name) or built_by_code(ancestor)
        if reason:
            return reason
        line = set_by_text(ancestor.module_tree, ancestor.qualname).get(ANY)
        if line is None:
            statement = ancestor.class_statement
            line = sets_any_by_instances(
                ancestor.module_tree, statement.lineno, statement.end_lineno or 0
            )
        if line:
            return f"line {line} may set it on {ancestor.qualname} once it runs"
    return set_by_descriptors(lookup, classes, name)


def _of_type(lookup: Lookup, value: Value, name: str) -> Value:
    """Return what a class has as an instance of `type`; unsure if its metaclass may differ."""
    of_type = _inherited(_TYPE, name)
    for ancestor in mro(lookup, value):
        dotted_name = of_known_metaclass(ancestor.dotted, name)
        if dotted_name:
            return replace(of_type, dotted=dotted_name)
    bases = {as_typing(ancestor.dotted) for ancestor in mro(lookup, value)}
    if name == "__call__" and not bases.isdisjoint(CALLED_BY_METACLASS):
        return of_type.unsure("its metaclass has one of its own")
    return of_type


def _of_metaclass(lookup: Lookup, value: Value, name: str) -> Values:
    """Look an attribute up in the metaclass; () if that has none, and sets none on the class."""
    for named_metaclass in named_metaclasses(lookup, value):
        for ancestor in _mro_of(lookup, named_metaclass):
            # A class that has what the metaclass puts on classes: `ABC` for `ABCMeta`.
            model = STANDS_FOR.get(ancestor.dotted)
            # `ABC` has slots, which say nothing of a class that only has its metaclass.
            if model is not None and name != "__slots__" and has_member(model, name):
                return (_inherited(ancestor, name),)
    meta = metaclass(lookup, value)
    if meta is None:
        return ()
    if not meta.has_class_statement:
        return (undecided(f"the metaclass {_described(meta)} may provide it"),)
    # Without `object`, whose attributes the class has itself.
    members = _search(lookup, meta, name, mro(lookup, meta)[:-1])
    if any(attribute.state == "present" for attribute in members):
        return members
    if may_provide(lookup, meta, name):
        return (undecided(f"the metaclass {meta.qualname} may provide it"),)
    return ()


def _mro_of(lookup: Lookup, meta: Value) -> Sequence[Value]:
    """List a metaclass and its bases; of one outside the release, itself alone."""
    if meta.has_class_statement:
        return mro(lookup, meta)
    return (meta,)
