"""Makes changes in the text of a module, as its author would write them."""

import ast
from collections.abc import Mapping
from typing import NamedTuple

from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.adopt.body_code import BodyCode, in_class
from patchkit.authoring.adopt.bringing import bring, bring_import
from patchkit.authoring.adopt.decorators import kept_decorators, makes_descriptor
from patchkit.authoring.adopt.definitions import (
    PARTS_OF_PROPERTY,
    Definitions,
    name_of,
    names_in,
)
from patchkit.authoring.adopt.global_names import (
    bound_names,
    has_lazy_annotations,
    names_at_import,
    used_names,
)
from patchkit.authoring.adopt.indents import indented, margin_of
from patchkit.authoring.adopt.module_text import (
    ModuleText,
    line_after,
    lines_of_statement,
)
from patchkit.authoring.adopt.subclasses import Subclass
from patchkit.authoring.adopt.unpacking import values_by_name
from patchkit.authoring.adopt.values import value_text
from patchkit.authoring.scaffold.source_edits import rewritten, span
from patchkit.core.rows.declaration import Add, Change, Edit, Replace
from patchkit.errors import ScaffoldError

_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)


class Member(NamedTuple):
    """What is written into a module, or into a class of it.

    Args:
        qualname: its qualified name there.
        by: the qualified name of its definition in the body.
        new_names: what is called otherwise in the module, by its name in the body.
        keeps_kind: whether a plain function becomes what upstream has there: a static method, a
            property, a cache.
        is_merged: whether it is the member of a class that is merged into upstream's.
        is_new: whether nothing has that name.
        unrelated: whether the row allows another thing in the place of what is there.
    """

    qualname: str
    by: str
    new_names: Mapping[str, str]
    keeps_kind: bool = False
    is_merged: bool = False
    is_new: bool = False
    unrelated: bool = False

    @property
    def owner(self) -> str:
        """The qualified name of the class; '' for a name of the module."""
        return self._without_part.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Its name in the class, or in the module."""
        return self._without_part.rpartition(".")[2]

    @property
    def _without_part(self) -> str:
        qualname = self.qualname
        for part in PARTS_OF_PROPERTY.values():
            qualname = qualname.removesuffix(part)
        return qualname


def make(module: ModuleText, change: Change, qualname: str, body: BodyCode) -> None:
    """Make one change of what a statement defines.

    Args:
        module: the module, which is changed.
        change: the change.
        qualname: the qualified name of what is changed, or added.
        body: the module that has the objects that changes name.

    Raises:
        ScaffoldError: the text cannot say what the change does.
        TargetError: an Edit does not fit the text of its function.
    """
    if isinstance(change, Edit):
        code = module.read()
        node = code.defined(qualname)
        first, last = lines_of_statement(node)
        module.put(first, last, edited(change, code.text(node)).rstrip("\n"))
    elif isinstance(change, (Add, Replace)):
        _transplant(module, change, qualname, body)
    else:
        raise ScaffoldError(f"{change.kind} has no text of its own")


def _transplant(
    module: ModuleText, change: Add | Replace, qualname: str, body: BodyCode
) -> None:
    """Write a definition of a body into the module, with what it uses."""
    definitions = body.definitions
    by = change.by
    if by == qualname and by in definitions.imports and by not in definitions.named:
        _bind_import(module, by, body)
        return
    new = definitions.defined(by)
    if isinstance(new, ast.ClassDef) and body.derives:
        _merge(module, new, Member(qualname, by, {}), body)
        return
    is_in_class = "." in qualname
    new_names: dict[str, str] = {}
    if not is_in_class:
        new_names[by] = qualname
        if isinstance(new, _ASSIGNMENTS):
            new_names.update(dict.fromkeys(body.target_names, qualname))
    member = Member(
        qualname,
        by,
        new_names,
        keeps_kind=body.keeps_kind and isinstance(change, Replace),
        is_new=isinstance(change, Add),
        unrelated=isinstance(change, Replace) and change.unrelated,
    )
    if is_in_class:
        _refuse_names_of_class(module, member, new)
    _write(module, member, body)


def _refuse_names_of_class(module: ModuleText, member: Member, new: ast.stmt) -> None:
    """Refuse what reads a name of its module that stands for another thing in the class."""
    owner = module.read().named.get(member.owner)
    names: set[str] = set()
    for node in getattr(owner, "body", ()):
        names |= bound_names(node)
    if member.qualname.endswith(tuple(PARTS_OF_PROPERTY.values())):
        names.discard(member.name)
    for name in sorted(names & names_at_import(new)):
        raise ScaffoldError(
            f"it uses the {name} of its module, and its class has another"
        )


def _bind_import(module: ModuleText, name: str, body: BodyCode) -> None:
    """Let the module import a name, in the place of what it imports under that name now."""
    code = module.read()
    for node in code.tree.tree.body:
        is_import = isinstance(node, (ast.Import, ast.ImportFrom))
        names = [alias.asname or alias.name for alias in getattr(node, "names", [])]
        if is_import and names == [name]:
            first, last = lines_of_statement(node)
            module.put(first, last, body.import_of(name))
            return
    if name in code.imports:
        raise ScaffoldError(f"the module imports {name} together with other names")
    bring_import(module, body.import_of(name))


def _write(module: ModuleText, member: Member, body: BodyCode) -> None:
    """Write a definition in the place of another one, or beside the others, with what it uses."""
    new = body.definitions.defined(member.by)
    code = body.moved(member.by, member.name, member.new_names)
    text = code.text
    upstream = module.read()
    if member.owner and isinstance(new, DEFS):
        text = in_class(text, member.owner)
        if member.by in code.names:
            raise ScaffoldError(f"it calls itself by its name in the body, {member.by}")
    is_there = member.qualname in {*upstream.named, *upstream.set_together}
    if member.is_new or (member.owner and not is_there):
        _add(module, member, body, text)
    else:
        text = _replace(module, member, body, text)
    bring(module, code.names & used_names(text), body, member.qualname)


def _add(module: ModuleText, member: Member, body: BodyCode, text: str) -> None:
    """Put a definition at the end of a class or of the module; a value after the other ones."""
    code = module.read()
    if member.qualname in code.named:
        if of_nodes([code.named[member.qualname]]) == of_nodes(ast.parse(text).body):
            return
        raise ScaffoldError(f"{code.tree.path} has {member.qualname} already")
    if not member.owner:
        line, gaps = _end_of_module(code.tree.tree, module.text)
        module.put_before(line, gaps.format(text))
        return
    owner = code.defined(member.owner)
    if not isinstance(owner, ast.ClassDef):
        raise ScaffoldError(f"{member.owner} is no class in {code.tree.path}")
    is_value = isinstance(body.definitions.defined(member.by), _ASSIGNMENTS)
    add_member(module, owner, text, is_value=is_value)
    for part in PARTS_OF_PROPERTY.values():
        _write_part(module, member, body, part)


def add_member(
    module: ModuleText, owner: ast.ClassDef, text: str, *, is_value: bool
) -> None:
    """Write a new member of a class.

    Args:
        module: the module, which is changed.
        owner: the class.
        text: the member, not indented.
        is_value: whether it stands with the values of the class, and not at its end.

    Raises:
        ScaffoldError: the class has no lines of its own for its members.
    """
    code = module.read()
    last = owner.body[-1]
    if not code.has_lines_of_its_own(last):
        raise ScaffoldError(f"the class {owner.name} is written on one line")
    first_line, _ = lines_of_statement(last)
    member = indented(text, margin_of(module.line(first_line)))
    if isinstance(last, ast.Pass) and len(owner.body) == 1:
        module.put(first_line, first_line, member)
        return
    if not is_value:
        module.put_before(line_after(last), f"\n{member}")
        return
    above = _last_value(owner)
    if above is not None:
        if above is owner.body[0] and _is_text(above):
            member = f"\n{member}"
        module.put_before(line_after(above), member)
        return
    first_line, _ = lines_of_statement(owner.body[0])
    module.put_before(first_line, f"{member}\n")


def _last_value(owner: ast.ClassDef) -> ast.stmt | None:
    """Return the statement that a new value of a class follows; None where it comes first."""
    last: ast.stmt | None = None
    for node, following in zip(owner.body, [*owner.body[1:], None], strict=True):
        is_first_docstring = node is owner.body[0] and _is_text(node)
        if isinstance(node, _ASSIGNMENTS) or is_first_docstring:
            last = node
            if following is not None and _is_text(following):
                last = following  # the docstring of the value
    return last


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a string alone."""
    value = getattr(node, "value", None)
    is_string = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return isinstance(node, ast.Expr) and is_string


def _end_of_module(tree: ast.Module, text: str) -> tuple[int, str]:
    """Return the line before which a definition is added, and the empty lines around it."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.If) and "__name__" in names_in(last.test):
        first, _ = lines_of_statement(last)
        return first, "{}\n\n"
    lines = text.rstrip("\n").split("\n")
    return len(lines) + 1, "\n\n{}"


def _replace(module: ModuleText, member: Member, body: BodyCode, text: str) -> str:
    """Put a definition in the place of what sets a name.

    Where the name is set together with others, they keep their values: its own value is
    replaced if the assignment has one for each name, and the new one reads none of them; else
    it is set anew on the next line.

    Args:
        module: the module, which is changed.
        member: what is replaced, and by what.
        body: the body that has the definition.
        text: the definition under its new name.

    Returns:
        The code that is written: the text, or the new value of an assignment alone.

    Raises:
        ScaffoldError: the name is set in a way that has no such place.
    """
    code = module.read()
    qualname = member.qualname
    _refuse_imported(code, qualname)
    old, *further = code.setters(qualname)
    if further:
        raise ScaffoldError(
            f"more than one statement of {code.tree.path} sets {qualname}"
        )
    new = body.definitions.defined(member.by)
    first_line, _ = lines_of_statement(old)
    margin = margin_of(module.line(first_line))
    value = value_text(text, margin)
    is_field = isinstance(new, ast.AnnAssign) and member.is_merged
    if isinstance(new, _ASSIGNMENTS) and value is None:
        raise ScaffoldError(f"{member.by} has no value")
    if value is not None and isinstance(old, _ASSIGNMENTS) and not is_field:
        _replace_value(module, code, member, old, value)
        return f"_ = {value}"
    if not code.has_lines_of_its_own(old):
        raise ScaffoldError(f"it shares its lines with other code than {qualname}")
    if qualname in code.set_together:
        module.put_before(line_after(old), indented(text, margin))
    else:
        _replace_definition(module, code, member, body, indented(text, margin))
    return text


def _refuse_imported(code: Definitions, name: str) -> None:
    """Raise ScaffoldError for a name that a module has from another one."""
    if name in code.imports and name not in code.named:
        raise ScaffoldError(
            f"{code.tree.name} only imports it ({code.imports[name]}), and the patch replaces it "
            "there alone; name it where it is defined"
        )


def _replace_value(
    module: ModuleText, code: Definitions, member: Member, old: ast.stmt, value: str
) -> None:
    """Give a name another value, in the statement that sets it or on the next line."""
    source = code.tree.source
    assert isinstance(old, _ASSIGNMENTS)
    values = values_by_name(old)
    old_value = old.value
    if member.qualname in code.set_together:
        old_value = values.get(member.name)
    names_of_new = names_in(ast.parse(f"({value})"))
    is_independent = names_of_new.isdisjoint({member.name, *values})
    if old_value is not None and is_independent:
        start, end = span(source, old_value)
        module.text = rewritten(source, lambda _: [(start, end, value)]).decode()
    elif isinstance(old, ast.AnnAssign) and old.value is None and is_independent:
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
    module: ModuleText, code: Definitions, member: Member, body: BodyCode, text: str
) -> None:
    """Put a definition in the place of another statement, with the decorators that hold for both.

    Args:
        module: the module, which is changed.
        code: what it defines.
        member: what is replaced, and by what.
        body: the body that has the definition.
        text: the definition under its new name, indented.
    """
    old = code.named[member.qualname]
    new = body.definitions.defined(member.by)
    first, last = lines_of_statement(old)
    if isinstance(new, DEFS) and member.keeps_kind:
        if isinstance(old, DEFS):
            kept = kept_decorators(old, new, unrelated=member.unrelated)
            if kept and kept == old.decorator_list:
                first = old.lineno
            else:
                text = "".join(_decorator_lines(code, old, kept)) + text
        elif isinstance(getattr(old, "value", None), ast.Call) and member.owner:
            raise ScaffoldError("upstream makes it by a call, which decides what it is")
    module.put(first, last, text)
    is_plain = isinstance(new, DEFS) and not makes_descriptor(new.decorator_list)
    if member.is_merged or (member.keeps_kind and not is_plain):
        for part in PARTS_OF_PROPERTY.values():
            _write_part(module, member, body, part)


def _decorator_lines(
    code: Definitions, node: ast.stmt, decorators: list[ast.expr]
) -> list[str]:
    """Write decorators of a function on lines as they stand there."""
    source = code.tree.source
    margin = " " * node.col_offset
    lines: list[str] = []
    for decorator in decorators:
        start, end = span(source, decorator)
        lines.append(f"{margin}@{source[start:end].decode()}\n")
    return lines


def _write_part(module: ModuleText, member: Member, body: BodyCode, part: str) -> None:
    """Put the setter or the deleter of a new property in the place of the old one's.

    Args:
        module: the module, which is changed.
        member: the property.
        body: the body that has the new one.
        part: the end of the qualified name of the part.
    """
    qualname = f"{member.qualname}{part}"
    code = module.read()
    if qualname in code.named:
        module.remove(*lines_of_statement(code.named[qualname]))
    by = f"{member.by}{part}"
    if by not in body.definitions.named:
        return
    last = member.by.rpartition(".")[2]
    new_names = {**member.new_names, last: member.name}
    moved = body.moved(by, member.name, new_names)
    getter = module.read().defined(member.qualname)
    first_line, _ = lines_of_statement(getter)
    margin = margin_of(module.line(first_line))
    module.put_before(line_after(getter), "\n" + indented(moved.text, margin))
    bring(module, moved.names, body, qualname)


def _merge(
    module: ModuleText, new: ast.ClassDef, member: Member, body: BodyCode
) -> None:
    """Write the members of a class of the body into the class that it derives from.

    Args:
        module: the module, which is changed.
        new: the class of the body.
        member: which class it is, and which one it stands for.
        body: the body.
    """
    code = module.read()
    qualname = member.qualname
    _refuse_imported(code, qualname)
    upstream = code.defined(qualname)
    if not isinstance(upstream, ast.ClassDef):
        raise ScaffoldError(f"{qualname} is no class in {code.tree.path}")
    is_lazy = has_lazy_annotations(code.tree.tree)
    subclass = Subclass(new, upstream, body.target_names, is_lazy)
    subclass.refuse_unmergeable()
    if not subclass.members:
        raise ScaffoldError(f"its class {new.name} overrides nothing")
    new_names = dict.fromkeys([new.name, *body.target_names], qualname)
    for statement in subclass.members:
        name = name_of(statement)
        inner = Member(
            f"{qualname}.{name}", f"{member.by}.{name}", new_names, is_merged=True
        )
        _write(module, inner, body)
