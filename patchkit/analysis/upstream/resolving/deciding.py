"""Decides conditions that depend on the platform alone, such as `sys.platform == "win32"`."""

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from patchkit.analysis.upstream.resolving.bindings import StatementsByName
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted, truth_of

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class Platform(NamedTuple):
    """The Python that a release is read for.

    Args:
        python: Its version, major and minor.
        system: Its `sys.platform`.
    """

    python: tuple[int, int] = (3, 11)
    system: str = "linux"

    def facts(self) -> dict[str, Any]:
        """Return the value of each name that conditions may be about.

        Returns:
            The values by dotted name. The micro version is 99, later than any that exists,
            and the implementation is CPython.
        """
        version = (*self.python, 99, "final", 0)
        system_names = {"win32": "Windows"}
        os_names = {"win32": "nt"}
        # `TYPE_CHECKING` is listed without its module, too: where a `try` holds the import, the
        # source does not tell which module it is from.
        return {
            "TYPE_CHECKING": False,
            "t.TYPE_CHECKING": False,
            "typing.TYPE_CHECKING": False,
            "typing_extensions.TYPE_CHECKING": False,
            "__debug__": True,
            "sys.version_info": version,
            "sys.version_info.major": version[0],
            "sys.version_info.minor": version[1],
            "sys.platform": self.system,
            "os.name": os_names.get(self.system, "posix"),
            "sys.implementation.name": "cpython",
            "platform.python_implementation": "CPython",
            "platform.system": system_names.get(self.system, self.system.capitalize()),
        }


class _UndecidedError(Exception):
    """An expression whose value is not known; it is caught in this module."""


class Conditions:
    """Decides conditions that depend on the platform alone.

    Args:
        platform: The Python that the release is read for.
    """

    def __init__(self, platform: Platform) -> None:
        self._facts = platform.facts()

    def decide(self, test: ast.expr, tree: ModuleTree) -> bool | None:
        """Return whether a condition holds.

        Args:
            test: The condition.
            tree: The module that it stands in.

        Returns:
            None if it depends on anything else.
        """

        def truth_of_part(part: ast.expr) -> bool | None:
            """Return whether an operand of `and`, `or` or `not` holds; None if undecided."""
            try:
                return bool(self._value(part, tree))
            except (_UndecidedError, TypeError, IndexError, ValueError):
                return None

        return truth_of(test, truth_of_part)

    def _value(self, node: ast.expr, tree: ModuleTree) -> Any:
        """Return the value of an expression; raise `_UndecidedError` if it is not known.

        The operands of the expression are worked out by recursion.
        """
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self._value(element, tree) for element in node.elts)
        if isinstance(node, ast.Compare):
            return self._compare(node, tree)
        if isinstance(node, ast.Subscript):
            return self._value(node.value, tree)[_index(node.slice)]
        if isinstance(node, ast.Call):
            return self._call(node, tree)
        return self._name(dotted(node), tree)

    def _compare(self, node: ast.Compare, tree: ModuleTree) -> bool:
        """Work out a comparison, which may be a chain: `(3, 9) <= sys.version_info < (3, 12)`."""
        operand = self._value(node.left, tree)
        following = [self._value(comparator, tree) for comparator in node.comparators]
        for comparison, next_operand in zip(node.ops, following, strict=True):
            if not _COMPARE[type(comparison)](operand, next_operand):
                return False
            operand = next_operand
        return True

    def _call(self, node: ast.Call, tree: ModuleTree) -> Any:
        """Work out `platform.system()` and the like, or `….startswith(…)`."""
        if not node.args:  # the facts have what a function returns by its name
            return self._name(dotted(node.func), tree)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "startswith":
            raise _UndecidedError
        text = str(self._value(node.func.value, tree))
        return text.startswith(self._value(node.args[0], tree))

    def _name(self, name: str, tree: ModuleTree) -> Any:
        """Return the value of a dotted name in a module; raise `_UndecidedError` if not known."""
        if name == "__name__":
            return tree.name
        first_name = name.partition(".")[0]
        full_name = _imported_name(name, tree)
        # A function with `global name` may have bound the name to something else.
        if full_name not in self._facts or first_name in tree.rebound_in_functions():
            raise _UndecidedError
        if _is_of_its_own(first_name, tree):
            raise _UndecidedError
        return self._facts[full_name]


def _imported_name(name: str, tree: ModuleTree) -> str:
    """Return `sys.platform` for `system.platform` below `import sys as system`.

    It is the same for `p` below `from sys import platform as p`.

    Returns:
        The name as it is unless its first part is bound by an import, and by nothing else.
    """
    if not name:
        return name
    first_name, _, attributes = name.partition(".")
    statement = StatementsByName.of_scope(tree, tree.tree).sole(first_name)
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return name
    imported = first_name
    for alias in statement.names:
        if (alias.asname or alias.name) == first_name:
            imported = alias.name
    module: str | None = ""
    if isinstance(statement, ast.ImportFrom):
        module = tree.absolute(statement.module, statement.level)
    return ".".join(part for part in (module, imported, attributes) if part)


def _is_of_its_own(name: str, tree: ModuleTree) -> bool:
    """Whether a module itself defines a name, or assigns anything but False to it."""
    statement = StatementsByName.of_scope(tree, tree.tree).sole(name)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return not (
            isinstance(statement.value, ast.Constant) and statement.value.value is False
        )
    return isinstance(statement, SCOPES)


def _index(node: ast.expr) -> Any:
    """Return the index or slice in `sys.version_info[:2]`."""
    if isinstance(node, ast.Slice):
        return slice(_bound(node.lower), _bound(node.upper), _bound(node.step))
    return ast.literal_eval(node)


def _bound(node: ast.expr | None) -> Any:
    """Return the value of one part of a slice; None where it is left out."""
    if node is None:
        return None
    return ast.literal_eval(node)
