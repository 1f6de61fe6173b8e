"""Tells which names of a module code may bind, change or delete that no statement spells out."""

import ast
import re
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.called import function_called
from patchkit.analysis.upstream.resolving.exported_names import exporting_decorator
from patchkit.analysis.upstream.resolving.literals import literal_text
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.namespace_changes import namespace_changes
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def, dotted
from patchkit.analysis.upstream.resolving.values import Lookup, Scope

_SETS_NAME = re.compile(r"\bself\.(\w+)\[self\.(\w+)\] = ")
"""How a lazy loader sets its name: `self.namespace[self.name] = module`."""
_WRITES = (
    r"\b%s(\[[^\]]*\] = |\.(update|pop|clear|setdefault|__dict__)\b|\.\w+ = )"
    r"|\b(del|[sd]e[tl]attr\()\s*%s\b"
)
"""How a function sets names in what it is passed; for `%s` stands its parameter."""
_USES = 2
"""How often a loader names what it stores: where it is stored, and where it is from or for."""


class _OpenCode(NamedTuple):
    """What the code of a module may bind that no statement spells out.

    Args:
        reason: The first line that may bind any name, for the report; '' if there is none.
        names: The names that single lines bind, each with the words for its line.
    """

    reason: str
    names: dict[str, str]


def dynamic_binding(lookup: Lookup, tree: ModuleTree, name: str) -> str:
    """Describe code that may bind a name of its module which no statement binds.

    Args:
        lookup: The release.
        tree: The module, whose text is searched for `globals().update(…)`, `exec(…)` and the like.
        name: The name.

    Returns:
        The first such line, for the report; '' if there is none.
    """
    # Most modules have no such code, and are spared most of what follows.
    if not namespace_changes(tree):
        return exporting_decorator(lookup, tree)
    code = lookup.remember(
        tree.conclusions, "open code", lambda: _open_code(lookup, tree)
    )
    reason = code.reason or code.names.get(name, "")
    return reason or exporting_decorator(lookup, tree)


def rebinding(
    lookup: Lookup, tree: ModuleTree, name: str, bound_at: int
) -> tuple[str, bool]:
    """Describe code that may change what a statement of a module has bound a name to.

    Args:
        lookup: The release.
        tree: The module.
        name: The name.
        bound_at: The line of the last statement that binds it.

    Returns:
        The words for the report, '' if there is no such code; and whether it deletes the name.
    """
    found = ""
    for change in namespace_changes(tree):
        is_before = change.line < bound_at and not change.is_late
        if is_before or change.adds_only:
            continue
        names = change.names
        if change.call is not None and not _writes(lookup, tree, change.call):
            continue  # it is passed the names to read them, or to load a module lazily
        if names is None or name in names:
            place = _place(tree, change.line)
            if change.deletes:
                return f"{tree.name} deletes names by code {place}", True
            found = found or f"{tree.name} sets names by code {place}"
    return found, False


def _writes(lookup: Lookup, tree: ModuleTree, call: ast.Call) -> bool:
    """Whether a function of the release that is passed a namespace, or a module, sets names in it.

    Args:
        lookup: The release.
        tree: The module that makes the call.
        call: The call.
    """
    owner, _, name = dotted(call.func).rpartition(".")
    called = function_called(lookup, tree, owner, name)
    if called is None:
        return False
    text = ast.unparse(called.node)
    arguments = called.node.args
    for argument in (*arguments.posonlyargs, *arguments.args):
        if re.search(_WRITES.replace("%s", re.escape(argument.arg)), text):
            return True
    return False


def _place(tree: ModuleTree, line: int) -> str:
    """Name a line of a module, with its text, for the report."""
    text = tree.source.split(b"\n")[line - 1].decode(errors="replace").strip()
    return f"at line {line}: {text[:60]}"


def _open_code(lookup: Lookup, tree: ModuleTree) -> _OpenCode:
    """Work out what such code may bind; see `dynamic_binding`, which remembers it."""
    names: dict[str, str] = {}
    for change in namespace_changes(tree):
        if change.deletes:
            continue
        place = _place(tree, change.line)
        bound = change.names
        words = "by code"
        if change.call is not None:
            loaded = _name_of_loader(lookup, tree, change.call)
            if loaded is not None:
                bound = frozenset({loaded})
                words = "by a lazy loader"
        if bound is None:
            return _OpenCode(f"{tree.name} binds names by code {place}", names)
        for name in bound:
            names.setdefault(name, f"{tree.name} binds {name} {words} {place}")
    return _OpenCode("", names)


def _is_globals(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "globals"


def _name_of_loader(lookup: Lookup, tree: ModuleTree, call: ast.Call) -> str | None:
    """Return the only name that a lazy loader binds, `"x"` of `Loader("x", globals(), "x")`.

    Args:
        lookup: The release.
        tree: The module that makes the loader.
        call: The call that makes it.

    Returns:
        None if what is called is no class of the known form: one whose methods do nothing with
        the namespace but to set the one name that it was passed.
    """
    values = lookup.evaluate(call.func, Scope(tree))
    if len(values) != 1 or not values[0].has_class_statement:
        return None
    cls = values[0].class_statement
    text = ast.unparse(cls)
    settings = _SETS_NAME.findall(text)
    maker = _maker(cls)
    if len(settings) != 1 or maker is None:
        return None
    # The attributes in `self.namespace[self.key] = module`.
    namespace, key = settings[0]
    name = None
    parameters = maker.args.args[1:]
    for parameter, argument in zip(parameters, call.args, strict=False):
        parameter_name = parameter.arg
        if _is_globals(argument):
            if not _is_only_stored(text, parameter_name, namespace):
                return None
        elif f"self.{key} = {parameter_name}\n" in text:
            values = lookup.evaluate(argument, Scope(tree))
            name = literal_text(values)
    return name


def _maker(cls: ast.ClassDef) -> Def | None:
    """Return the `__init__` that a class itself defines; None if it has none."""
    for statement in cls.body:
        if isinstance(statement, DEFS) and statement.name == "__init__":
            return statement
    return None


def _is_only_stored(text: str, parameter: str, attribute: str) -> bool:
    """Whether a class does nothing with a namespace but to store it and to set one name.

    Args:
        text: The class.
        parameter: The parameter that is passed the namespace.
        attribute: The attribute that it is stored in.
    """
    if f"self.{attribute} = {parameter}\n" not in text:
        return False
    # In the signature, and where it is stored.
    uses_of_parameter = re.findall(rf"\b{parameter}\b", text)
    if len(uses_of_parameter) != _USES:
        return False
    # Where it is stored, and where the name is set in it.
    uses_of_attribute = re.findall(rf"\.{attribute}\b", text)
    return len(uses_of_attribute) == _USES
