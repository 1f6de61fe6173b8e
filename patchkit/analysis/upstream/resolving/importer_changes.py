"""Finds what the text of a module sets on classes, those that it imports included."""

import re

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.values import Values, undecided

_SET_ON = (
    rb"^[ \t]*(?:%s\.(\w+)\s*=[^=]|del\s+%s\.(\w+)\b"
    rb"|(?:set|del)attr\(%s,\s*(?:[\"'](\w+)[\"']|([^\"'\s])))"
)
"""Statements that set or delete an attribute of a class; for `%s` stands its name."""
ANY = "*"
"""Stands for the attributes that `setattr(Owner, name, …)` sets."""


def set_by_text(tree: ModuleTree, owner: str) -> dict[str, int]:
    """List the attributes that a module spells out as set on a class, wherever it does so.

    Args:
        tree: The module, which need not be the one that defines the class.
        owner: The dotted name of the class there.

    Returns:
        For each attribute the line: of `Owner.x = …`, `del Owner.x`, `setattr(Owner, "x", …)`;
        for `ANY` that of a `setattr` with a name that is computed.
    """

    def search() -> dict[str, int]:
        found: dict[str, int] = {}
        text = tree.source
        # Plain searches are much faster than the pattern, and rule out almost every class.
        if f"{owner}.".encode() not in text and f"attr({owner}".encode() not in text:
            return found
        name = re.escape(owner.encode())
        for match in re.finditer(
            _SET_ON % (name, name, name), tree.source, re.MULTILINE
        ):
            spelled = [group.decode() for group in match.groups()[:3] if group]
            attribute = spelled[0] if spelled else ANY
            found[attribute] = tree.source.count(b"\n", 0, match.start()) + 1
        return found

    return tree.remember_with_file(("set by text", owner), search)


_SET_BY_INSTANCE = re.compile(rb"(?:\btype\(\w+\)|\b\w+\.__class__)\.(\w+)[ \t]*=(?!=)")
"""Statements such as `type(self).run = …`, which replace a method of the class."""


_ANY_BY_INSTANCE = re.compile(rb"\bsetattr\((?:type\(\w+\)|\w+\.__class__),\s*[^\"'\s]")
"""Statements such as `setattr(self.__class__, name, …)`."""


def sets_any_by_instances(tree: ModuleTree, first: int, last: int) -> int:
    """Return the line where a class sets names that are computed on the class of its instances.

    Args:
        tree: The module.
        first: The first line of the class.
        last: Its last line.

    Returns:
        0 if none does.
    """
    lines = tree.remember_with_file(
        "any set by instances",
        lambda: [
            tree.source.count(b"\n", 0, match.start()) + 1
            for match in _ANY_BY_INSTANCE.finditer(tree.source)
        ],
    )
    return next((line for line in lines if first <= line <= last), 0)


def set_by_instances(tree: ModuleTree, name: str) -> int:
    """Return the line where code of a module sets an attribute on the class of an object.

    Args:
        tree: The module.
        name: The attribute.

    Returns:
        0 if none does.
    """

    def search() -> dict[str, int]:
        # Plain searches rule out almost every module.
        if b"type(" not in tree.source and b".__class__." not in tree.source:
            return {}
        return {
            match[1].decode(): tree.source.count(b"\n", 0, match.start()) + 1
            for match in _SET_BY_INSTANCE.finditer(tree.source)
        }

    return tree.remember_with_file("set by instances", search).get(name, 0)


def changed_where_imported(
    tree: ModuleTree, owner: str, name: str, members: Values
) -> Values:
    """Return an attribute of a class for code of a module that imports the class, and may set it.

    Args:
        tree: The module.
        owner: The dotted name of the class there.
        name: The name of the attribute.
        members: What the attribute is in the module that defines the class.

    Returns:
        The same, or undecided values with the line.
    """
    line = set_by_text(tree, owner).get(name) if owner else None
    if line is None:
        return members
    reason = f"line {line} of {tree.name} sets or deletes {name} of {owner}"
    # What is defined in this module is told by `changes_below`.
    return tuple(
        undecided(reason, member.kind) if member.tree is not tree else member
        for member in members
    )
