"""What names stand for in a file, as imports tell it, and where their absence is reckoned with."""

import ast
import re
from collections.abc import Iterator, Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.core.rows.target import Target

_ERRORS = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_WORD = re.compile(r"(?i).*version.*|find_spec|type_checking|envs|environ|getenv|signature")
_ASKS = frozenset({"hasattr", "getattr"})
_ENDS = (ast.Return, ast.Continue, ast.Break)
Deciding = (
    ast.With | ast.AsyncWith | ast.If | ast.IfExp | ast.Assert | ast.While | ast.Match | ast.BoolOp
)


def imported(node: ast.stmt, tree: ModuleTree) -> Iterator[tuple[str, Target, Target]]:
    """Give each name that an import binds, what it stands for, and what is imported."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            whole = Target(alias.name)
            top = alias.name.partition(".")[0]
            yield (alias.asname, whole, whole) if alias.asname else (top, Target(top), whole)
    elif isinstance(node, ast.ImportFrom) and (module := tree.absolute(node.module, node.level)):
        for alias in node.names:
            whole = Target(module, "" if alias.name == "*" else alias.name)
            yield alias.asname or alias.name, whole, whole


def names_of(tree: ModuleTree) -> dict[str, Target | None]:
    """Tell what the names of a file stand for; None of what it binds otherwise, wherever in it."""
    found: dict[str, Target | None] = {}
    for node in ast.walk(tree.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, place, _ in imported(node, tree):
                found[name] = place if found.get(name, place) == place else None
        elif bound := _bound(node):
            found[bound] = None
    return found


def _bound(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.alias):
        return None
    name = getattr(node, "name", getattr(node, "rest", None))  # a definition, a handler, a pattern
    return name if isinstance(name, str) else None


def catches(node: ast.Try, *, at_import: bool = False) -> bool:
    """Whether a `try` reckons that something is not there; an import that ends so has failed."""
    handlers = [
        one for one in node.handlers if one.type is None or not _ERRORS.isdisjoint(_words(one.type))
    ]
    return any(not (at_import and isinstance(one.body[-1], ast.Raise)) for one in handlers)


class Guards:
    """The tests of a file that decide on what some import packages have."""

    def __init__(self, nodes: Sequence[ast.AST], roots: frozenset[str]) -> None:
        self._flags: set[str] = set()
        imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom))]
        ours = [one for one in imports if not roots.isdisjoint(_tops(one))]
        self._imported = {name for one in ours for name in stored(one)}
        for node in nodes:
            is_try = isinstance(node, ast.Try) and catches(node)
            if is_try and not {*ours}.isdisjoint(ast.iter_child_nodes(node)):
                self._flags |= stored(node)
        for node in nodes:
            if isinstance(node, ast.Assign) and self.tests(node.value):
                self._flags |= stored(node)

    def decides(self, node: Deciding) -> bool:
        """Whether what stands in it runs, or ends well, only where something is there."""
        if isinstance(node, (ast.With, ast.AsyncWith)):
            words = {word for item in node.items for word in _words(item.context_expr)}
            return "suppress" in words and not _ERRORS.isdisjoint(words)
        if isinstance(node, ast.BoolOp):
            return any(map(self.tests, node.values))
        return self.tests(node.subject if isinstance(node, ast.Match) else node.test)

    def tests(self, test: ast.expr) -> bool:
        """Whether a test may ask which release is there, or whether something is."""
        words = _words(test)
        if _ASKS & words and self._imported & words:
            return True
        return any(word in self._flags or _WORD.fullmatch(word) for word in words)

    def leaves(self, node: ast.stmt, *, at_import: bool) -> bool:
        """Whether what comes behind a statement runs only if a test says so, and else is missed."""
        if not isinstance(node, ast.If) or not self.tests(node.test):
            return False
        ends = _ENDS if at_import else (*_ENDS, ast.Raise)
        return any(isinstance(body[-1], ends) for body in (node.body, node.orelse) if body)


def _tops(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module]
    return {(name or "").partition(".")[0] for name in names}


def _words(node: ast.AST) -> set[str]:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node))
    return {name for name in names if isinstance(name, str)}


def stored(node: ast.AST) -> set[str]:
    """Name what code binds, wherever in it."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
    return found
