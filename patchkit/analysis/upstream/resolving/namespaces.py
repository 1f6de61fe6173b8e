"""Finds code that binds names of its module which no statement spells out."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted
from patchkit.analysis.upstream.resolving.values import Lookup, Scope, Value

_OPENS = re.compile(
    rb"\b(?:globals|vars|locals)\(\)(?:\[.*\]\s*=[^=]|\.(?:update|setdefault|pop|clear)\b|[,)\n])"
    rb"|\bmodules\[__name__\](?!\.(?!__dict__))|^[ \t]*exec\(",
    re.MULTILINE,
)
"""Code that may change the names of its module, or that passes its namespace to other code.

Such as `globals()["x"] = …`, `vars().update(…)`, `f(globals())`, `exec(…)` at the beginning of a
line, and `modules[__name__]`, unless it is only read as in `modules[__name__].x`.
"""


_USES_IN_INIT = 2
"""How often `self.namespace = namespace` names the namespace: once on each side."""


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
        call = loaders.get(start)
        name = None
        if call is not None:
            name = _name_of_loader(lookup, tree, call)
        if name is None:
            return _OpenCode(f"{tree.name} binds names by code {place}", names)
        names[name] = f"{tree.name} binds {name} by a lazy loader {place}"
    return _OpenCode("", names)


def _calls_with_globals(tree: ModuleTree) -> Iterator[tuple[int, ast.Call]]:
    """List the calls that are passed `globals()`, each with where that begins in the text."""
    line_starts = [0]
    for line in tree.source.split(b"\n"):
        line_starts.append(line_starts[-1] + len(line) + 1)
    for node in ast.walk(tree.tree):
        if not isinstance(node, ast.Call):
            continue
        for argument in node.args:
            if _is_globals(argument):
                start = line_starts[argument.lineno - 1] + argument.col_offset
                yield start, node


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
    maker = _method(values[0], "__init__")
    if maker is None or call.keywords:
        return None
    parameters = [argument.arg for argument in maker.args.args[1:]]
    namespace = ""
    names: dict[str, str] = {}
    for parameter, argument in zip(parameters, call.args, strict=False):
        if _is_globals(argument):
            namespace = parameter
        elif isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            names[parameter] = argument.value
    return _only_name(values[0], maker, namespace, names)


def _only_name(
    value: Value, maker: Def, namespace: str, names: dict[str, str]
) -> str | None:
    """Return the name under which a class sets an attribute of a namespace.

    Args:
        value: The class.
        maker: Its `__init__`.
        namespace: The parameter that is passed the namespace.
        names: The strings that other parameters are passed.

    Returns:
        None if it may set more than one name.
    """
    stored = _stored_parameters(maker)
    attribute = stored.get(namespace)
    if attribute is None:
        return None
    uses = 0
    set_by: set[str] = set()
    for node in ast.walk(value.class_statement):
        used_name = getattr(node, "id", getattr(node, "attr", ""))
        if used_name in (namespace, attribute):
            uses += 1
        elif isinstance(node, ast.Subscript):
            holder = dotted(node.value).rpartition(".")[2]
            if holder == attribute and isinstance(node.ctx, ast.Store):
                uses -= 1
                set_by.add(dotted(node.slice).rpartition(".")[2])
    if uses != _USES_IN_INIT or len(set_by) != 1:
        return None
    key = set_by.pop()
    for parameter, text in names.items():
        if stored.get(parameter) == key:
            return text
    return None


def _stored_parameters(maker: Def) -> dict[str, str]:
    """Return the attribute in which an `__init__` stores each parameter: `self.a = p`."""
    stored: dict[str, str] = {}
    for statement in maker.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            target = statement.targets[0]
            if isinstance(target, ast.Attribute):
                stored[statement.value.id] = target.attr
    return stored


def _method(value: Value, name: str) -> Def | None:
    """Return a method that a class itself defines; None if it has none of the name."""
    for statement in value.class_statement.body:
        if isinstance(statement, DEFS) and statement.name == name:
            return statement
    return None
