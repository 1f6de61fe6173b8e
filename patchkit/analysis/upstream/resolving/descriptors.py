"""Tells what objects in the body of a class set on it by `__set_name__`, once the body has run."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, dotted, walk
from patchkit.analysis.upstream.resolving.touches import touched_by
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value


def set_by_descriptors(lookup: Lookup, classes: Sequence[Value], name: str) -> str:
    """Say which object in the body of a class may set an attribute by its `__set_name__`.

    Args:
        lookup: The release.
        classes: The class and its bases of the release.
        name: The attribute.

    Returns:
        The words for the report; '' if none may.
    """
    for owner in classes:
        reasons = _reasons(lookup, owner)
        reason = reasons.get(name) or reasons.get("")
        if reason:
            return reason
    return ""


def assigns_objects(owner: Value) -> bool:
    """Whether the body of a class assigns what a call returns: `size = Field()`.

    Args:
        owner: The class.
    """
    return any(
        isinstance(statement, (ast.Assign, ast.AnnAssign))
        and isinstance(statement.value, ast.Call)
        for statement in owner.class_statement.body
    )


def _reasons(lookup: Lookup, owner: Value) -> dict[str, str]:
    """Return the words for each attribute that is set; those under '' stand for any."""
    key = ("set by descriptors", id(owner.class_statement))
    return lookup.remember(
        owner.module_tree.conclusions, key, lambda: _find_reasons(lookup, owner)
    )


def _find_reasons(lookup: Lookup, owner: Value) -> dict[str, str]:
    """Work out what is set; see `_reasons`, which remembers it."""
    reasons: dict[str, str] = {}
    for cls in _classes_of_objects(lookup, owner):
        for hook in lookup.member(cls, "__set_name__"):
            if (
                hook.tree is None
                or not hook.nodes
                or not isinstance(hook.nodes[0], DEFS)
            ):
                continue
            touched = touched_by(lookup, replace(hook, classes=cls.classes))
            reason = f"{cls.qualname}.__set_name__ may set it"
            names = touched.names - _set_on_itself(hook.nodes[0])
            reasons |= dict.fromkeys(names, reason)
            if touched.may_set_others or touched.patterns:
                reasons[""] = reason
    return reasons


def _set_on_itself(hook: Def) -> set[str]:
    """List the attributes that a `__set_name__` sets on the object itself, and on nothing else."""
    on_itself: set[str] = set()
    on_others: set[str] = set()
    first = hook.args.args[0].arg if hook.args.args else ""
    for node in walk(hook):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if dotted(node.value) == first:
                on_itself.add(node.attr)
            else:
                on_others.add(node.attr)
    return on_itself - on_others


def _classes_of_objects(lookup: Lookup, owner: Value) -> Iterator[Value]:
    """List the classes of the release whose instances the body of a class makes."""
    scope = Scope(owner.module_tree, owner.classes)
    for statement in owner.class_statement.body:
        makers: list[ast.expr] = []
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            if isinstance(statement.value, ast.Call):
                makers.append(statement.value.func)
        elif isinstance(statement, DEFS):
            makers += statement.decorator_list
        for maker in makers:
            for value in lookup.evaluate(maker, replace(scope, until=statement)):
                if value.has_class_statement:
                    yield value
