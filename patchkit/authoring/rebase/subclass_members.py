"""Merges a class that derives from upstream's: each member with what it overrides."""

import ast
from collections.abc import Collection

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.authoring.rebase.carried import UpstreamDefinition
from patchkit.authoring.source.definitions import Definitions, name_of
from patchkit.authoring.source.indents import dedented, indented, margin_of
from patchkit.authoring.source.module_text import ModuleText, lines_of_statement


def own_members(
    text: str, name: str, releases: Collection[UpstreamDefinition]
) -> set[str]:
    """List the members of a class that are no copies of upstream's, and need no merge.

    Upstream's class has no member of that name in any of the releases; or the member calls that of
    upstream's class by `super`, and so does what that does in each release.

    Args:
        text: the class, not indented.
        name: its name.
        releases: upstream's class in both releases.

    Returns:
        The names of the members.
    """
    own: set[str] = set()
    module = Definitions.of("body.py", text.encode())
    for member in _members(module, name):
        member_name = name_of(member)
        overrides = False
        for release in releases:
            if f"{release.qualname}.{member_name}" in release.module.named:
                overrides = True
        if not overrides or _calls_super(member, name):
            own.add(member_name)
    return own


def with_members_of(
    text: str, name: str, upstream: UpstreamDefinition, kept: Collection[str]
) -> str:
    """Return a class of a body with the members as upstream's class has them.

    Args:
        text: the class, not indented.
        name: its name.
        upstream: upstream's class.
        kept: the names of the members that stay as they are.
    """
    changed = ModuleText("body.py", text)
    # From the last one to the first, so that the lines of the others stay where they are.
    for member in reversed(_members(changed.read(), name)):
        member_name = name_of(member)
        if member_name in kept:
            continue
        first, last = lines_of_statement(member)
        margin = margin_of(changed.line(first))
        definition = upstream.module.named.get(f"{upstream.qualname}.{member_name}")
        # Where upstream's class lacks it, something has to stand there: it may be the only member.
        new_text = "pass"
        if definition is not None:
            new_text = dedented(upstream.module.text(definition))
        changed.put(first, last, indented(new_text, margin))
    return changed.text


def _members(module: Definitions, name: str) -> list[ast.stmt]:
    """List the statements of a class that define one member each."""
    node = module.named[name]
    statements = node.body if isinstance(node, ast.ClassDef) else []
    return [statement for statement in statements if name_of(statement)]


def _calls_super(member: ast.stmt, owner: str) -> bool:
    """Whether a method of a class calls what it overrides: `super().run()` in `run`.

    `super(Upstream, self).run()` calls what upstream's method overrides: it stands in a copy.
    """
    own_name = getattr(member, "name", "")
    for node in ast.walk(member):
        if not isinstance(node, ast.Attribute):
            continue
        call = node.value
        if node.attr != own_name or not isinstance(call, ast.Call):
            continue
        class_in_call = owner  # which is what `super()` means
        if call.args:
            class_in_call = dotted(call.args[0])
        if dotted(call.func) == "super" and class_in_call == owner:
            return True
    return False
