"""Module attributes that no statement binds: those of its `__getattr__`, and those set by code."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

_OPENS = re.compile(
    rb"\b(?:globals|vars|locals)\(\)(?:\[.*\]\s*=[^=]|\.(?:update|setdefault|pop|clear)\b|[,)\n])"
    rb"|\bmodules\[__name__\](?!\.(?!__dict__))|^[ \t]*exec\(",
    re.MULTILINE,
)
"""Code that may change the names of its module, or that passes them on."""
_REPLACES = re.compile(rb"\bmodules\[__name__\]\s*=[^=]")


def lazy_values(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Return what the `__getattr__` of a module returns for a name.

    Args:
        lookup: The release.
        tree: The module.
        name: A name that no statement of the module binds.

    Returns:
        () if the module has no `__getattr__`; an absent value if it has, and that knows no such
        name.
    """
    cases = lookup.binding_cases(tree, "__getattr__")
    nodes = [case.binding.node for case in cases if case.binding]
    if not nodes:
        return ()
    listed = _from_tables(lookup, tree, nodes[0], name)
    if listed:
        return listed
    returns = None
    if len(nodes) == 1:
        returns = _returns(lookup, tree, nodes[0], name)
    if returns is None:
        return (
            undecided(
                f"{tree.name} creates names lazily: its __getattr__ may provide {name}"
            ),
        )
    if not returns:
        return (
            absent(
                f"{tree.name} has no {name!r}, and its __getattr__ does not provide it"
            ),
        )
    declared = _for_type_checkers(lookup, tree, name)
    if declared:
        return declared
    value = Value(
        "present",
        Kind.ASSIGNMENT,
        module=tree.name,
        qualname=name,
        tree=tree,
        nodes=(nodes[0],),
        reason=f"{tree.name} provides {name} lazily",
        is_sure=False,
    )
    return (value,)


def replaces_itself(tree: ModuleTree) -> bool:
    """Whether a module puts another object in its place in `sys.modules`.

    Args:
        tree: The module, whose text is searched for an assignment to `modules[__name__]`.
    """
    return tree.remember_with_file(
        "replaced", lambda: bool(_REPLACES.search(tree.source))
    )


def dynamic_binding(tree: ModuleTree) -> str:
    """Describe the code by which a module may bind names that cannot be read.

    Args:
        tree: The module, whose text is searched: `globals().update(…)`, `exec(…)` and the like.

    Returns:
        The first such line, for the report; '' if there is none.
    """
    return tree.remember_with_file("open", lambda: _dynamic_binding(tree))


def _dynamic_binding(tree: ModuleTree) -> str:
    match = _OPENS.search(tree.source)
    if not match:
        return ""
    line = tree.source.count(b"\n", 0, match.start())
    text = tree.source.split(b"\n")[line].decode(errors="replace").strip()[:60]
    return f"{tree.name} binds names by code at line {line + 1}: {text}"


def _returns(
    lookup: Lookup,
    tree: ModuleTree,
    node: ast.stmt,
    name: str,
) -> bool | None:
    """Whether a `__getattr__` returns something for a name; None if that cannot be told."""
    if not isinstance(node, ast.FunctionDef) or not node.args.args:
        return None
    function = _GetattrFunction(lookup, tree, node.args.args[0].arg, name)
    return function.returns(node.body, is_listed=False)


@dataclass(frozen=True)
class _GetattrFunction:
    """A module's `__getattr__`, followed for one name."""

    lookup: Lookup
    tree: ModuleTree
    parameter: str
    name: str

    def returns(self, body: Sequence[ast.stmt], *, is_listed: bool) -> bool | None:
        """Follow statements up to the first `return` or `raise`.

        Args:
            body: The statements.
            is_listed: Whether a test that was passed has the name among those it lists.

        Returns:
            Whether something is returned; None if that cannot be told.
        """
        for statement in filter(_may_end, body):
            if isinstance(statement, ast.Return):
                return is_listed or None
            if isinstance(statement, ast.Raise):
                if _raises_attribute_error(statement):
                    return False
                return None
            if not isinstance(statement, ast.If):
                return None
            result = self._decide(statement.test)
            if result is None:
                return None
            is_true, is_in_list = result
            is_listed = is_listed or is_in_list
            branch = statement.body if is_true else statement.orelse
            if any(map(_may_end, branch)):
                return self.returns(branch, is_listed=is_listed)
        return None

    def _decide(self, test: ast.expr) -> tuple[bool, bool] | None:
        """Return whether a test holds, and whether it lists the name; None if untold."""
        if not isinstance(test, ast.Compare) or dotted(test.left) != self.parameter:
            return None
        operator = test.ops[0]
        operand = test.comparators[0]
        if isinstance(operand, ast.Call) and dotted(operand.func) == "globals":
            return isinstance(operator, ast.NotIn), False
        is_listed = self._lists_name(operator, operand)
        if is_listed is None:
            return None
        if isinstance(operator, (ast.In, ast.Eq)):
            return is_listed, is_listed
        if isinstance(operator, (ast.NotIn, ast.NotEq)):
            return not is_listed, is_listed
        return None

    def _lists_name(self, operator: ast.cmpop, operand: ast.expr) -> bool | None:
        if not isinstance(operator, (ast.Eq, ast.NotEq)):
            return contains(self.lookup.evaluate(operand, Scope(self.tree)), self.name)
        if isinstance(operand, ast.Constant):
            return bool(operand.value == self.name)
        return None


def _raises_attribute_error(statement: ast.Raise) -> bool:
    error = statement.exc
    if isinstance(error, ast.Call):
        error = error.func
    return dotted(error) == "AttributeError"


def _may_end(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement)
    )


def _from_tables(lookup: Lookup, tree: ModuleTree, node: ast.AST, name: str) -> Values:
    """Find a lazy name in the module where a table that `__getattr__` reads has it; () if none.

    Such tables are `{"name": "module"}`, `{"name": ".module:attribute"}` and
    `{"name": ("package", "module")}`.
    """
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    for table in dict.fromkeys(names):
        for module, attribute in _table_entry(lookup, tree, table, name):
            values = lookup.module_attribute(module, attribute or name)
            states = {value.state for value in values}
            # Only an entry that names an attribute can be wrong about it.
            is_decided = states == {"present"} or (states == {"absent"} and attribute)
            if module in lookup.modules and is_decided:
                return values
    return ()


def _table_entry(
    lookup: Lookup,
    tree: ModuleTree,
    table: str,
    name: str,
) -> Iterator[tuple[str, str]]:
    """List the modules that an entry of a table may mean, each with the attribute or ''."""
    values: list[Value] = []
    for case in lookup.binding_cases(tree, table):
        if case.binding and case.binding.value:
            values += lookup.bound_values(case, Scope(tree))
    if len(values) != 1:
        return
    container = literal_container(values[0])
    if container is None:
        return
    node = container.items.get(name)
    if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
        node = node.elts[-1]
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    module, _, attribute = node.value.partition(":")
    plain = module.lstrip(".")
    absolute = tree.absolute(plain or None, len(module) - len(plain))
    if absolute:
        yield absolute, attribute
    yield f"{tree.package}.{module}", attribute


def _for_type_checkers(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Find what a lazy name is below `if TYPE_CHECKING`; () if that is not told there."""
    for statement in statements(tree.tree.body):
        if not isinstance(statement, ast.If) or not _is_for_type_checkers(statement):
            continue
        cases = Flow(name, tree, lookup).run(statement.body) or UNBOUND
        values = lookup.bound_values(cases[0], Scope(tree))
        is_present = all(value.state == "present" for value in values)
        if values and len(cases) == 1 and is_present:
            return values
    return ()


def _is_for_type_checkers(statement: ast.If) -> bool:
    return dotted(statement.test).endswith("TYPE_CHECKING")
