"""Whether conditions in upstream's source hold, where that can be told without running it."""

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from patchkit.analysis.upstream.resolving.bindings import StatementsByName
from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted, truth_of

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class Platform(NamedTuple):
    """The Python that a release is judged for: its version and `sys.platform`."""

    python: tuple[int, int] = (3, 11)
    system: str = "linux"

    def facts(self) -> dict[str, Any]:
        """The names that conditions may be about."""
        full = (*self.python, 99, "final", 0)
        checking = ("", "typing.", "typing_extensions.", "t.")
        return {
            **{f"{module}TYPE_CHECKING": False for module in checking},
            "__debug__": True,
            "sys.version_info": full,
            "sys.version_info.major": full[0],
            "sys.version_info.minor": full[1],
            "sys.platform": self.system,
            "os.name": "nt" if self.system == "win32" else "posix",
            "sys.implementation.name": "cpython",
            "platform.python_implementation": "CPython",
            "platform.system": {"win32": "Windows"}.get(self.system, self.system.capitalize()),
        }


class _UndecidedError(Exception):
    """An expression whose value cannot be told; never leaves this module."""


class Conditions:
    """Tells whether conditions hold that are about the platform alone."""

    def __init__(self, platform: Platform) -> None:
        self._facts = platform.facts()

    def decide(self, test: ast.expr, tree: ModuleTree) -> bool | None:
        """Tell whether a condition in a module holds; None where that cannot be told."""

        def of_part(part: ast.expr) -> bool | None:
            try:
                return bool(self._value(part, tree))
            except (_UndecidedError, TypeError, IndexError, ValueError):
                return None

        return truth_of(test, of_part)

    def _value(self, node: ast.expr, tree: ModuleTree) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self._value(element, tree) for element in node.elts)
        if isinstance(node, ast.Compare):
            terms = [self._value(term, tree) for term in (node.left, *node.comparators)]
            pairs = zip(node.ops, terms, terms[1:], strict=False)
            return all(_COMPARE[type(op)](left, right) for op, left, right in pairs)
        if isinstance(node, ast.Subscript):
            return self._value(node.value, tree)[_index(node.slice)]
        if isinstance(node, ast.Call):
            return self._call(node, tree)
        return self._name(dotted(node), tree)

    def _call(self, node: ast.Call, tree: ModuleTree) -> Any:
        if not node.args:
            return self._name(dotted(node.func), tree)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "startswith":
            raise _UndecidedError
        return str(self._value(node.func.value, tree)).startswith(self._value(node.args[0], tree))

    def _name(self, name: str, tree: ModuleTree) -> Any:
        if name == "__name__":
            return tree.name
        head, _, rest = name.partition(".")
        statement = StatementsByName.of_scope(tree, tree.tree).sole(head) if name else None
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            places = {alias.asname or alias.name: alias.name for alias in statement.names}
            module: str | None = ""
            if isinstance(statement, ast.ImportFrom):
                module = tree.absolute(statement.module, statement.level)
            name = ".".join(filter(None, (module, places.get(head, head), rest)))
        if name not in self._facts or head in tree.rebound_in_functions():
            raise _UndecidedError
        return self._facts[name]


def _index(node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return slice(*(end and ast.literal_eval(end) for end in (node.lower, node.upper)))
    return ast.literal_eval(node)
