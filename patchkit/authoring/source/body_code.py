"""Takes definitions out of a body, in the words of the module that they are written into."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.authoring.scaffold.source_edits import TextChange, rewritten, span
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.global_names import inner_names, used_names
from patchkit.errors import ScaffoldError


class MovedCode(NamedTuple):
    """A definition as a module is to have it.

    Args:
        text: its text, not indented.
        names: the names of its body that it uses, for `bring`; without those that have another
            name in the module, as these are there already.
    """

    text: str
    names: set[str]


@dataclass(frozen=True)
class BodyCode:
    """A body, from which code is written into one module for one change.

    Args:
        definitions: what it defines and imports.
        new_names: what is called otherwise in the module, by its name in the body.
        target_names: the names that stand for the target as upstream has it.
        replaced_names: the names that stand for other things which rows replace, as upstream has
            them.
        derives: whether the class that the change names derives from the target.
        submodules: the names that stand for modules of upstream.
        keeps_kind: whether a plain function becomes what it replaces: a static method, a cache.
    """

    definitions: Definitions
    new_names: Mapping[str, str] = field(default_factory=dict)
    target_names: frozenset[str] = frozenset()
    replaced_names: frozenset[str] = frozenset()
    derives: bool = False
    submodules: frozenset[str] = frozenset()
    keeps_kind: bool = False

    def moved(self, by: str, name: str, new_names: Mapping[str, str]) -> MovedCode:
        """Return a definition under another name.

        Args:
            by: its qualified name in the body.
            name: its name in the module, or in a class of it.
            new_names: further names that are others in the module.

        Raises:
            ScaffoldError: it would do something else in the module.
        """
        text = self.definitions.renamed(by, name)
        used = used_names(text)
        # In the module, these names would stand for what the patch puts there.
        names_of_originals = used & (self.target_names | self.replaced_names)
        for original in sorted(names_of_originals - new_names.keys()):
            raise ScaffoldError(
                f"it uses {original} as upstream has it, and the patch replaces that"
            )
        all_names = {**self.new_names, **new_names}
        renamed = _renamed(text, all_names)
        return MovedCode(renamed, used - all_names.keys())


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return code in which the names of things of its module are replaced by others.

    Args:
        text: the code, as it stands in a module.
        names: the new names, by the old ones.

    Raises:
        ScaffoldError: a function in the code has one of these names for a local variable.
    """
    used = used_names(text)
    changed = {old: new for old, new in names.items() if old in used and new != old}
    local_names = inner_names(text)
    for old, new in changed.items():
        # A local variable named `old` would be renamed, too; where one is named `new`, the renamed
        # code would read that, and not the name of the module.
        for name in (old, new):
            if name in local_names:
                raise ScaffoldError(f"it has a {name} of its own beside its module's")

    def changes(content: bytes) -> list[TextChange]:
        text_changes: list[TextChange] = []
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Name) and node.id in changed:
                start, end = span(content, node)
                text_changes.append((start, end, changed[node.id]))
        return text_changes

    return rewritten(text.encode(), changes).decode()


def in_class(text: str, owner: str) -> str:
    """Return a function with the `super()` that suits a class, in which it is to stand.

    In the body, outside of a class, `super` has to be told the class and the instance, as in
    `super(Class, self)`. Such calls stay if the function has functions inside of it, in which
    `self` may be another.

    Args:
        text: the function.
        owner: the name of the class.
    """
    (function,) = ast.parse(text).body
    # The function itself is the first of them.
    functions = [
        node for node in ast.walk(function) if isinstance(node, (*SCOPES, ast.Lambda))
    ]
    has_inner_functions = len(functions) > 1
    arguments = getattr(function, "args", None)
    if has_inner_functions or not isinstance(arguments, ast.arguments):
        return text
    parameters = [*arguments.posonlyargs, *arguments.args]
    if not parameters:
        return text
    instance = parameters[0].arg
    return text.replace(f"super({owner}, {instance})", "super()")
