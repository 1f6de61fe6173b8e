"""Names that no statement binds: what a module's `__getattr__` gives, what code puts there."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from patchkit.analysis.upstream.resolving.bindings import UNBOUND
from patchkit.analysis.upstream.resolving.flow import Flow
from patchkit.analysis.upstream.resolving.literals import contains, literal_container
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted, statements
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)

_Tested = tuple[bool, bool] | None
_OPENS = re.compile(
    rb"\b(?:globals|vars|locals)\(\)(?:\[.*\]\s*=[^=]|\.(?:update|setdefault|pop|clear)\b|[,)\n])"
    rb"|\bmodules\[__name__\](?!\.(?!__dict__))|^[ \t]*exec\(",
    re.MULTILINE,
)
"""Code that changes or hands on the names of its module, for all that is known."""
_REPLACES = re.compile(rb"\bmodules\[__name__\]\s*=[^=]")


def lazy_values(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Ask a module's `__getattr__`; () where it has none."""
    nodes = [
        case.binding.node for case in lookup.binding_cases(tree, "__getattr__") if case.binding
    ]
    if not nodes:
        return ()
    if placed := _placed(lookup, tree, nodes[0], name):
        return placed
    gives = _gives(lookup, tree, nodes[0], name) if len(nodes) == 1 else None
    if gives is None:
        return (undecided(f"{tree.name} builds names lazily: its __getattr__ may give {name}"),)
    if not gives:
        return (absent(f"{tree.name} has no {name!r}, and its __getattr__ knows none"),)
    reason = f"{tree.name} gives {name} lazily"
    where = (tree.name, name, tree, (nodes[0],))
    given = Value("present", Kind.ASSIGNMENT, *where, reason, is_sure=False)
    return _for_checkers(lookup, tree, name) or (given,)


def replaces_itself(tree: ModuleTree) -> bool:
    """Whether a module puts something else in its place in `sys.modules`."""
    return tree.remember_with_file("replaced", lambda: bool(_REPLACES.search(tree.source)))


def dynamic_binding(tree: ModuleTree) -> str:
    """Say how a module's code may bind names that cannot be read; '' where it does not."""
    return tree.remember_with_file("open", lambda: _open(tree))


def _open(tree: ModuleTree) -> str:
    found = _OPENS.search(tree.source)
    if not found:
        return ""
    line = tree.source.count(b"\n", 0, found.start())
    text = tree.source.split(b"\n")[line].decode(errors="replace").strip()[:60]
    return f"{tree.name} binds names by code at line {line + 1}: {text}"


def _gives(lookup: Lookup, tree: ModuleTree, node: ast.stmt, name: str) -> bool | None:
    """Whether the tests in a `__getattr__` let a name through; None where that cannot be told."""
    if not isinstance(node, ast.FunctionDef) or not node.args.args:
        return None
    test = partial(_test, lookup, tree, node.args.args[0].arg, name)
    return _follow(node.body, test, is_known=False)


def _follow(
    body: Sequence[ast.stmt], test: Callable[..., _Tested], *, is_known: bool
) -> bool | None:
    for statement in filter(_ends, body):
        if isinstance(statement, ast.Return):
            return is_known or None
        if isinstance(statement, ast.Raise):
            error = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
            return False if dotted(error) == "AttributeError" else None
        if not isinstance(statement, ast.If) or not (tested := test(statement.test)):
            return None
        is_taken, is_listed = tested
        is_known = is_known or is_listed
        taken = statement.body if is_taken else statement.orelse
        if any(map(_ends, taken)):
            return _follow(taken, test, is_known=is_known)
    return None


def _test(lookup: Lookup, tree: ModuleTree, parameter: str, name: str, node: ast.expr) -> _Tested:
    """Whether a condition holds, and whether the name is one that it lists."""
    if not isinstance(node, ast.Compare) or dotted(node.left) != parameter:
        return None
    operator, other = node.ops[0], node.comparators[0]
    if isinstance(other, ast.Call) and dotted(other.func) == "globals":
        return isinstance(operator, ast.NotIn), False
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        is_listed = other.value == name if isinstance(other, ast.Constant) else None
    else:
        is_listed = contains(lookup.evaluate(other, Scope(tree)), name)
    if is_listed is None or not isinstance(operator, (ast.In, ast.NotIn, ast.Eq, ast.NotEq)):
        return None
    return is_listed is isinstance(operator, (ast.In, ast.Eq)), is_listed


def _ends(statement: ast.stmt) -> bool:
    return any(isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement))


def _placed(lookup: Lookup, tree: ModuleTree, node: ast.AST, name: str) -> Values:
    """Find a lazy name where a table of the module says that it is; () where none does."""
    for table in dict.fromkeys(one.id for one in ast.walk(node) if isinstance(one, ast.Name)):
        for module, attribute in _read(lookup, tree, table, name):
            found = lookup.module_attribute(module, attribute or name)
            states = {value.state for value in found}
            is_there = states == {"present"} or (states == {"absent"} and attribute)
            if module in lookup.modules and is_there:
                return found
    return ()


def _read(lookup: Lookup, tree: ModuleTree, table: str, name: str) -> Iterator[tuple[str, str]]:
    cases = [
        case for case in lookup.binding_cases(tree, table) if case.binding and case.binding.value
    ]
    values = [value for case in cases for value in lookup.bound_values(case, Scope(tree))]
    found = literal_container(values[0]) if len(values) == 1 else None
    node = found.items.get(name) if found else None
    if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
        node = node.elts[-1]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        module, _, attribute = node.value.partition(":")
        last = module.lstrip(".")
        absolute = tree.absolute(last or None, len(module) - len(last))
        yield from ((place, attribute) for place in (absolute, f"{tree.package}.{module}") if place)


def _for_checkers(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Find what a lazy name is for type checkers, which alone import or assign it."""
    ifs = (one for one in statements(tree.tree.body) if isinstance(one, ast.If))
    for statement in (one for one in ifs if dotted(one.test).endswith("TYPE_CHECKING")):
        case, *others = Flow(name, tree, lookup).run(statement.body) or UNBOUND
        found = lookup.bound_values(case, Scope(tree))
        if found and not others and all(value.state == "present" for value in found):
            return found
    return ()
