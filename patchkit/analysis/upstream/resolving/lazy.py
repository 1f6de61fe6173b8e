"""Finds module attributes that no statement binds: the module's `__getattr__` or code sets them."""

import ast
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from patchkit.analysis.upstream.resolving.bindings import UNBOUND
from patchkit.analysis.upstream.resolving.called import function_called
from patchkit.analysis.upstream.resolving.flow import Flow
from patchkit.analysis.upstream.resolving.kept_submodules import kept_submodule
from patchkit.analysis.upstream.resolving.literals import contains, literal_container
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    dotted,
    expressions,
    statements,
    walk,
)
from patchkit.analysis.upstream.resolving.type_declarations import declared_for_types
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    Values,
    absent,
    undecided,
)

# It begins with a plain character, as `re` searches for that much faster than for what precedes it.
_PASSES_NAME = re.compile(
    rb"\((?<!getLogger\()(?<!init_logger\()(?<!import_module\()(?<!__import__\()"
    rb"\s*(?:#[^\n]*\n\s*)?__name__\s*[,)]"
)
"""A call that is passed `__name__` first, but for those that find a logger or a module."""
_ASSIGNS = re.compile(
    rb"\bmodules\[\w+\](\.(?!__getattr__\b)\w+)?\s*=[^=]|\bsetattr\((sys\.)?modules\[\w+\]"
    rb"|\bexec\([^\n]*modules\[\w+\]\.__dict__"
)
"""Code that puts a module into `sys.modules`, or sets names of one that is there."""
_GIVES_GETATTR = re.compile(rb"\bmodules\[\w+\]\.__getattr__\s*=[^=]")
"""Code that gives a module a `__getattr__`, which is asked for what the module lacks."""
_NAMES = re.compile(
    rb"(?:\b(\w+)(?:\s*:[^=\n]+)?\s*=\s*)?(?:\w+\.)?modules\[\w+\]\.__dict__"
)
"""The names of a module that is there, and the variable that they are assigned to, if any."""
_CHANGES = (
    rb"%s(?:\[[^\]\n]+\]\s*=[^=]|\.(?:update|setdefault|pop|clear|__setitem__)\b)"
)
"""Code that changes a dict; for `%s` stands what it is called."""
_REMOVES = re.compile(rb"\bdel\s+(?:\w+\.)?modules\[([^\]\n]+)\]")


def lazy_values(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Return what the `__getattr__` of a module returns for a name.

    Args:
        lookup: The release.
        tree: The module.
        name: A name that no statement of the module binds.

    Returns:
        () if the module has no `__getattr__`; an absent value if it has one that raises
        AttributeError for the name.
    """
    cases = lookup.binding_cases(tree, "__getattr__")
    nodes = [case.binding.node for case in cases if case.binding]
    if not nodes:
        if declared_for_types(tree, tree.tree.body, name):
            return (undecided(f"{tree.name} declares {name} for type checkers"),)
        return _by_other_code(lookup, tree, name)
    # A table such as `{"name": "module"}` says best where the name is defined.
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
    # Next best is an import of the name below `if TYPE_CHECKING`.
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


def _by_other_code(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Return what a `__getattr__` may provide that code elsewhere gives a module."""
    if not tree.remember_with_file("passes name", lambda: _passes_name(tree)):
        return ()
    calls = tree.remember(
        "giving calls",
        lambda: list(_calls_with_name(lookup, tree, _gives_getattr)),
    )
    if not calls:
        return ()
    return (
        undecided(f"other code gives {tree.name} a __getattr__: it may provide {name}"),
    )


def may_be_replaced(lookup: Lookup, tree: ModuleTree) -> bool:
    """Whether code that a module calls may put another object in its place in `sys.modules`.

    Args:
        lookup: The release.
        tree: The module, whose text is searched for `del sys.modules[__name__]`, and for a call
            `f(__name__, …)` of a function whose module assigns to `modules[…]`.
    """
    if tree.remember_with_file("removed", lambda: _removes_itself(tree)):
        return True
    # Most modules pass their name to a logger alone.
    passes_name = tree.remember_with_file("passes name", lambda: _passes_name(tree))
    return passes_name and tree.remember(
        "replaced by call", lambda: any(_calls_with_name(lookup, tree, _sets_names))
    )


def of_replaced(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Return what a name is of a module that other code may put another object in the place of.

    Args:
        lookup: The release.
        tree: The module.
        name: The name.
    """
    makers: list[ModuleTree] = []
    for call in tree.remember(
        "replacing calls", lambda: list(_calls_with_name(lookup, tree, _sets_names))
    ):
        owner, _, function = dotted(call.func).rpartition(".")
        called = function_called(lookup, tree, owner, function)
        if called is not None:
            makers += [tree, called.tree]
    is_removed = tree.remember_with_file("removed", lambda: _removes_itself(tree))
    submodule = () if is_removed else kept_submodule(lookup, tree, makers, name)
    reason = f"other code puts something into {tree.name}'s place"
    return submodule or (undecided(reason),)


def _removes_itself(tree: ModuleTree) -> bool:
    """Whether a module takes itself out of `sys.modules`."""
    if b"modules[" not in tree.source:
        return False
    removed = {match.decode() for match in _REMOVES.findall(tree.source)}
    return bool(removed & {"__name__", f"'{tree.name}'", f'"{tree.name}"'})


def _passes_name(tree: ModuleTree) -> bool:
    """Whether the text of a module passes `__name__` to what may be a function of upstream."""
    return _PASSES_NAME.search(tree.source) is not None


def _calls_with_name(
    lookup: Lookup, tree: ModuleTree, matches: Callable[[bytes], bool]
) -> Iterator[ast.Call]:
    """List the calls of a module that pass its name to a function whose module's text matches.

    Nearly every module passes its name to the same function, one that makes loggers.
    """
    for node in tree.remember_with_file("passing name", lambda: _passing_name(tree)):
        owner, _, name = dotted(node.func).rpartition(".")
        called = function_called(lookup, tree, owner, name)
        if called is None:
            continue
        maker = called.tree
        key = matches.__name__
        if maker.remember_with_file(key, functools.partial(matches, maker.source)):
            yield node


def _passing_name(tree: ModuleTree) -> list[ast.Call]:
    """List the calls of a module whose first argument is its name."""
    calls = []
    for statement in tree.tree.body:
        for node in expressions(statement):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if dotted(node.args[0]) == "__name__":
                calls.append(node)
    return calls


def _gives_getattr(source: bytes) -> bool:
    """Whether a text gives a module a `__getattr__`."""
    return _GIVES_GETATTR.search(source) is not None


def _sets_names(source: bytes) -> bool:
    """Whether a text puts modules into `sys.modules`, or sets names of those that are there.

    To read `sys.modules[module].__dict__` sets nothing.
    """
    if _ASSIGNS.search(source):
        return True
    written = {match[1] and rb"\b%s" % match[1] for match in _NAMES.finditer(source)}
    called = {name or rb"\bmodules\[\w+\]\.__dict__" for name in written}
    return any(re.search(_CHANGES % name, source) for name in called)


def _returns(
    lookup: Lookup,
    tree: ModuleTree,
    node: ast.stmt,
    name: str,
) -> bool | None:
    """Whether a `__getattr__` returns something for a name; None if it cannot be followed."""
    if not isinstance(node, ast.FunctionDef) or not node.args.args:
        return None
    function = _GetattrFunction(lookup, tree, node.args.args[0].arg, name)
    return function.returns(node.body, is_listed=False)


@dataclass(frozen=True)
class _GetattrFunction:
    """A module's `__getattr__`, followed for one name.

    Args:
        lookup: The release.
        tree: The module.
        parameter: The parameter of `__getattr__`, which is compared in its tests.
        name: The name.
    """

    lookup: Lookup
    tree: ModuleTree
    parameter: str
    name: str

    def returns(self, body: Sequence[ast.stmt], *, is_listed: bool) -> bool | None:
        """Follow statements up to the first `return` or `raise`.

        Args:
            body: The statements.
            is_listed: Whether a test before them lists the name, as `if name in ("a", "b")`.

        Returns:
            Whether something is returned; None if that is not known, also for a `return` that no
            test guards.
        """
        for statement in filter(_may_end, body):
            if isinstance(statement, ast.Return):
                if is_listed:
                    return True
                return None  # it may return something for every name
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
            # A branch that neither returns nor raises leads to the next statement.
            if any(map(_may_end, branch)):
                return self.returns(branch, is_listed=is_listed)
        return None

    def _decide(self, test: ast.expr) -> tuple[bool, bool] | None:
        """Decide a test of `__getattr__`.

        Returns:
            Whether it holds, and whether it lists the name; None for a test of another form.
        """
        if not isinstance(test, ast.Compare) or dotted(test.left) != self.parameter:
            return None
        operator = test.ops[0]
        operand = test.comparators[0]
        # The name is not in `globals()`, or Python would not have called `__getattr__`.
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
        """Whether a test has the name: `== "name"`, `in TABLE`; None if that is not spelled out."""
        if not isinstance(operator, (ast.Eq, ast.NotEq)):
            return contains(self.lookup.evaluate(operand, Scope(self.tree)), self.name)
        if isinstance(operand, ast.Constant):
            return bool(operand.value == self.name)
        return None


def _raises_attribute_error(statement: ast.Raise) -> bool:
    """Whether a statement is `raise AttributeError` or `raise AttributeError(…)`."""
    error = statement.exc
    if isinstance(error, ast.Call):
        error = error.func
    return dotted(error) == "AttributeError"


def _may_end(statement: ast.stmt) -> bool:
    """Whether a statement, or one in it, returns or raises."""
    return any(isinstance(node, (ast.Return, ast.Raise)) for node in walk(statement))


def _from_tables(lookup: Lookup, tree: ModuleTree, node: ast.AST, name: str) -> Values:
    """Look a lazy name up in the module that a table of `__getattr__` names; () for no such table.

    Such tables are `{"name": "module"}`, `{"name": ".module:attribute"}` and
    `{"name": ("package", "module")}`.
    """
    names = [part.id for part in walk(node) if isinstance(part, ast.Name)]
    for table in dict.fromkeys(names):
        for module, attribute in _table_entry(lookup, tree, table, name):
            values = lookup.module_attribute(module, attribute or name)
            states = {value.state for value in values}
            is_present = states == {"present"}
            # `.module:attribute` may name what is not there. But if an entry without an attribute
            # leads to an absent name, it means something else than a module.
            is_known_absent = states == {"absent"} and bool(attribute)
            if module in lookup.modules and (is_present or is_known_absent):
                return values
    return ()


def _table_entry(
    lookup: Lookup,
    tree: ModuleTree,
    table: str,
    name: str,
) -> Iterator[tuple[str, str]]:
    """List the modules that an entry of a table may mean, each with an attribute or ''.

    A name without leading dots may be absolute, or relative to the package: both are listed.
    """
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
        node = node.elts[-1]  # the module of `("package", "module")`
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    module, _, attribute = node.value.partition(":")
    plain = module.lstrip(".")
    level = len(module) - len(plain)  # the number of leading dots
    absolute = tree.absolute(plain or None, level)
    if absolute:
        yield absolute, attribute
    yield f"{tree.package}.{module}", attribute


def _for_type_checkers(lookup: Lookup, tree: ModuleTree, name: str) -> Values:
    """Find what a lazy name is bound to below `if TYPE_CHECKING`; () if it is not bound there."""
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
