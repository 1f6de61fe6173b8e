"""Says what a release has already of what a new version of a module defines."""

import ast
from collections.abc import Mapping

from patchkit.analysis.check.compatibility import is_default_attribute
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.annotation_marks import is_class_var
from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.authoring.diffs.compared_names import is_dataclass
from patchkit.authoring.source.field_text import read_default
from patchkit.authoring.source.literals import literal_value
from patchkit.core.rows.declaration import AddField
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError

_FIELD = "it is a field, of which its class is made"


def is_present(release: CheckedRelease | None, target: str, node: ast.stmt) -> bool:
    """Whether a new definition takes the place of something, such as an inherited method.

    Args:
        release: The release without the definition; None where it is not known.
        target: The target that the definition is to be at.
        node: The definition.
    """
    if release is None:
        return _says_that_it_overrides(node)
    parsed_target = Target.parse(target)
    facts = release.facts(parsed_target)
    if facts.state == "undecidable":
        return _says_that_it_overrides(node)
    # What every class has from `object`, such as `__init__`, does not count.
    is_default = is_default_attribute(release.resolver, parsed_target, facts)
    return facts.is_present and not is_default


def _says_that_it_overrides(node: ast.stmt) -> bool:
    """Whether a method calls that of the class above, or has the decorator `override`."""
    if not isinstance(node, DEFS):
        return False
    names = {dotted(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    if "override" in names:
        return True
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == node.name:
            owner = part.value
            if isinstance(owner, ast.Call) and dotted(owner.func) == "super":
                return True
    return False


def is_field(
    release: CheckedRelease | None, target: str, node: ast.AnnAssign, *, is_new: bool
) -> bool:
    """Whether an annotated name in a class is a field, and no attribute of the class alone.

    Args:
        release: The release; None where it is not known.
        target: The target that names it.
        node: The statement that annotates it.
        is_new: Whether the release lacks it.
    """
    if is_class_var(node):
        return False
    if release is None or is_new:
        return True
    facts = release.facts(Target.parse(target))
    if not facts.is_sure:  # then it may be one
        return True
    return facts.kind == str(Kind.FIELD)


def new_field(
    target: str,
    owner: ast.stmt,
    node: ast.AnnAssign,
    values: Mapping[str, ast.expr],
    imports: Mapping[str, str],
    *,
    is_new: bool,
) -> AddField:
    """Return the change that adds a field to a dataclass.

    Args:
        target: The target that names the field.
        owner: The class.
        node: The statement that annotates the field.
        values: The values of names of the module, for defaults that are made from them.
        imports: The import statements of the module, by the name that each binds.
        is_new: Whether the release lacks the field.

    Raises:
        ScaffoldError: It is not new, its class is no dataclass, or its default is no literal.
    """
    if not is_new:
        raise ScaffoldError(_FIELD)
    class_target, _, name = target.rpartition(".")
    # Without a default, the field's own name is evaluated, and refused as no literal.
    default_node = node.value or node.target
    try:
        if isinstance(default_node, ast.Call):  # of `field`, or it is refused
            default = read_default(default_node, imports)
        else:
            default = literal_value(default_node, values)
    except ValueError:
        raise ScaffoldError(f"{_FIELD}, with a default that is no literal") from None
    if not is_dataclass(owner):
        raise ScaffoldError(_FIELD)
    annotation = ast.unparse(node.annotation)
    return AddField(class_target, name=name, type=annotation, default=default)
