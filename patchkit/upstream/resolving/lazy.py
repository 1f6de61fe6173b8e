"""Names that no statement binds: what a module's `__getattr__` gives, what code puts there."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from patchkit.upstream.resolving.bindings import UNBOUND, Condition
from patchkit.upstream.resolving.flow import Flow
from patchkit.upstream.resolving.literals import Literals, NotLiteralError, holds
from patchkit.upstream.resolving.module_tree import ModuleTree
from patchkit.upstream.resolving.syntax import dotted, expressions, given_to, statements
from patchkit.upstream.resolving.values import Kind, Lookup, Scope, Value, Values, absent, undecided

_Tested = tuple[bool, bool] | None
_WRITERS = frozenset({"update", "setdefault", "pop", "clear", "__setitem__"})
_READERS = {
    *("dict", "eval", "filter", "getattr", "get_type_hints", "getmembers", "getmodule"),
    *("hasattr", "id", "isinstance", "len", "list", "map", "print", "repr", "set", "sorted"),
    *("str", "tuple", "type", "vars"),
}
"""Functions that do nothing to a namespace that they are given."""
_SIGNS = (b"globals(", b"vars(", b"locals(", b"sys.modules", b"exec(", b"setattr(", b"__dict__")


def from_getattr(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Ask a module's `__getattr__`; () where it has none."""
    nodes = [case.binding.node for case in lookup.cases(tree, "__getattr__") if case.binding]
    if not nodes:
        return ()
    if placed := _placed(lookup, tree, nodes[0], name):
        return placed
    gives = _gives(Literals(lookup, tree), nodes[0], name) if len(nodes) == 1 else None
    if gives is None:
        return (undecided(f"{tree.name} builds names lazily: its __getattr__ may give {name}"),)
    if not gives:
        return (absent(f"{tree.name} has no {name!r}, and its __getattr__ knows none"),)
    reason = f"{tree.name} gives {name} lazily"
    where = (tree.name, name, tree, (nodes[0],))
    given = Value("present", Kind.ASSIGNMENT, *where, reason, sure=False)
    return _for_checkers(lookup, tree, name) or (given,)


def replaced_module(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Tell what a module that puts something else in its place has; () where it does not."""
    if not tree.by_file("replaced", lambda: any(map(_replaces, statements(tree.tree.body)))):
        return ()
    if f"{tree.name}.{name}" in lookup.modules:
        return (lookup.module(f"{tree.name}.{name}"),)
    reason = f"{tree.name} puts something else in its place in sys.modules"
    typed = _for_checkers(lookup, tree, name, replaced=True)
    # Where an optional import fails it gives something else for it.
    stand_in = replace(absent(reason), is_none=True, conditions=(Condition("except ImportError"),))
    return (*typed, stand_in) if typed else (undecided(reason),)


def open_namespace(tree: ModuleTree) -> str:
    """Say how a module's code may bind names that cannot be read; '' where it does not."""
    return tree.by_file("open", lambda: _open(tree))


def _gives(literals: Literals, node: ast.stmt, name: str) -> bool | None:
    """Whether the tests in a `__getattr__` let a name through; None where that cannot be told."""
    if not isinstance(node, ast.FunctionDef) or not node.args.args:
        return None
    test = partial(_test, literals, node.args.args[0].arg, name)
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


def _test(literals: Literals, parameter: str, name: str, node: ast.expr) -> _Tested:
    """Whether a condition holds, and whether the name is one that it lists."""
    if not isinstance(node, ast.Compare) or dotted(node.left) != parameter:
        return None
    operator, other = node.ops[0], node.comparators[0]
    if isinstance(other, ast.Call) and dotted(other.func) == "globals":
        return isinstance(operator, ast.NotIn), False
    spelled = literals.part(other)
    if not isinstance(operator, (ast.In, ast.NotIn)):
        spelled = [spelled] if isinstance(spelled, str) else None
    is_listed = holds(spelled, name)
    if is_listed is None or not isinstance(operator, (ast.In, ast.NotIn, ast.Eq, ast.NotEq)):
        return None
    return is_listed is isinstance(operator, (ast.In, ast.Eq)), is_listed


def _ends(statement: ast.stmt) -> bool:
    return any(isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement))


def _placed(lookup: Lookup, tree: ModuleTree, node: ast.AST, name: str) -> Values:
    """Find a lazy name where a table of the module says that it is; () where none does."""
    for table in dict.fromkeys(one.id for one in ast.walk(node) if isinstance(one, ast.Name)):
        try:
            spelled = Literals(lookup, tree).of_name(table)[name]
        except (NotLiteralError, LookupError, TypeError):
            continue
        for module, attribute in _read(tree, spelled, name):
            found = lookup.attribute(module, attribute)
            states = {value.state for value in found}
            is_there = states == {"present"} or (states == {"absent"} and ":" in str(spelled))
            if module in lookup.modules and is_there:
                return found
    return ()


def _read(tree: ModuleTree, spelled: object, name: str) -> Iterator[tuple[str, str]]:
    text = spelled[-1] if isinstance(spelled, (tuple, list)) and spelled else spelled
    if isinstance(text, str):
        module, _, attribute = text.partition(":")
        last = module.lstrip(".")
        absolute = tree.absolute(last or None, len(module) - len(last))
        for place in filter(None, (absolute, f"{tree.package}.{module}")):
            yield place, attribute or name


def _for_checkers(lookup: Lookup, tree: ModuleTree, name: str, *, replaced: bool = False) -> Values:
    """Find a name that only type checkers import, or where only they do not replace the module."""
    ifs = (one for one in statements(tree.tree.body) if isinstance(one, ast.If))
    for statement in (one for one in ifs if dotted(one.test).endswith("TYPE_CHECKING")):
        if replaced and not any(map(_replaces, statements(statement.orelse))):
            continue
        cases = Flow(name, tree, lookup).run(statement.body) or UNBOUND
        if len(cases) == 1 and cases[0].binding is not None:
            found = lookup.bound(cases[0], Scope(tree))
            if all(value.state == "present" for value in found):
                return found
    return ()


def _replaces(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and _is_own_module(statement.targets[0])


def _open(tree: ModuleTree) -> str:
    if not any(sign in tree.source for sign in _SIGNS):
        return ""
    at_import = {
        id(node) for one in statements(tree.tree.body) for node in (one, *expressions(one))
    }
    own = tree.name.rpartition(".")[2]
    for node in ast.walk(tree.tree):
        if _opens(node, own, runs=id(node) in at_import):
            text = ast.unparse(node)[:60]
            if isinstance(node, ast.Subscript):
                text = f"{ast.unparse(node.value)}[…] = …"
            return f"{tree.name} binds names by code at line {getattr(node, 'lineno', 0)}: {text}"
    return ""


def _opens(node: ast.AST, own: str, *, runs: bool) -> bool:
    """Whether an expression may bind names of its module; what a function does counts as well."""
    if isinstance(node, ast.Call):
        return _call_opens(node, own, runs=runs)
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and _is_namespace(node.value)
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value:
        return runs and _is_handed_on(node.value)
    return False


def _call_opens(node: ast.Call, own: str, *, runs: bool) -> bool:
    name, given = dotted(node.func), given_to(node)
    if name == "setattr" and given and (_is_own_module(given[0]) or dotted(given[0]) == own):
        return True
    if name == "exec" and (runs or any(map(_is_namespace, given))):
        return True
    if isinstance(node.func, ast.Attribute) and _is_namespace(node.func.value):
        return node.func.attr in _WRITERS
    return runs and name.split(".")[-1] not in _READERS and any(map(_is_handed_on, given))


def _is_namespace(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return _is_own_module(node.value)
    is_call = isinstance(node, ast.Call) and dotted(node.func) in ("globals", "vars", "locals")
    return is_call and all(map(_is_own_module, getattr(node, "args", ())))


def _is_handed_on(node: ast.AST) -> bool:
    return _is_namespace(node) or _is_own_module(node)


def _is_own_module(node: ast.AST) -> bool:
    is_of_modules = isinstance(node, ast.Subscript) and dotted(node.slice) == "__name__"
    return is_of_modules and dotted(getattr(node, "value", None)) in ("sys.modules", "modules")
