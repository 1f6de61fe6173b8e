"""Finds code that binds names of its module which no statement spells out."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.literals import literal_text
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted
from patchkit.analysis.upstream.resolving.values import Lookup, Scope

_OPENS = re.compile(
    rb"\b(?:globals|vars|locals)\(\)(?:\[.*\]\s*=[^=]|\.(?:update|setdefault|pop|clear)\b|[,)\n])"
    rb"|\bmodules\[__name__\](?!\.(?!__dict__))|^[ \t]*exec\(",
    re.MULTILINE,
)
"""Code that may change the names of its module, or that passes its namespace to other code.

Such as `globals()["x"] = …`, `vars().update(…)`, `f(globals())`, `exec(…)` at the beginning of a
line, and `modules[__name__]`, unless it is only read as in `modules[__name__].x`.
"""


_SETS_NAME = re.compile(r"\bself\.(\w+)\[self\.(\w+)\] = ")
"""How a lazy loader sets its name: `self.namespace[self.name] = module`."""
_USES = 2
"""How often a loader names what it stores: where it is stored, and where it is from or for."""


class _OpenCode(NamedTuple):
    """What the code of a module may bind that no statement spells out.

    Args:
        reason: The first line that may bind any name, for the report; '' if there is none.
        names: The names that lazy loaders bind, each with the line that makes the loader.
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
    # Most modules have no such code: a search of the text spares them all that follows.
    starts = tree.remember_with_file("open", lambda: _starts(tree))
    if not starts:
        return ""
    code = lookup.remember(
        tree.conclusions, "open code", lambda: _open_code(lookup, tree, starts)
    )
    return code.reason or code.names.get(name, "")


def _starts(tree: ModuleTree) -> list[int]:
    """List where in the text of a module such code begins."""
    return [match.start() for match in _OPENS.finditer(tree.source)]


def _open_code(lookup: Lookup, tree: ModuleTree, starts: list[int]) -> _OpenCode:
    """Work out what such code may bind; see `dynamic_binding`, which remembers it."""
    loaders = dict(_calls_with_globals(tree))
    names: dict[str, str] = {}
    for start in starts:
        line = tree.source.count(b"\n", 0, start)
        text = tree.source.split(b"\n")[line].decode(errors="replace").strip()[:60]
        place = f"at line {line + 1}: {text}"
        if text.startswith("exec(") and _is_in_class_body(tree.tree, line + 1):
            continue  # it binds names of the class
        call = loaders.get(line + 1)
        name = None
        if call is not None:
            name = _name_of_loader(lookup, tree, call)
        if name is None:
            return _OpenCode(f"{tree.name} binds names by code {place}", names)
        names[name] = f"{tree.name} binds {name} by a lazy loader {place}"
    return _OpenCode("", names)


def _calls_with_globals(tree: ModuleTree) -> Iterator[tuple[int, ast.Call]]:
    """List the calls that are passed `globals()`, each with the line of that."""
    for node in ast.walk(tree.tree):
        if isinstance(node, ast.Call):
            for argument in node.args:
                if _is_globals(argument):
                    yield argument.lineno, node


def _is_globals(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "globals"


def _is_in_class_body(tree: ast.Module, line: int) -> bool:
    """Whether a line stands in the body of a class, and in no function of it."""
    innermost: ast.AST = tree
    for node in ast.walk(tree):  # outer scopes come before those in them
        if isinstance(node, SCOPES) and node.lineno <= line <= (node.end_lineno or 0):
            innermost = node
    return isinstance(innermost, ast.ClassDef)


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
