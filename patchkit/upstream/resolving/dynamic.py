"""
Names that no statement binds: lazy modules, and namespaces that are built by code.

Of a `__getattr__` only tests of the name against what is spelled out are followed; what it hands on
is not told.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.at_import import expressions, statements
from patchkit.upstream.resolving.bindings import UNBOUND, Flow
from patchkit.upstream.resolving.conditions import Condition, dotted
from patchkit.upstream.resolving.literals import NotLiteralError
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind, Value, absent, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.lookup import Lookup, Values
    from patchkit.upstream.resolving.module_tree import ModuleTree

_WRITERS = frozenset({"update", "setdefault", "pop", "clear", "__setitem__"})
_READERS = frozenset(
    {
        *("dict", "eval", "filter", "getattr", "get_type_hints", "getmembers", "getmodule"),
        *("hasattr", "id", "isinstance", "len", "list", "map", "print", "repr", "set", "sorted"),
        *("str", "tuple", "type", "vars"),
    }
)
"""Functions that do nothing to a namespace that they are given."""
_SIGNS = (b"globals(", b"vars(", b"locals(", b"sys.modules", b"exec(", b"setattr(", b"__dict__")


def from_getattr(lookup: Lookup, tree: ModuleTree, name: str) -> Values | None:
    """Ask a module's `__getattr__`; None where it has none."""
    bindings = [one.binding for one in lookup.cases(tree, "__getattr__") if one.binding]
    if not bindings:
        return None
    node = bindings[0].node
    if len(bindings) == 1 and isinstance(node, ast.FunctionDef) and node.args.args:
        return _of_function(lookup, tree, node, name)
    call = node.value if len(bindings) == 1 and isinstance(node, ast.Assign) else None
    if isinstance(call, ast.Call) and _is_handed(lookup, tree, call, name):
        return _typed(lookup, tree, name) or (_lazy(tree, name, node),)
    return (undecidable(f"{tree.name} builds names lazily, by a __getattr__ of another"),)


def replaced_module(lookup: Lookup, tree: ModuleTree, name: str) -> Values | None:
    """Tell what a module that puts something else in its place has; None where it does not."""
    if not tree.by_file("replaced", lambda: any(map(_replaces, statements(tree.body)))):
        return None
    if f"{tree.name}.{name}" in lookup.modules:
        return (lookup.module(f"{tree.name}.{name}"),)
    reason = f"{tree.name} puts something else in its place in sys.modules"
    typed = _typed(lookup, tree, name) if tree.noted("or typed", lambda: _is_or(tree)) else ()
    # Where an optional import fails it gives something else for it.
    stand_in = replace(absent(reason), is_none=True, conditions=(Condition("except ImportError"),))
    return (*typed, stand_in) if typed else (undecidable(reason),)


def open_namespace(tree: ModuleTree) -> str:
    """Say how a module's code may bind names that cannot be read; '' where it does not."""
    text: str = tree.by_file("open", lambda: _open(tree))
    return text


# --- lazy names


class _Test(NamedTuple):
    """
    What a condition in a `__getattr__` comes to for one name.

    Args:
        truth: None where that cannot be told.
        known: whether the name is one of those that it is compared with.

    """

    truth: bool | None
    known: bool = False


def _of_function(lookup: Lookup, tree: ModuleTree, node: ast.FunctionDef, name: str) -> Values:
    where = f"{tree.name}.__getattr__"
    if placed := _placed(lookup, tree, node, name):
        return placed
    ends, through = _Ways(lookup, tree, node.args.args[0].arg, name).ends(node.body)
    if ends == {"absent"} and not through:
        return (absent(f"{tree.name} has no {name!r}, and its __getattr__ knows none"),)
    if not ends or ends - {"given", "perhaps"}:
        return (undecidable(f"{where} may give {name}, which cannot be told"),)
    lazy = _typed(lookup, tree, name) or (_lazy(tree, name, node),)
    is_sure = ends == {"given"} and not through
    return lazy if is_sure else tuple(one.unsure(f"{where} may give another") for one in lazy)


def _lazy(tree: ModuleTree, name: str, node: ast.stmt) -> Value:
    reason = f"{tree.name} gives {name} lazily"
    return Value("present", Kind.ASSIGNMENT, tree.name, name, tree, (node,), reason, sure=False)


class _Ways:
    """
    Follows a `__getattr__` for one name: on which ways it returns, and what it knew there.

    Args:
        lookup: for tables.
        tree: the module.
        parameter: what it calls the name.
        name: asked for.

    """

    def __init__(self, lookup: Lookup, tree: ModuleTree, parameter: str, name: str) -> None:
        self._lookup = lookup
        self._tree = tree
        self._parameter = parameter
        self._name = name

    def ends(self, body: Sequence[ast.stmt], *, known: bool = False) -> tuple[set[str], bool]:
        """List how they end: `given`, `perhaps`, `absent` or `open`; may they run through?"""
        found: set[str] = set()
        for one in body:
            if isinstance(one, ast.Return):
                return found | {"given" if known else "open"}, False
            if isinstance(one, ast.Raise):
                return found | {_raised(one)}, False
            if isinstance(one, ast.If):
                test = self._test(one.test)
                known = known or test.known
                ways = [one.body] if test.truth else [one.orelse]
                ways = [one.body, one.orelse] if test.truth is None else ways
                after = [self.ends(way, known=known) for way in ways]
                found = found.union(*(ends for ends, _ in after))
                if not any(through for _, through in after):
                    return found, False
            elif any(isinstance(each, (ast.Return, ast.Raise)) for each in ast.walk(one)):
                found.add("perhaps" if known else "open")
        return found, True

    def _test(self, node: ast.expr) -> _Test:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._test(node.operand)
            return _Test(None if inner.truth is None else not inner.truth, inner.known)
        if isinstance(node, ast.BoolOp):
            return self._bool_op(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node, node.ops[0], node.comparators[0])
        return _Test(None)

    def _bool_op(self, node: ast.BoolOp) -> _Test:
        ends = isinstance(node.op, ast.Or)
        parts = [self._test(one) for one in node.values]
        truths = {one.truth for one in parts}
        truth = ends if ends in truths else None if None in truths else not ends
        return _Test(truth, truth is True and any(one.known and one.truth for one in parts))

    def _compare(self, node: ast.Compare, operator: ast.cmpop, other: ast.expr) -> _Test:
        if dotted(node.left) != self._parameter:
            return _Test(None)
        if isinstance(operator, (ast.In, ast.NotIn)):
            inside = self._contains(other)
            truth = None if inside is None else inside is isinstance(operator, ast.In)
            return _Test(truth, bool(inside))
        text = self._lookup.literals.text(other, self._tree)
        if text is None or not isinstance(operator, (ast.Eq, ast.NotEq)):
            return _Test(None)
        return _Test((text == self._name) is isinstance(operator, ast.Eq), text == self._name)

    def _contains(self, node: ast.expr) -> bool | None:
        if isinstance(node, ast.Call) and dotted(node.func) == "globals":
            return False
        cases = self._lookup.cases(self._tree, node.id) if isinstance(node, ast.Name) else ()
        if len(cases) == 1 and cases[0].binding is not None:
            return self._lookup.literals.membership(cases[0].binding, self._tree, self._name)
        try:
            return self._name in self._lookup.literals.value(node, self._tree)
        except (NotLiteralError, TypeError):
            return None


def _raised(one: ast.Raise) -> str:
    raised = one.exc.func if isinstance(one.exc, ast.Call) else one.exc
    return "absent" if raised is not None and dotted(raised) == "AttributeError" else "open"


def _placed(lookup: Lookup, tree: ModuleTree, node: ast.AST, name: str) -> Values:
    """Find a lazy name where a table of the module says that it is; () where none does."""
    for table in dict.fromkeys(one.id for one in ast.walk(node) if isinstance(one, ast.Name)):
        try:
            spelled = lookup.literals.of_name(table, tree)[name]
        except (NotLiteralError, LookupError, TypeError):
            continue
        for module, attribute in _read(tree, spelled, name):
            found = lookup.attribute(module, attribute)
            state = {one.state for one in found}
            is_there = state == {"present"} or (state == {"absent"} and ":" in str(spelled))
            if module in lookup.modules and is_there:
                return tuple(one.via(f"{tree.name}:{name}") for one in found)
    return ()


def _read(tree: ModuleTree, spelled: object, name: str) -> Iterator[tuple[str, str]]:
    """Read `module:name`, `module` and `(package, module)`, absolute or relative."""
    text = spelled[-1] if isinstance(spelled, (tuple, list)) and spelled else spelled
    if isinstance(text, str):
        module, _, attribute = text.partition(":")
        level = len(module) - len(module.lstrip("."))
        absolute = tree.absolute(module[level:] or None, level)
        yield from ((one, attribute or name) for one in (absolute,) if one)
        yield f"{tree.package}.{module}", attribute or name


def _typed(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Find a lazy name where the module says to type checkers that it is; () where it does not."""
    for one in statements(tree.body):
        if isinstance(one, ast.If) and dotted(one.test).endswith("TYPE_CHECKING"):
            cases = Flow(name, tree, lookup).run(one.body) or UNBOUND
            bindings = [case.binding for case in cases]
            if len(bindings) == 1 and bindings[0] is not None:
                found = lookup.bound(bindings[0], Scope(tree))
                if all(each.state == "present" for each in found):
                    return found
    return ()


def _is_handed(lookup: Lookup, tree: ModuleTree, call: ast.Call, name: str) -> bool:
    """Whether a call is given a table that lists a name: `attach(…, {"module": ["name"]})`."""
    for one in (*call.args, *(keyword.value for keyword in call.keywords)):
        try:
            table = lookup.literals.value(one, tree)
        except NotLiteralError:
            continue
        lists = table.values() if isinstance(table, dict) else ()
        if any(isinstance(each, (list, tuple)) and name in each for each in lists):
            return True
    return False


def _replaces(statement: ast.stmt) -> bool:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return isinstance(target, ast.Subscript) and _is_own_module(target)


def _is_or(tree: ModuleTree) -> bool:
    """Whether a module replaces itself where type checkers read imports instead."""
    ifs = (one for one in tree.body if isinstance(one, ast.If))
    return any(
        dotted(one.test).endswith("TYPE_CHECKING") and any(map(_replaces, statements(one.orelse)))
        for one in ifs
    )


# --- open namespaces


def _open(tree: ModuleTree) -> str:
    if not any(sign in tree.source for sign in _SIGNS):
        return ""
    at_import = {id(node) for one in statements(tree.body) for node in (one, *expressions(one))}
    own = tree.name.rpartition(".")[2]
    for node in ast.walk(tree.tree):
        if text := _opens(node, own, runs=id(node) in at_import):
            line = getattr(node, "lineno", 0)
            return f"{tree.name} binds names by code at line {line}: {text}"
    return ""


def _opens(node: ast.AST, own: str, *, runs: bool) -> str:
    """Say how an expression may bind names of its module; what a function does counts as well."""
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        given = [*node.args, *(one.value for one in node.keywords)]
        if name == "setattr" and given and _is_module(given[0], own):
            return ast.unparse(node)[:60]
        if name == "exec" and (runs or any(map(_is_namespace, given))):
            return "exec(…)"
        if isinstance(node.func, ast.Attribute) and _is_namespace(node.func.value):
            return f"{ast.unparse(node.func)}(…)" if node.func.attr in _WRITERS else ""
        if runs and name.split(".")[-1] not in _READERS and any(map(_is_handed_on, given)):
            return f"{ast.unparse(node.func)[:40]}(…)"
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        if _is_namespace(node.value) and not isinstance(node.slice, ast.Constant):
            return f"{ast.unparse(node.value)}[…] = …"
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value and runs:
        return ast.unparse(node) if _is_handed_on(node.value) else ""
    return ""


def _is_namespace(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return _is_own_module(node.value)
    if not isinstance(node, ast.Call) or dotted(node.func) not in ("globals", "vars", "locals"):
        return False
    return all(map(_is_own_module, node.args))


def _is_handed_on(node: ast.AST) -> bool:
    return _is_namespace(node) or _is_own_module(node)


def _is_module(node: ast.AST, own: str) -> bool:
    return _is_own_module(node) or dotted(node) == own


def _is_own_module(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and dotted(node.value) in ("sys.modules", "modules")
        and dotted(node.slice) == "__name__"
    )
