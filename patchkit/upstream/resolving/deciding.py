"""Whether conditions in upstream's source hold, where that can be told without running it."""

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from patchkit.upstream.resolving.bindings import Binders
from patchkit.upstream.resolving.module_tree import Modules, ModuleTree
from patchkit.upstream.resolving.syntax import dotted, truth_of

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
_DEPTH = 5  # how many names may stand for names


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
    """Tells whether conditions hold, through names that modules of a release bind once."""

    def __init__(self, modules: Modules, platform: Platform) -> None:
        self._modules = modules
        self._facts = platform.facts()

    def decide(self, test: ast.expr, tree: ModuleTree) -> bool | None:
        """Tell whether a condition in a module holds; None where that cannot be told."""
        return self._truth(test, tree, _DEPTH)

    def _truth(self, test: ast.expr, tree: ModuleTree, depth: int) -> bool | None:
        def of_part(part: ast.expr) -> bool | None:
            try:
                return bool(self._value(part, tree, depth))
            except (_UndecidedError, TypeError, IndexError, ValueError):
                return None

        return truth_of(test, of_part)

    def _value(self, node: ast.expr, tree: ModuleTree, depth: int) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self._value(element, tree, depth) for element in node.elts)
        if isinstance(node, ast.Compare):
            return self._compare(node, tree, depth)
        if isinstance(node, ast.Subscript):
            return self._value(node.value, tree, depth)[_index(node.slice)]
        if isinstance(node, ast.Call):
            return self._call(node, tree, depth)
        is_logic = isinstance(node, ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Not)
        if is_logic and (truth := self._truth(node, tree, depth)) is not None:
            return truth
        return self._name(dotted(node), tree, depth)

    def _compare(self, node: ast.Compare, tree: ModuleTree, depth: int) -> bool:
        terms = [self._value(term, tree, depth) for term in (node.left, *node.comparators)]
        pairs = zip(node.ops, terms, terms[1:], strict=False)
        return all(_COMPARE[type(op)](left, right) for op, left, right in pairs)

    def _call(self, node: ast.Call, tree: ModuleTree, depth: int) -> Any:
        if not node.args:
            return self._name(dotted(node.func), tree, depth)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "startswith":
            raise _UndecidedError
        whole = self._value(node.func.value, tree, depth)
        return str(whole).startswith(self._value(node.args[0], tree, depth))

    def _name(self, name: str, tree: ModuleTree, depth: int) -> Any:
        if name == "__name__":
            return tree.name
        if name in self._facts:
            return self._facts[name]
        head, _, rest = name.partition(".")
        statement = Binders.of_scope(tree, tree.tree).only(head) if name and depth else None
        if head in tree.rebound_in_functions():
            raise _UndecidedError
        if isinstance(statement, ast.Import):
            modules = {alias.asname: alias.name for alias in statement.names}
            return self._fact(f"{modules.get(head)}.{rest}")
        if isinstance(statement, ast.ImportFrom):
            module = tree.absolute(statement.module, statement.level) or ""
            names = {alias.asname or alias.name: alias.name for alias in statement.names}
            return self._imported(module, names.get(head, ""), rest, depth - 1)
        value = _assigned(statement, head)
        if value is None or rest:
            raise _UndecidedError
        return self._value(value, tree, depth - 1)

    def _imported(self, module: str, name: str, rest: str, depth: int) -> Any:
        imported = ".".join(filter(None, (module, name, rest)))
        other = self._modules.get(module)
        if imported in self._facts or other is None or rest:
            return self._fact(imported)
        return self._name(name, other, depth)

    def _fact(self, name: str) -> Any:
        if name not in self._facts:
            raise _UndecidedError
        return self._facts[name]


def _assigned(statement: ast.stmt | None, name: str) -> ast.expr | None:
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    is_named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return statement.value if is_named else None


def _index(node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return slice(*(end and ast.literal_eval(end) for end in (node.lower, node.upper)))
    return ast.literal_eval(node)
