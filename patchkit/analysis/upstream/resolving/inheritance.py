"""What a class holds: of its own, from its bases in the order of C3, and from what made it."""

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
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted, is_private
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

_OF_CLASSES = frozenset(dir(type)) | {
    *("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__annotate__"),
    *("__annotate_func__", "__annotations_cache__", "__classcell__", "__classdictcell__"),
    *("__firstlineno__", "__static_attributes__", "__type_params__", "__match_args__"),
    *("__orig_bases__", "__parameters__", "__final__", "__override__", "__deprecated__"),
    *("__protocol_attrs__", "__non_callable_proto_members__", "__slots__", "__hash__"),
    *("__class_getitem__", "__extra_items__", "__closed__", "__orig_class__", "__args__"),
}
_BY_TYPE = {one for one in vars(type) if callable(vars(type)[one])} - set(vars(object))
_TYPE = Value("present", Kind.OUTSIDE, dotted="builtins.type")
_WRITTEN = frozenset({"__init__", "__new__", "__repr__", "__eq__", "__hash__", "__post_init__"})
"""What machinery such as dataclasses writes for classes that do not define it."""


def member(lookup: Lookup, value: Value, name: str) -> Values:
    """Tell what an attribute of a class is."""
    if is_private(name):
        return (absent(f"a class stores {name!r} under another name, _{value.qualname}{name}"),)
    return _search(lookup, value, name, mro(lookup, value), "")


def instance_member(lookup: Lookup, value: Value, name: str) -> Values:
    """Tell what an attribute of an instance is."""
    if not value.classes:
        return (undecided(f"it is an instance of {value.dotted}, outside the release"),)
    found = member(lookup, value, name)
    if all(one.state == "absent" for one in found):
        if found[0].kind is Kind.INSTANCE_ATTRIBUTE:
            reason = f"an instance has it once {found[0].reason}"
            return (replace(found[0], state="undecidable", reason=reason, is_sure=False),)
        if any(one.state != "absent" for one in member(lookup, value, "__getattr__")):
            return (undecided(f"{value.qualname} has a __getattr__"),)
    return tuple(replace(one, on_class=True) for one in found)


def _search(
    lookup: Lookup, value: Value, name: str, entries: Sequence[Value], doubt: str
) -> Values:
    """Look through the classes from one on; a base that is not known leaves a doubt."""
    shadow = ""  # what may set the name on a class that was passed
    for at, entry in enumerate(entries):
        if not entry.classes:
            has = has_member(entry.dotted, name) if entry.kind is Kind.OUTSIDE else None
            if has is None:
                doubt = doubt or _words(entry)
            elif has:
                return (_doubted(_inherited(entry, name), doubt, shadow),)
            continue
        rest = entries[at + 1 :]
        search = partial(_search, lookup, value, name, rest, doubt)
        found = _of_class(lookup, entry, name, search)
        if found is not None:
            if at and name in _WRITTEN:  # a base outside may write it for each that derives from it
                outside = (one for one in rest if one.kind is Kind.OUTSIDE)
                writers = (one for one in outside if has_member(one.dotted, "__init__") is None)
                doubt = doubt or next(map(_words, writers), "")
            return tuple(_doubted(one, doubt, shadow) for one in found)
        shadow = shadow or _opened_by(lookup, entry)
    return _not_found(lookup, value, name, doubt)


def _of_class(lookup: Lookup, entry: Value, name: str, rest: Callable[[], Values]) -> Values | None:
    """Tell what one class holds, with what follows where it may hold nothing; or None."""
    plain = source_name(entry, name)
    scope = Scope(entry.module_tree, entry.classes)
    cases = body_bindings(lookup, scope, plain)
    bound = [case for case in cases if case.binding is not None]
    field = fields.field_or_slot(lookup, entry, name, bound=bool(bound))
    values = [one for case in bound for one in lookup.bound_values(case, scope)]
    if plain != name:
        values = [replace(one, qualname=f"{entry.qualname}.{name}") for one in values]
    if field is not None:
        return _as_field(field, rest)
    work = class_effects(lookup, entry)
    if by := work.touched.get(name) or changes_below(entry).names.get(name):
        reason = f"{by} sets {name}"
        return tuple(one.unsure(reason) for one in values) or (undecided(reason),)
    if not bound:
        method = generated_method(lookup, entry, name)
        return (method,) if method else None
    if len(bound) < len(cases):
        values += rest()
    if work.replaced:
        return tuple(one.unsure(work.replaced) for one in values)
    members = tuple(fields.as_class_member(lookup, entry, name, one) for one in values)
    if fields.may_be_field(lookup, entry, name):
        reason = "a base that is not known may make a field of it"
        return tuple(replace(one, kind=Kind.FIELD).unsure(reason) for one in members)
    return tuple(after_metaclass(lookup, entry, name, one) for one in members)


def _as_field(field: Value, rest: Callable[[], Values]) -> Values:
    if not field.on_class:
        # What a base leaves on the class stands there for the field too.
        for base in rest():
            if base.state == "present" and base.on_class:
                return (replace(field, on_class=True, reason=f"as {base.qualname} left it"),)
    return (field,)


def _inherited(entry: Value, name: str) -> Value:
    module, _, owner = entry.dotted.rpartition(".")
    dot = f"{entry.dotted}.{name}"
    return Value("present", Kind.OUTSIDE, module, f"{owner}.{name}", dotted=dot)


def _doubted(value: Value, doubt: str, shadow: str) -> Value:
    reason = f"unless {doubt} has one" if doubt else shadow
    return value.unsure(reason) if reason and value.state == "present" else value


def _words(entry: Value) -> str:
    if entry.dotted:
        return f"{entry.dotted}, which lies outside the release,"
    return entry.reason or entry.qualname


def _not_found(lookup: Lookup, value: Value, name: str, doubt: str) -> Values:
    if given := _of_metaclass(lookup, value, name):
        return given
    if doubt:
        return (undecided(f"{doubt} may have it"),)
    classes = [entry for entry in mro(lookup, value) if entry.classes]
    for base in (base for entry in classes for base in class_effects(lookup, entry).bases):
        found = lookup.member(base, name)  # a decorator adds this base
        if any(one.state != "absent" for one in found):
            return found
    for entry in classes:
        if opened := _opened_by(lookup, entry) or _built_by_code(entry):
            return (undecided(opened),)
    if name in _BY_TYPE:
        return (_inherited(_TYPE, name),)
    if name in _OF_CLASSES:
        return (undecided(f"{name} is one that Python itself may set"),)
    return (_absent(value, classes, name),)


def _of_metaclass(lookup: Lookup, value: Value, name: str) -> Values:
    """Ask the metaclass; () where it has no such name and may not give it either."""
    meta = metaclass(lookup, value)
    if meta is None:
        return ()
    if not meta.classes:
        return (undecided(f"the metaclass {_words(meta)} may provide it"),)
    found = _search(lookup, meta, name, mro(lookup, meta)[:-1], "")
    if any(one.state == "present" for one in found):
        return found
    if may_add_names(lookup, meta):
        return (undecided(f"the metaclass {meta.qualname} may provide it"),)
    return ()


def _absent(value: Value, classes: Sequence[Value], name: str) -> Value:
    place = f"{value.module}:{value.qualname}"
    for entry in classes:
        for method, node in _assigners(entry, name):
            reason = f"{entry.qualname}.{method.name} assigns it"
            if method.args.args[0].arg == "cls":
                return undecided(reason)
            reason = f"an instance attribute of {place}, not one of the class: {reason}"
            attribute = entry.own_attribute(name, Kind.INSTANCE_ATTRIBUTE, node, reason=reason)
            return replace(attribute, state="absent")
        if fields.last_annotation(entry.classes[-1], name) is not None:
            return absent(f"{place} only annotates {name}, which leaves no attribute")
    return absent(f"the class {place} has no {name!r}")


def _opened_by(lookup: Lookup, entry: Value) -> str:
    work = class_effects(lookup, entry)
    return work.opened or work.replaced or changes_below(entry).opened


def _built_by_code(entry: Value) -> str:
    plain = (one for one in entry.classes[-1].body if not isinstance(one, SCOPES))
    calls = (node for one in plain for node in ast.walk(one) if isinstance(node, ast.Call))
    is_dynamic = any(dotted(call.func) in ("locals", "vars", "exec") for call in calls)
    return f"{entry.qualname} builds attributes by code" if is_dynamic else ""


def _assigners(entry: Value, name: str) -> Iterator[tuple[Def, ast.AST]]:
    is_named = re.search(rb"\.%s\b" % re.escape(name.encode()), entry.module_tree.source)
    for method in entry.classes[-1].body if is_named else ():
        if isinstance(method, DEFS) and method.args.args:
            wanted = f"{method.args.args[0].arg}.{name}"
            for node in ast.walk(method):
                is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if is_stored and dotted(node) == wanted:
                    yield method, node
