"""Writes definitions into a module in the place of those that set the same name."""

import ast

from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.scaffold.source_edits import rewritten, span
from patchkit.authoring.source.decorators import kept_decorators, shapes_functions
from patchkit.authoring.source.definitions import Definitions, names_in
from patchkit.authoring.source.indents import indented, margin_of
from patchkit.authoring.source.members import ASSIGNMENTS, Member
from patchkit.authoring.source.module_text import (
    ModuleText,
    line_after,
    lines_of_statement,
)
from patchkit.authoring.source.unpacking import values_by_name
from patchkit.authoring.source.values import value_text
from patchkit.errors import ScaffoldError


def replace(module: ModuleText, member: Member, new: ast.stmt, text: str) -> str | None:
    """Put a definition in the place of what sets a name.

    Where the name is set together with others, they keep their values: its own value is
    replaced if the assignment has one for each name, and the new one reads none of them; else
    it is set anew on the next line.

    Args:
        module: the module, which is changed.
        member: what is replaced, and by what.
        new: the definition in the body.
        text: the definition under its new name, not indented.

    Returns:
        The new value, if only that was written, and not its annotation or the other names of its
        statement: `_write` in `transplant` then brings what the value uses alone. Else None.

    Raises:
        ScaffoldError: the name is set in a way that has no such place.
    """
    code = module.read()
    qualname = member.qualname
    refuse_imported(code, qualname)
    old = code.setter(qualname)
    first_line, _ = lines_of_statement(old)
    margin = margin_of(module.line(first_line))
    value = value_text(text, margin)
    if isinstance(new, ASSIGNMENTS) and value is None:
        raise ScaffoldError(f"{member.by} has no value")
    # Of a field of a dataclass, the new annotation counts, too: not the value alone is replaced.
    is_field = isinstance(new, ast.AnnAssign) and member.is_merged
    if value is not None and isinstance(old, ASSIGNMENTS) and not is_field:
        _replace_value(module, code, member, old, value)
        return value
    if not code.has_lines_of_its_own(old):
        raise ScaffoldError(f"it shares its lines with other code than {qualname}")
    if qualname not in code.named:  # the statement sets other names, too, and stays
        module.put_before(line_after(old), indented(text, margin))
    else:
        _replace_definition(module, code, member, new, indented(text, margin))
    return None


def refuse_imported(code: Definitions, name: str) -> None:
    """Refuse a name that a module has from another one.

    Args:
        code: what the module defines.
        name: the name.

    Raises:
        ScaffoldError: the module only imports it.
    """
    if name in code.imports and name not in code.named:
        raise ScaffoldError(
            f"{code.tree.name} only imports it ({code.imports[name]}), and the patch replaces it "
            "there alone; name it where it is defined"
        )


def _replace_value(
    module: ModuleText, code: Definitions, member: Member, old: ast.stmt, value: str
) -> None:
    """Give a name another value, in the statement that sets it or on the next line.

    Args:
        module: the module, which is changed.
        code: what it defines.
        member: what gets the value.
        old: the statement that sets it.
        value: the new value.

    Raises:
        ScaffoldError: the value needs a line of its own, and the statement shares its lines.
    """
    source = code.tree.source
    assert isinstance(old, ASSIGNMENTS)
    values = values_by_name(old)
    old_value = old.value
    if member.qualname not in code.named:  # one of several names, as in `A, B = 1, 2`
        old_value = values.get(member.name)
    names_of_new = names_in(ast.parse(f"({value})"))
    # A value that reads a name set here means what the statement sets: it has to come after that.
    can_stand_here = names_of_new.isdisjoint({member.name, *values})
    is_declaration = isinstance(old, ast.AnnAssign) and old.value is None
    if old_value is not None and can_stand_here:
        start, end = span(source, old_value)
        module.text = rewritten(source, lambda _: [(start, end, value)]).decode()
    elif is_declaration and can_stand_here:
        _, end = span(source, old)
        module.text = rewritten(source, lambda _: [(end, end, f" = {value}")]).decode()
    elif not code.has_lines_of_its_own(old):
        raise ScaffoldError(
            f"it shares its lines with other code than {member.qualname}"
        )
    else:
        first_line, _ = lines_of_statement(old)
        margin = margin_of(module.line(first_line))
        module.put_before(line_after(old), f"{margin}{member.name} = {value}")


def _replace_definition(
    module: ModuleText, code: Definitions, member: Member, new: ast.stmt, text: str
) -> None:
    """Put a definition in the place of another statement, with the decorators that hold for both.

    Args:
        module: the module, which is changed.
        code: what it defines.
        member: what is replaced, and by what.
        new: the definition in the body.
        text: the definition under its new name, indented.

    Raises:
        ScaffoldError: it is not known with which decorators it has to stand there.
    """
    old = code.named[member.qualname]
    first, last = lines_of_statement(old)
    if member.keeps_kind:
        _refuse_unknown_kind(old, new, member)
        if isinstance(new, DEFS) and isinstance(old, DEFS):
            kept = kept_decorators(old, new, unrelated=member.unrelated)
            text = "".join(_decorator_lines(code, old, kept)) + text
    module.put(first, last, text)


def _refuse_unknown_kind(old: ast.stmt, new: ast.stmt, member: Member) -> None:
    """Refuse a definition of which the text does not say what `Replace` would make of it.

    Args:
        old: the definition in the module.
        new: the definition in the body.
        member: what is replaced, and by what.

    Raises:
        ScaffoldError: the reason.
    """
    old_value = getattr(old, "value", None)
    if isinstance(new, DEFS) and isinstance(old_value, ast.Call) and member.owner:
        # `m = make_m()` in a class may be a static method, a property, or a plain one.
        raise ScaffoldError("upstream makes it by a call, which decides what it is")
    new_value = getattr(new, "value", None)
    # Of `f = make_f()` it is not known whether that is a function, to which `Replace` gives the
    # decorators of upstream's.
    may_be_function = isinstance(
        new_value, (ast.Lambda, ast.Name, ast.Attribute, ast.Call)
    )
    is_shaped = isinstance(old, DEFS) and shapes_functions(old.decorator_list)
    if may_be_function and is_shaped:
        raise ScaffoldError(
            "it may be a function, which takes on upstream's decorators"
        )


def _decorator_lines(
    code: Definitions, node: ast.stmt, decorators: list[ast.expr]
) -> list[str]:
    """Return the lines of decorators of a function, each indented as the function is."""
    source = code.tree.source
    margin = " " * node.col_offset  # a decorator stands in the column of its `def`
    lines: list[str] = []
    for decorator in decorators:
        start, end = span(source, decorator)
        lines.append(f"{margin}@{source[start:end].decode()}\n")
    return lines
