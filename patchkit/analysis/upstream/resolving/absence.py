"""Says why a class has no attribute of a name, or what may set one on it."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.classes import class_effects
from patchkit.analysis.upstream.resolving.computed_names import reason_to_set
from patchkit.analysis.upstream.resolving.later_changes import changes_below
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted, walk
from patchkit.analysis.upstream.resolving.type_declarations import declared_for_types
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Value,
    absent,
    undecided,
)


def absent_from(value: Value, classes: Sequence[Value], name: str) -> Value:
    """Say why a class has no attribute; undecided if a class method assigns it.

    Args:
        value: The class.
        classes: The class and its bases, without those outside the release.
        name: The name of the attribute.

    Returns:
        An absent value; for an attribute of instances, with what is assigned and the method that
        assigns it as its nodes.
    """
    class_name = f"{value.module}:{value.qualname}"
    for owner in classes:
        assignment = next(_assignments(owner, name), None)
        if assignment is not None:
            method, node = assignment
            reason = f"{owner.qualname}.{method.name} assigns it"
            if _is_on_class(method, node):  # the class has it once that was called
                return undecided(reason)
            description = f"an instance attribute of {class_name}, not one of the class"
            attribute = owner.own_attribute(
                name,
                Kind.INSTANCE_ATTRIBUTE,
                node,
                method,
                reason=f"{description}: {reason}",
            )
            return replace(attribute, state="absent")
        if declared_for_types(owner.module_tree, owner.class_statement.body, name):
            return undecided(f"{owner.qualname} declares {name} for type checkers")
        annotation = fields.last_annotation(owner.class_statement, name)
        if annotation is not None and _is_of_classes(annotation):
            return undecided(f"{owner.qualname} declares {name}, which other code sets")
        if annotation is not None:
            reason = f"{class_name} only annotates {name}, which leaves no attribute"
            return absent(reason)
    return absent(f"the class {class_name} has no {name!r}")


def _is_of_classes(node: ast.AnnAssign) -> bool:
    """Whether an annotation is one of an attribute that classes have: `ClassVar[…]`, `type[…]`."""
    annotation = node.annotation
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    kind = dotted(annotation).rpartition(".")[2]
    return kind in ("ClassVar", "Type", "type")


def open_reason_of(lookup: Lookup, owner: Value, name: str) -> str:
    """Say what may set an attribute on a class that is not known to be set.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.

    Returns:
        The words for the report; '' if nothing may.
    """
    effects = class_effects(lookup, owner)
    return (
        effects.open_reason
        or effects.replaced_reason
        or changes_below(lookup, owner).open_reason
        or reason_to_set(effects.patterns, name)
        or reason_to_set(changes_below(lookup, owner).patterns, name)
        or _reason_of_model(lookup, owner, name)
    )


def _reason_of_model(lookup: Lookup, owner: Value, name: str) -> str:
    """Say that pydantic may write the `__hash__` of a class; '' for any other attribute."""
    if name == "__hash__" and fields.flavour(lookup, owner) == "basemodel":
        return f"pydantic writes {name} if {owner.qualname} is frozen"
    return ""


def built_by_code(owner: Value) -> str:
    """Say that code in the body of a class may bind any name.

    Args:
        owner: The class.

    Returns:
        The words for the report; '' if there is no such code.
    """
    for statement in owner.class_statement.body:
        if isinstance(statement, SCOPES):
            continue
        for node in walk(statement):
            if isinstance(node, ast.Call) and dotted(node.func) in (
                "locals",
                "vars",
                "exec",
            ):
                return f"{owner.qualname} builds attributes by code"
    return ""


def _assignments(owner: Value, name: str) -> Iterator[tuple[Def, ast.Attribute]]:
    """List where methods of a class assign an attribute of it, or of its instances.

    Args:
        owner: The class.
        name: The attribute: what is assigned is `self.name`, `cls.name`, `type(self).name`,
            `self.__class__.name` or `Class.name`.

    Yields:
        The method, and what it assigns; what it assigns on the class comes first.
    """
    # Most files have no `.name` at all: a search of the text spares them the walk.
    if not re.search(rb"\.%s\b" % re.escape(name.encode()), owner.module_tree.source):
        return
    on_instances: list[tuple[Def, ast.Attribute]] = []
    for method in owner.class_statement.body:
        if not isinstance(method, DEFS):
            continue
        first = method.args.args[0].arg if method.args.args else ""
        objects = {first, f"{first}.__class__", "__class__", owner.qualname}
        for node in walk(method):
            if not isinstance(node, ast.Attribute) or node.attr != name:
                continue
            if not isinstance(node.ctx, ast.Store):
                continue
            if _is_type_of(node.value, first) or dotted(node.value) in objects - {""}:
                if _is_on_class(method, node):
                    yield method, node
                else:
                    on_instances.append((method, node))
    yield from on_instances


def _is_type_of(node: ast.expr, name: str) -> bool:
    """Whether an expression is `type(name)`."""
    if not isinstance(node, ast.Call) or dotted(node.func) != "type":
        return False
    return [dotted(argument) for argument in node.args] == [name]


def _is_on_class(method: Def, assigned: ast.Attribute) -> bool:
    """Whether what a method assigns is an attribute of the class, not of an instance."""
    if not method.args.args:
        return True
    first = method.args.args[0].arg
    return first == "cls" or dotted(assigned.value) != first
