"""
What a class holds: of its own, from its bases in the order of C3, and from what made it.

A base that cannot be resolved leaves everything open that is not found before it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import decorators, fields
from patchkit.upstream.resolving.classes import (
    gives_more,
    made,
    metaclass,
    mro,
    own_binding,
    remade_by,
    written,
)
from patchkit.upstream.resolving.constructors import generated
from patchkit.upstream.resolving.decorator_source import UNKNOWN
from patchkit.upstream.resolving.outside import has_member
from patchkit.upstream.resolving.syntax import dotted
from patchkit.upstream.resolving.touches import edits_of
from patchkit.upstream.resolving.values import Kind, Scope, Value, absent, undecidable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.values import Values

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
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


def class_value(lookup: Lookup, value: Value, scope: Scope) -> Value:
    """Say of a class definition whether it stays what it is."""
    node = value.classes[-1]
    for decorator in node.decorator_list:
        effect = decorators.effect_of(lookup, decorator, scope)
        if effect.what == UNKNOWN:
            reason = f"nothing is known about the decorator @{ast.unparse(decorator)}"
            return replace(value, kind=Kind.DECORATED).unsure(reason)
    return replace(value, kind=Kind.CLASS)


def member(lookup: Lookup, value: Value, name: str) -> Values:
    """Tell what an attribute of a class is."""
    if name.startswith("__") and not name.endswith("__"):
        return (absent(f"a class stores {name!r} under another name, _{value.qualname}{name}"),)
    return _search(lookup, value, name, mro(lookup, value), "")


def instance_member(lookup: Lookup, value: Value, name: str) -> Values:
    """Tell what an attribute of an instance is."""
    if not value.classes:
        return (undecidable(f"it is an instance of {value.dotted}, outside the release"),)
    found = member(lookup, value, name)
    if all(one.state == "absent" for one in found):
        if found[0].kind is Kind.INSTANCE_ATTRIBUTE:
            reason = f"an instance has it once {found[0].reason}"
            return (replace(found[0], state="undecidable", reason=reason, sure=False),)
        if any(one.state != "absent" for one in member(lookup, value, "__getattr__")):
            return (undecidable(f"{value.qualname} has a __getattr__"),)
    return tuple(replace(one, attribute=True) for one in found)


# --- the search


def _search(
    lookup: Lookup, value: Value, name: str, entries: Sequence[Value], doubt: str
) -> Values:
    """Look through the classes from one on; a base that is not known leaves a doubt."""
    shadow = ""  # what may set the name on a class that was passed
    for at, entry in enumerate(entries):
        if not entry.classes:
            has = _outside(entry, name)
            if has is None:
                doubt = doubt or _words(entry)
            elif has:
                return (_doubted(_inherited(entry, name), doubt, shadow),)
            continue
        rest = entries[at + 1 :]
        search = partial(_search, lookup, value, name, rest, doubt)
        found = _of_class(lookup, entry, name, search)
        if found is not None:
            if at and name in _WRITTEN:
                doubt = doubt or _writer(rest)
            return tuple(_doubted(one, doubt, shadow) for one in found)
        shadow = shadow or _opened_by(lookup, entry)
    return _not_found(lookup, value, name, doubt)


def _writer(entries: Sequence[Value]) -> str:
    """Name a base outside that may write methods for each class that derives from it."""
    for entry in entries:
        if entry.kind is Kind.OUTSIDE and has_member(entry.dotted, "__init__") is None:
            return _words(entry)
    return ""


def _of_class(lookup: Lookup, entry: Value, name: str, rest: Callable[[], Values]) -> Values | None:
    """What one class of the order holds, with what follows where it may hold nothing."""
    assert entry.tree is not None
    work = made(lookup, entry)
    scope = Scope(entry.tree, entry.classes)
    cases = own_binding(lookup, entry.tree, entry.classes, written(entry, name))
    bound = [case for case in cases if case.binding is not None]
    field = fields.of_name(lookup, entry, name, bound=bool(bound))
    values = [
        one.under(case.conditions)
        for case in bound
        if case.binding
        for one in lookup.bound(case.binding, scope)
    ]
    if written(entry, name) != name:
        values = [replace(one, qualname=f"{entry.qualname}.{name}") for one in values]
    if field is not None:
        return _as_field(field, rest)
    if by := work.touched.get(name) or edits_of(lookup, entry).names.get(name):
        reason = f"{by} sets {name}"
        return tuple(one.unsure(reason) for one in values) or (undecidable(reason),)
    if not bound:
        method = generated(lookup, entry, name)
        return (method,) if method else None
    if any(case.binding is None for case in cases):
        values += rest()
    if work.replaced:
        return tuple(one.unsure(work.replaced) for one in values)
    members = tuple(fields.as_member(lookup, entry, name, one) for one in values)
    if fields.may_be_field(lookup, entry, name):
        reason = "a base that is not known may make a field of it"
        return tuple(replace(one, kind=Kind.FIELD).unsure(reason) for one in members)
    return tuple(_remade(lookup, entry, name, one) for one in members)


def _remade(lookup: Lookup, entry: Value, name: str, value: Value) -> Value:
    is_def = bool(value.nodes) and isinstance(value.nodes[0], _DEFS)
    meta = "" if name.startswith("__") else remade_by(lookup, entry, name, is_def=is_def)
    return undecidable(f"the metaclass {meta} may replace it or take it away") if meta else value


def _as_field(field: Value, rest: Callable[[], Values]) -> Values:
    if field.attribute:
        return (field,)
    inherited = [one for one in rest() if one.state == "present" and one.attribute]
    if inherited:  # what a base leaves on the class stands there for the field too
        return (replace(field, attribute=True, reason=f"as {inherited[0].qualname} left it"),)
    return (field,)


def _not_found(lookup: Lookup, value: Value, name: str, doubt: str) -> Values:
    meta = metaclass(lookup, value)
    if meta is not None:
        if not meta.classes:
            return (undecidable(f"the metaclass {_words(meta)} may provide it"),)
        found = _search(lookup, meta, name, mro(lookup, meta)[:-1], "")
        if any(one.state == "present" for one in found):
            return found
        if gives_more(lookup, meta):
            return (undecidable(f"the metaclass {meta.qualname} may provide it"),)
    if doubt:
        return (undecidable(f"{doubt} may have it"),)
    if added := _added_later(lookup, value, name):
        return added
    if opened := _opened(lookup, value):
        return (undecidable(opened),)
    if name in _BY_TYPE:
        return (_inherited(_TYPE, name),)
    if name in _OF_CLASSES:
        return (undecidable(f"{name} is one that Python itself may set"),)
    return (_absent(lookup, value, name),)


def _added_later(lookup: Lookup, value: Value, name: str) -> Values:
    """Look into the bases that decorators add; () where they surely have no such name."""
    classes = (entry for entry in mro(lookup, value) if entry.classes)
    for base in (base for entry in classes for base in made(lookup, entry).bases):
        found = lookup.member(base, name)
        if any(one.state != "absent" for one in found):
            return found
    return ()


def _absent(lookup: Lookup, value: Value, name: str) -> Value:
    place = f"{value.module}:{value.qualname}"
    for entry in mro(lookup, value):
        found = _instance_attribute(entry, name) if entry.classes else None
        if found is not None:
            method, node = found
            reason = f"{entry.qualname}.{method.name} assigns it"
            if method.args.args[0].arg == "cls":
                return undecidable(reason)
            return replace(
                absent(f"an instance attribute of {place}, not one of the class: {reason}"),
                kind=Kind.INSTANCE_ATTRIBUTE,
                module=entry.module,
                qualname=f"{entry.qualname}.{name}",
                tree=entry.tree,
                nodes=(node,),
            )
        if entry.classes and fields.annotation(entry.classes[-1], name) is not None:
            return absent(f"{place} only annotates {name}, which leaves no attribute")
    return absent(f"the class {place} has no {name!r}")


def _outside(entry: Value, name: str) -> bool | None:
    return has_member(entry.dotted, name) if entry.kind is Kind.OUTSIDE else None


def _inherited(entry: Value, name: str) -> Value:
    module, _, owner = entry.dotted.rpartition(".")
    return Value(
        "present", Kind.OUTSIDE, module, f"{owner}.{name}", dotted=f"{entry.dotted}.{name}"
    )


def _doubted(value: Value, doubt: str, shadow: str) -> Value:
    reason = f"unless {doubt} has one" if doubt else shadow
    return value.unsure(reason) if reason and value.state == "present" else value


def _words(entry: Value) -> str:
    if entry.dotted:
        return f"{entry.dotted}, which lies outside the release,"
    return entry.reason or entry.qualname


# --- what is done to a class


def _opened_by(lookup: Lookup, entry: Value) -> str:
    work = made(lookup, entry)
    return work.opened or work.replaced or edits_of(lookup, entry).opened


def _opened(lookup: Lookup, value: Value) -> str:
    for entry in mro(lookup, value):
        if entry.classes:
            if opened := _opened_by(lookup, entry):
                return opened
            if _dynamic_body(entry):
                return f"{entry.qualname} builds attributes by code"
    return ""


def _dynamic_body(entry: Value) -> bool:
    """Whether the body of a class binds computed names."""
    return any(
        isinstance(node, ast.Call) and dotted(node.func) in ("locals", "vars", "exec")
        for statement in entry.classes[-1].body
        if not isinstance(statement, (*_DEFS, ast.ClassDef))
        for node in ast.walk(statement)
    )


def _instance_attribute(
    entry: Value, name: str
) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.AST] | None:
    assert entry.tree is not None
    if not re.search(rb"\.%s\b" % re.escape(name.encode()), entry.tree.source):
        return None
    for method in entry.classes[-1].body:
        if isinstance(method, _DEFS) and method.args.args:
            wanted = f"{method.args.args[0].arg}.{name}"
            for node in ast.walk(method):
                stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if stored and dotted(node) == wanted:
                    return method, node
    return None
