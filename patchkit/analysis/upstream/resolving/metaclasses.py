"""Tells which metaclass a class has, and what that sets on the classes that it makes."""

import ast
from collections.abc import Iterator
from functools import partial

from patchkit.analysis.upstream.resolving.class_passing import with_passing
from patchkit.analysis.upstream.resolving.classes import mro
from patchkit.analysis.upstream.resolving.metaclass_source import (
    OPEN,
    MetaclassSettings,
    settings_of,
)
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.outside import (
    NOT_PLAIN,
    OBJECT_FACTORIES,
    is_class,
    is_only_of_metaclass,
)
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, walk
from patchkit.analysis.upstream.resolving.values import (
    AS_METHOD,
    Kind,
    Lookup,
    Scope,
    Value,
    undecided,
)

_KNOWN_METACLASSES = frozenset(
    {"builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"}
)
_MAKERS = frozenset({"__new__", "__init__", "__prepare__"})
_READ = frozenset({"__new__", "__init__"})
"""Those of the methods that make classes whose code is followed."""
_ANSWERS = frozenset({"__getattr__", "__getattribute__"})
"""Methods that answer for attributes that a class does not have."""


def metaclass(lookup: Lookup, value: Value) -> Value | None:
    """Find the metaclass of a class.

    Args:
        lookup: The release.
        value: The class.

    Returns:
        None for `type` and its well-known subclasses, which add no names.
    """
    for meta in named_metaclasses(lookup, value):
        if meta.dotted not in _KNOWN_METACLASSES:
            return meta
    return None


def named_metaclasses(lookup: Lookup, value: Value) -> Iterator[Value]:
    """List the metaclasses that a class and its bases name, nearest first.

    Args:
        lookup: The release.
        value: The class.

    Yields:
        Each metaclass; an undecided value for an expression that may be several.
    """
    for ancestor in mro(lookup, value):
        if not ancestor.has_class_statement:
            if ancestor.kind is Kind.CLASS and ancestor.instance_of is not None:
                yield ancestor.instance_of  # `Base = Meta("Base", (), {})`
            continue
        for keyword in ancestor.class_statement.keywords:
            if keyword.arg != "metaclass":
                continue
            metaclasses = lookup.evaluate(keyword.value, ancestor.definition_scope)
            if len(metaclasses) == 1:
                yield metaclasses[0]
            else:
                yield undecided(f"the metaclass {ast.unparse(keyword.value)}")


def is_metaclass(lookup: Lookup, value: Value) -> bool:
    """Whether a class of the release derives from `type`, as far as its bases are known.

    Args:
        lookup: The release.
        value: The class.
    """
    return any(ancestor.dotted == "builtins.type" for ancestor in mro(lookup, value))


def function_as_metaclass(lookup: Lookup, value: Value, scope: Scope) -> str:
    """Say that a class names a function as its metaclass, which may return any object.

    Args:
        lookup: The release.
        value: The class.
        scope: Where it stands.

    Returns:
        The words for the report; '' if it names none.
    """
    for keyword in value.class_statement.keywords:
        if keyword.arg == "metaclass":
            for maker in lookup.evaluate(keyword.value, scope):
                if maker.kind in AS_METHOD:  # a plain function
                    return f"{maker.qualname}() makes it, and may return anything"
    return ""


def is_of_metaclass(lookup: Lookup, owner: Value, attribute: Value) -> bool:
    """Whether a class has an attribute only because its metaclass has it.

    Instances do not have it, and a change of it has to name the metaclass.

    Args:
        lookup: The release.
        owner: The class.
        attribute: What the attribute of the class was resolved to.
    """
    definer, _, name = attribute.dotted.rpartition(".")
    if attribute.kind is Kind.OUTSIDE:
        bases = {ancestor.dotted for ancestor in mro(lookup, owner)}
        return is_only_of_metaclass(definer, name, is_base=definer in bases)
    meta = metaclass(lookup, owner)
    if meta is None or not meta.has_class_statement or not attribute.module:
        return False
    definer_names = (attribute.module, attribute.qualname.rpartition(".")[0])
    return any(
        (ancestor.module, ancestor.qualname) == definer_names
        for ancestor in mro(lookup, meta)
    )


def makes_instances(lookup: Lookup, callee: Value, name: str) -> bool:
    """Whether a call returns an instance of what is called, or another plain object.

    Args:
        lookup: The release.
        callee: What is called.
        name: Its dotted name, if it is outside the release.
    """
    if callee.kind is Kind.OUTSIDE:
        return name in OBJECT_FACTORIES or (is_class(name) and name != "builtins.type")
    if not callee.has_class_statement or not callee.is_sure:
        return False
    if metaclass(lookup, callee) is not None:
        return False  # its `__call__` may return anything
    outside_bases = [
        ancestor for ancestor in mro(lookup, callee) if not ancestor.has_class_statement
    ]
    constructors = lookup.member(callee, "__new__")
    # A `__new__` of the release, or of a base that is not known, may return anything, too.
    if any(value.kind is not Kind.OUTSIDE for value in (*outside_bases, *constructors)):
        return False
    return not any(base.dotted in NOT_PLAIN for base in outside_bases)


def may_provide(lookup: Lookup, meta: Value, name: str) -> bool:
    """Whether a metaclass may give a class a name that no statement of the class binds.

    Args:
        lookup: The release.
        meta: The metaclass.
        name: The name of the attribute.
    """
    if any(_methods(lookup, meta, _ANSWERS)):
        return True
    settings = _settings(lookup, meta)
    return settings.is_open or name in settings.names


def set_by_metaclass(lookup: Lookup, owner: Value, name: str) -> str:
    """Say that the metaclass of a class sets an attribute on it, special ones included.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute, which the class has of itself or of a base.

    Returns:
        The words for the report; '' if its source does not name the attribute.
    """
    meta = metaclass(lookup, owner)
    if meta is None or not meta.has_class_statement:
        return ""
    settings = _settings(lookup, meta)
    # What it stores on any object, such as on a base that it adds, may be of the class.
    if name in settings.names or (settings.is_open and _stores(lookup, meta, name)):
        return f"the metaclass {meta.qualname} may replace it"
    return ""


def _stores(lookup: Lookup, meta: Value, name: str) -> bool:
    """Whether a metaclass, or a base of it, assigns to an attribute while it makes a class."""
    for ancestor in mro(lookup, meta):
        for maker in _own_methods(ancestor, _MAKERS):
            stored = ancestor.module_tree.remember_with_file(
                ("stored", id(maker)), partial(_stored_attributes, maker)
            )
            if name in stored:
                return True
    return False


def _stored_attributes(maker: ast.stmt) -> frozenset[str]:
    """Return the attributes that a function assigns to, of whatever objects."""
    return frozenset(
        node.attr
        for node in walk(maker)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


def set_on_classes(lookup: Lookup, owner: Value) -> dict[str, str]:
    """List what the metaclass of a class sets on it.

    Args:
        lookup: The release.
        owner: The class.

    Returns:
        For each attribute the words for the report.
    """
    meta = metaclass(lookup, owner)
    if meta is None or not meta.has_class_statement:
        return {}
    names = _settings(lookup, meta).names
    return dict.fromkeys(names, f"the metaclass {meta.qualname}")


def may_change_body(lookup: Lookup, owner: Value, name: str) -> bool:
    """Whether a metaclass may make a class of another body than the one that is written down.

    Args:
        lookup: The release.
        owner: The class.
        name: The name in its body that counts; a special one, which most leave alone.
    """
    meta = metaclass(lookup, owner)
    is_function = meta is not None and meta.kind in AS_METHOD
    return is_function or bool(set_by_metaclass(lookup, owner, name))


def after_metaclass(lookup: Lookup, owner: Value, name: str, value: Value) -> Value:
    """Return an attribute of a class, as undecided if the metaclass may replace or remove it.

    Args:
        lookup: The release.
        owner: The class whose body binds the attribute.
        name: The name of the attribute.
        value: What the body binds it to.

    Returns:
        The value as it was, or an undecided one.
    """
    # Metaclasses are taken to leave special names such as `__doc__` alone.
    if name.startswith("__"):
        return value
    meta = metaclass(lookup, owner)
    if meta is not None and meta.kind in AS_METHOD:
        return undecided(f"{meta.qualname}() makes {owner.qualname} of its body")
    if meta is None or not meta.has_class_statement:
        return value
    # What `EnumMeta` makes of members is known, see `fields`.
    if any(ancestor.dotted.startswith("enum.") for ancestor in mro(lookup, meta)):
        return value
    settings = _settings(lookup, meta)
    is_removed = name in settings.removed
    is_function = bool(value.nodes) and isinstance(value.nodes[0], DEFS)
    is_set = name in settings.names
    if settings.is_open:
        # Metaclasses are taken to leave functions alone, too, unless they spell out the name.
        makers = _methods(lookup, meta, _MAKERS)
        is_set = not is_function or any(_mentions(maker, name) for maker in makers)
        is_removed = is_set
    if is_removed:
        return undecided(f"the metaclass {meta.qualname} may replace or remove it")
    if is_set:  # whatever it is then, the class has it
        return value.unsure(f"the metaclass {meta.qualname} may replace it")
    return value


def _settings(lookup: Lookup, meta: Value) -> MetaclassSettings:
    """List the attributes that a metaclass, and its bases in the release, set on classes."""
    key = ("settings", id(meta.class_statement))
    return lookup.remember(
        meta.module_tree.conclusions, key, lambda: _settings_of_bases(lookup, meta)
    )


def _settings_of_bases(lookup: Lookup, meta: Value) -> MetaclassSettings:
    """Work out what a metaclass sets; see `_settings`, which remembers it."""
    names: set[str] = set()
    removed: set[str] = set()
    for ancestor in mro(lookup, meta):
        for method in _own_methods(ancestor, _MAKERS):
            read = OPEN
            if isinstance(method, DEFS) and method.name in _READ:
                read = _settings_by(ancestor.module_tree, method)
                read = with_passing(lookup, ancestor.module_tree, read)
            if read.is_open:
                return OPEN
            names |= read.names
            removed |= read.removed
    return MetaclassSettings(frozenset(names), removed=frozenset(removed))


def _settings_by(tree: ModuleTree, method: Def) -> MetaclassSettings:
    """Read what one method sets, once for all classes of the metaclass."""
    key = ("settings", id(method))
    return tree.remember_with_file(key, lambda: settings_of(method))


def _mentions(function: ast.stmt, text: str) -> bool:
    return any(getattr(node, "value", None) == text for node in walk(function))


def _methods(lookup: Lookup, meta: Value, names: frozenset[str]) -> Iterator[ast.stmt]:
    """List the methods of some names that a metaclass and its bases define."""
    for ancestor in mro(lookup, meta):
        yield from _own_methods(ancestor, names)


def _own_methods(owner: Value, names: frozenset[str]) -> Iterator[ast.stmt]:
    """List the methods of some names that a class itself defines."""
    if owner.has_class_statement:
        for statement in owner.class_statement.body:
            if getattr(statement, "name", "") in names:
                yield statement
