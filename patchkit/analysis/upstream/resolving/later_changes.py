"""Tells which attributes the code of a module sets on a class or function below its definition."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.called import function_called
from patchkit.analysis.upstream.resolving.function_code import SETTERS
from patchkit.analysis.upstream.resolving.later_code import (
    LaterCode,
    code_of,
    later_code,
)
from patchkit.analysis.upstream.resolving.other_names import (
    is_object,
    loose_variables,
    mentions_object,
    names_of,
)
from patchkit.analysis.upstream.resolving.signature_settings import (
    SIGNATURE_ATTRIBUTES,
)
from patchkit.analysis.upstream.resolving.statement_facts import (
    calls_at_import,
    innermost_argument,
)
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    Def,
    dotted,
)
from patchkit.analysis.upstream.resolving.touches import (
    HARMLESS,
    touched_by,
)
from patchkit.analysis.upstream.resolving.values import Lookup, Value

_COPIES = frozenset(
    {"dict", "frozenset", "id", "list", "print", "repr", "set", "str", "tuple", "zip"}
)
"""Functions that set nothing on what they are passed, but hold or show it."""
_OF_SIGNATURES = (
    b"__signature__",
    b"__wrapped__",
    b"__code__",
    b"__defaults__",
    b"__kwdefaults__",
    b"update_wrapper",
    b"__dict__",
)
"""What the text of a module has if its code may give a function another signature."""


class Setting(NamedTuple):
    """A statement below a class, which may set or delete an attribute of it.

    Args:
        text: Where it stands, for the report: "line 12", or "fix() at line 12".
        statement: The statement.
        deletes: Whether it deletes the attribute.
    """

    text: str
    statement: ast.stmt
    deletes: bool = False


class _Passing(NamedTuple):
    """A call below a class that is passed the class, or that calls a method of it.

    Args:
        function: The dotted name of what is called; '' if it has none.
        is_method: Whether it is a method of the class.
        setting: The statement.
    """

    function: str
    is_method: bool
    setting: Setting


class LaterChanges(NamedTuple):
    """What the code below a class may change on it.

    Args:
        names: The attributes that are set or deleted, each with the last statement that does so.
        open_reason: The first statement that may set other attributes, for the report; '' if none
            may.
        replaced_reason: The first statement that sets computed names, which may be those of
            methods; '' if none does.
        passings: The calls that are passed the class.
        patterns: What further attributes match that may be set, each with the words for the
            statement.
        certain: Those of the names that a call at the end of the class is certain to set.
    """

    names: dict[str, Setting]
    open_reason: str = ""
    replaced_reason: str = ""
    passings: tuple[_Passing, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    certain: frozenset[str] = frozenset()


def changes_below(lookup: Lookup, owner: Value) -> LaterChanges:
    """List what the code of a module may change on a class after its definition.

    Args:
        lookup: The release.
        owner: The class.

    Returns:
        The changes by statements of its own module that run at import, after the class statement,
        and by functions that these call.
    """
    changes = direct_changes(owner)
    if not changes.passings:
        return changes
    key = ("edits by calls", id(owner.class_statement))
    return lookup.remember(
        owner.module_tree.conclusions,
        key,
        lambda: _with_passings(lookup, owner, changes),
    )


def direct_changes(owner: Value) -> LaterChanges:
    """List what statements below a class change on it.

    Args:
        owner: The class.

    Returns:
        The changes, with the calls that are passed the class, which are not followed.
    """
    statement = owner.class_statement
    end = owner.classes[0].end_lineno or 0  # of the outermost class around it
    key = ("edits", id(statement))
    return owner.module_tree.remember_with_file(
        key, lambda: _changes_below(owner, statement.name, end)
    )


def may_change_signature(lookup: Lookup, function: Value) -> str:
    """Say what code below a function gives it another signature.

    Args:
        lookup: The release.
        function: The function, or a method.

    Returns:
        The words for the report; '' if there is none.
    """
    tree = function.module_tree
    # Most modules have no such code, and are spared the walk.
    if not tree.remember_with_file(
        "signatures", lambda: any(word in tree.source for word in _OF_SIGNATURES)
    ):
        return ""
    node = function.nodes[0]
    assert isinstance(node, DEFS)
    key = ("signature", id(node))
    return lookup.remember(
        tree.conclusions, key, lambda: _signature_change(lookup, function, node)
    )


def _signature_change(lookup: Lookup, function: Value, node: Def) -> str:
    """Work out what changes a signature; see `may_change_signature`, which remembers it."""
    classes = function.scope.classes if function.scope else ()
    end = node.end_lineno or 0
    bodies: list[tuple[Iterable[LaterCode], set[str]]] = []
    if classes:
        # In the body of its class it goes by its plain name.
        below = [one for one in classes[-1].body if (one.end_lineno or 0) > end]
        inside = [code for code in code_of(below) if code.statement.lineno > end]
        bodies.append((inside, {node.name}))
        end = classes[0].end_lineno or 0
    later = later_code(function.module_tree, end)
    bodies.append((later, names_of(function.module_tree, function.qualname)))
    loose = loose_variables(function.module_tree)
    for places, names in bodies:
        changes = _read(places, names, loose, function.qualname)
        if changes.replaced_reason:
            return changes.replaced_reason
        changes = _with_passings(lookup, function, changes)
        for name, setting in changes.names.items():
            if name in SIGNATURE_ATTRIBUTES:
                return f"{setting.text} sets {name} of {function.qualname}"
    return ""


def _changes_below(owner: Value, name: str, end: int) -> LaterChanges:
    """Work out what is changed on a class later; see `direct_changes`, which remembers it."""
    tree = owner.module_tree
    # A name that occurs only where it is defined is not changed: this spares most classes the walk.
    loose = loose_variables(tree)
    if tree.source.count(name.encode()) < 2 and not loose:
        return LaterChanges({})
    names = names_of(tree, owner.qualname)
    return _read(later_code(tree, end), names, loose, owner.qualname)


def _read(
    places: Iterable[LaterCode],
    names_of_owner: set[str],
    loose: set[str],
    qualname: str,
) -> LaterChanges:
    """Read what statements change on an object.

    Args:
        places: The statements.
        names_of_owner: The dotted names of the object in them.
        loose: Variables that may stand for it, as for any object of the module.
        qualname: Its own name, for the report.
    """
    names: dict[str, Setting] = {}
    replaced_reason = ""
    passings: list[_Passing] = []
    names_set = names_of_owner | loose
    for place in places:
        setting = Setting(place.text, place.statement)
        for node in place.nodes:
            attribute = _attribute_set(node, names_set)
            if attribute:
                names[attribute] = setting._replace(deletes=_is_deletion(node))
            elif attribute is None:  # `setattr` with a name that is computed
                reason = f"{setting.text} may set it on {qualname}"
                replaced_reason = replaced_reason or reason
            elif isinstance(node, ast.Call):
                passing = _passing(node, names_of_owner, setting)
                if passing is not None:
                    passings.append(passing)
    return LaterChanges(names, replaced_reason, replaced_reason, tuple(passings))


def _is_deletion(node: ast.AST) -> bool:
    """Whether an expression deletes an attribute: `del C.x`, or `delattr(C, "x")`."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Del)
    return isinstance(node, ast.Call) and "delattr" in dotted(node.func)


def _attribute_set(node: ast.AST, names: set[str]) -> str | None:
    """Return the attribute of a class that an expression sets or deletes.

    Args:
        node: The expression: the target `C.x`, or the call `setattr(C, "x", …)`.
        names: The dotted names of the class.

    Returns:
        '' if it sets none; None for a call that sets one whose name is not spelled out.
    """
    if isinstance(node, ast.Attribute):
        is_set = isinstance(node.ctx, (ast.Store, ast.Del))
        if is_set and is_object(node.value, names):
            return node.attr
    elif isinstance(node, ast.Call):
        owner, _, setter = dotted(node.func).rpartition(".")
        if owner.endswith(".__dict__") and owner.removesuffix(".__dict__") in names:
            return None  # `f.__dict__.update(…)`
        if setter == "update_wrapper" and node.args and is_object(node.args[0], names):
            return "__wrapped__"
        if setter not in SETTERS | {"__delattr__"} or len(node.args) < 2:
            return ""
        if is_object(node.args[0], names):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return name.value
            return None
    return ""


def _passing(call: ast.Call, names: set[str], setting: Setting) -> _Passing | None:
    """Return a call that may set attributes on a class; None for any other call.

    Args:
        call: The call: it is passed the class, perhaps in a list, or calls a method of the class.
        names: The dotted names of the class.
        setting: The statement that it stands in.
    """
    function = dotted(call.func)
    called_on, _, name = function.rpartition(".")
    if called_on in names:
        return _Passing(name, True, setting)
    arguments: Sequence[ast.AST] = [*call.args, *call.keywords]
    # `f(g(C))` passes on what `g` returns, which may be the class.
    is_argument = any(
        mentions_object(innermost_argument(argument), names) for argument in arguments
    )
    if not is_argument or name in HARMLESS or name in _COPIES:
        return None
    if name in ("map", "filter"):  # it calls the function that it is passed first
        function = dotted(call.args[0])
    return _Passing(function, False, setting)


def _with_passings(lookup: Lookup, owner: Value, changes: LaterChanges) -> LaterChanges:
    """Add what the functions set that are passed a class.

    Args:
        lookup: The release.
        owner: The class, or a function.
        changes: What statements below it change, with the calls.
    """
    names = dict(changes.names)
    open_reason = changes.open_reason
    replaced_reason = changes.replaced_reason
    patterns: list[tuple[str, str]] = []
    certain: set[str] = set()
    tree = owner.module_tree
    for passing in changes.passings:
        setting = passing.setting
        reason = f"{setting.text} may set it on {owner.qualname}"
        function = _function_passed(lookup, owner, passing)
        if function is None:
            open_reason = open_reason or reason
            continue
        touched = touched_by(lookup, function)
        for name in touched.names:
            names.setdefault(name, setting._replace(deletes=name in touched.removed))
        if calls_at_import(tree, setting.statement, owner.qualname):
            certain |= touched.certain
        patterns += [(pattern, reason) for pattern in touched.patterns]
        if touched.may_set_others:
            open_reason = open_reason or reason
        if touched.replaces_any:
            replaced_reason = replaced_reason or reason
    return LaterChanges(
        names,
        open_reason,
        replaced_reason,
        patterns=tuple(patterns),
        certain=frozenset(certain),
    )


def _function_passed(lookup: Lookup, owner: Value, passing: _Passing) -> Value | None:
    """Find the function of the release that is passed a class, or the method that is called."""
    if passing.is_method:
        if owner.has_class_statement:
            for method in owner.class_statement.body:
                if isinstance(method, DEFS) and method.name == passing.function:
                    return replace(owner, nodes=(method,))
        return None
    called_on, _, name = passing.function.rpartition(".")
    if not name:
        return None
    found = function_called(lookup, owner.module_tree, called_on, name)
    if found is None:
        return None
    return replace(owner, nodes=(found.node,), tree=found.tree, classes=())
