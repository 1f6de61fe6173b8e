"""Makes changes in the text of a module, as its author would write them."""

import ast

from patchkit.analysis.check.edit_sequence import edited
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.source.additions import add
from patchkit.authoring.source.body_code import BodyCode, in_class
from patchkit.authoring.source.bracket_lines import aligned
from patchkit.authoring.source.bringing import bring, bring_import
from patchkit.authoring.source.decorators import makes_descriptor
from patchkit.authoring.source.definitions import IMPORTS, PARTS_OF_PROPERTY, name_of
from patchkit.authoring.source.global_names import (
    has_lazy_annotations,
    names_at_import,
    used_names,
)
from patchkit.authoring.source.import_lines import without_import
from patchkit.authoring.source.indents import dedented, indented, margin_of
from patchkit.authoring.source.members import ASSIGNMENTS, Member
from patchkit.authoring.source.module_text import (
    ModuleText,
    line_after,
    lines_of_statement,
)
from patchkit.authoring.source.replacements import refuse_imported, replace
from patchkit.authoring.source.subclasses import Subclass
from patchkit.core.rows.declaration import Add, Change, Edit, Replace
from patchkit.errors import ScaffoldError


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
        old = code.text(node)
        new = aligned(edited(change, old), change.new, old)
        module.put(first, last, _without_blanks(old, new))
    elif isinstance(change, (Add, Replace)):
        _transplant(module, change, qualname, body)
    else:
        raise ScaffoldError(f"{change.kind} has no text of its own")


def _without_blanks(old: str, new: str) -> str:
    """Drop the lines of blanks that an Edit leaves where it takes code out.

    Args:
        old: the function as it was.
        new: the function with the Edit made.

    Returns:
        The same code; the text itself if the lines are in a string.
    """
    old_lines = set(old.split("\n"))
    kept_lines: list[str] = []
    for line in new.rstrip("\n").split("\n"):
        is_made_of_blanks = bool(line) and not line.strip()
        if not is_made_of_blanks or line in old_lines:
            kept_lines.append(line)
    text = "\n".join(kept_lines)
    tree, fault = parse(dedented(text).encode())
    expected, _ = parse(dedented(new).encode())
    if fault or ast.dump(tree) != ast.dump(expected):  # they were in a string
        return new.rstrip("\n")
    return text


def _transplant(
    module: ModuleText, change: Add | Replace, qualname: str, body: BodyCode
) -> None:
    """Write a definition of a body into the module, with what it uses."""
    definitions = body.definitions
    by = change.by
    is_only_imported = by in definitions.imports and by not in definitions.named
    if is_only_imported and by == qualname:
        # `Replace("lib:f", by="f")` of an `f` that the body imports: the module imports it, too.
        _bind_import(module, by, body)
        return
    new = definitions.defined(by)
    if isinstance(new, ast.ClassDef) and body.derives:
        _merge(module, new, Member(qualname, by, new_names={}), body)
        return
    is_in_class = "." in qualname
    # A member of a class is no name of the module: none stands for it there.
    new_names: dict[str, str] = {}
    if not is_in_class:
        new_names[by] = qualname
        if isinstance(new, ASSIGNMENTS):
            # In `TABLE = {**lib.TABLE, …}`, upstream's value is read before the name is set anew.
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
    names = names_at_import(new)
    # A setter reads the property in its decorator, `@x.setter`.
    if member.qualname.endswith(tuple(PARTS_OF_PROPERTY.values())):
        names.discard(member.name)
    binders = module.read().binders
    for name in sorted(names):
        if f"{member.owner}.{name}" in binders:
            raise ScaffoldError(
                f"it uses the {name} of its module, and its class has another"
            )


def _bind_import(module: ModuleText, name: str, body: BodyCode) -> None:
    """Let the module import a name from elsewhere than it does now."""
    code = module.read()
    for node in code.binders.get(name, ()):
        if not isinstance(node, IMPORTS):
            raise ScaffoldError(f"{module.path} binds {name} by no import alone")
    module.text = without_import(code.tree, name)
    bring_import(module, name, body)


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
    is_there = member.qualname in {*upstream.named, *upstream.binders}
    # A member that its class only inherits is added to the class.
    is_inherited = bool(member.owner) and not is_there
    names = code.names
    if member.is_new or is_inherited:
        add(module, member, new, text)
    else:
        value = replace(module, member, new, text)
        if value is not None:
            # Only the value was written: what its annotation uses is not needed.
            names = names & used_names(value)
    # A plain function takes the place of a getter alone: the setter and the deleter stay.
    if member.is_merged or not _is_plain_function(new):
        for part in PARTS_OF_PROPERTY.values():
            _write_part(module, member, body, part)
    bring(module, names, body, member.qualname)


def _is_plain_function(node: ast.stmt) -> bool:
    """Whether a definition is a function without `property` or the like.

    With `keeps_kind`, it becomes what it replaces: the getter of a property, for example.
    """
    return isinstance(node, DEFS) and not makes_descriptor(node.decorator_list)


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
    # The old one goes, even if the new property has none.
    if qualname in code.named and (member.is_merged or member.keeps_kind):
        module.remove(*lines_of_statement(code.named[qualname]))
    by = f"{member.by}{part}"
    if by not in body.definitions.named:
        return
    # In `@x.setter`, the `x` becomes the name that the property has in the module.
    property_name = member.by.rpartition(".")[2]
    new_names = {**member.new_names, property_name: member.name}
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
    refuse_imported(code, qualname)
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
        if name.endswith(tuple(PARTS_OF_PROPERTY.values())):
            continue  # it is written with its property
        inner_member = Member(
            f"{qualname}.{name}", f"{member.by}.{name}", new_names, is_merged=True
        )
        _write(module, inner_member, body)
