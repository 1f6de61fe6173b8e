"""Writes definitions into a module beside those that it has, where a person would put them."""

import ast

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.authoring.source.global_names import (
    has_lazy_annotations,
    names_at_import,
)
from patchkit.authoring.source.indents import indented, margin_of
from patchkit.authoring.source.main_programs import is_main_program
from patchkit.authoring.source.members import ASSIGNMENTS, Member
from patchkit.authoring.source.module_text import (
    ModuleText,
    line_after,
    lines_of_statement,
)
from patchkit.errors import ScaffoldError


def add(module: ModuleText, member: Member, new: ast.stmt, text: str) -> None:
    """Put a definition at the end of a class or of the module; a value after the other ones.

    Args:
        module: the module, which is changed.
        member: what is added.
        new: its definition in the body.
        text: the definition under its new name, not indented.

    Raises:
        ScaffoldError: the module has another thing of that name, or no room for it.
    """
    code = module.read()
    if member.qualname in code.named:
        present = code.named[member.qualname]
        added = ast.parse(text).body
        # `bring` may have written the same definition for a change that uses it.
        if of_nodes([present]) == of_nodes(added):
            return
        raise ScaffoldError(f"{code.tree.path} has {member.qualname} already")
    if not member.owner:
        _add_to_module(module, member.name, text)
        return
    owner = code.defined(member.owner)
    if not isinstance(owner, ast.ClassDef):
        raise ScaffoldError(f"{member.owner} is no class in {code.tree.path}")
    is_value = isinstance(new, ASSIGNMENTS)
    add_member(module, owner, text, is_value=is_value)


def add_member(
    module: ModuleText, owner: ast.ClassDef, text: str, *, is_value: bool
) -> None:
    """Write a new member of a class.

    Args:
        module: the module, which is changed.
        owner: the class.
        text: the member, not indented.
        is_value: whether the member stands with the values of the class, and not at its end.

    Raises:
        ScaffoldError: the class has no lines of its own for its members.
    """
    code = module.read()
    last_member = owner.body[-1]
    if not code.has_lines_of_its_own(last_member):
        raise ScaffoldError(f"the class {owner.name} is written on one line")
    first_line, _ = lines_of_statement(last_member)
    member = indented(text, margin_of(module.line(first_line)))
    if isinstance(last_member, ast.Pass) and len(owner.body) == 1:
        # A class that has only `pass`: the member takes its place.
        module.put(first_line, first_line, member)
        return
    if not is_value:
        module.put_before(line_after(last_member), f"\n{member}")
        return
    above = _statement_above_new_value(owner)
    if above is not None:
        if above is owner.body[0] and _is_text(above):
            member = f"\n{member}"  # an empty line below the docstring of the class
        module.put_before(line_after(above), member)
        return
    # The class has methods alone: the value comes before them.
    first_line, _ = lines_of_statement(owner.body[0])
    module.put_before(first_line, f"{member}\n")


def _statement_above_new_value(owner: ast.ClassDef) -> ast.stmt | None:
    """Find the statement below which a new value of a class is written.

    Returns:
        The last value of the class, or the docstring of that value; without values, the docstring
        of the class; None where the class has none of these, and the new value comes first.
    """
    above: ast.stmt | None = None
    next_nodes = [*owner.body[1:], None]  # None: nothing follows the last statement
    for node, next_node in zip(owner.body, next_nodes, strict=True):
        is_docstring_of_class = node is owner.body[0] and _is_text(node)
        if isinstance(node, ASSIGNMENTS) or is_docstring_of_class:
            above = node
            if next_node is not None and _is_text(next_node):
                above = next_node  # the docstring of the value
    return above


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a string alone."""
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _add_to_module(module: ModuleText, name: str, text: str) -> None:
    """Put a definition before the first statement that reads its name as the module is imported.

    Where there is none, it comes before `if __name__ == "__main__":`, else at the end.
    """
    tree = module.read().tree.tree
    with_annotations = not has_lazy_annotations(tree)
    for node in tree.body:
        names = names_at_import(node, with_annotations=with_annotations)
        if is_main_program(node) or name in names:
            first, _ = lines_of_statement(node)
            module.put_before(module.above_comments(first), f"{text}\n\n")
            return
    lines = module.text.rstrip("\n").split("\n")
    module.put_before(len(lines) + 1, f"\n\n{text}")
