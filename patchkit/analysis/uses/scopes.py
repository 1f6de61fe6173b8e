"""Finds what the names of a file stand for by its imports, and where it expects that one is absent.

A use is guarded where the file tests the version, or whether something is there, or catches what
an absence raises.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.core.rows.target import Target

_ERRORS = {
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "Exception",
    "BaseException",
}
_VERSION_TEST = re.compile(
    r"(?i).*version.*|find_spec|type_checking|envs|environ|getenv|signature"
)
"""Identifiers in a test that may ask which release is installed."""
_ATTRIBUTE_TESTS = frozenset({"hasattr", "getattr"})
_ENDS = (ast.Return, ast.Continue, ast.Break)
Deciding = (
    ast.With
    | ast.AsyncWith
    | ast.If
    | ast.IfExp
    | ast.Assert
    | ast.While
    | ast.Match
    | ast.BoolOp
)


class ImportedName(NamedTuple):
    """A name that an import binds.

    Args:
        name: The name; `*` where all names of a module are imported.
        target: What the name stands for; of `import a.b` that is `a`.
        imported: What the statement imports; of `import a.b` that is `a.b`.
    """

    name: str
    target: Target
    imported: Target


def imported(node: ast.stmt, tree: ModuleTree) -> Iterator[ImportedName]:
    """Yield each name that an import binds.

    Args:
        node: The statement; one that is no import binds nothing.
        tree: The module that it stands in, which relative imports start from.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield _name_of_import(alias)
    elif isinstance(node, ast.ImportFrom):
        module = tree.absolute(node.module, node.level)
        if module:
            for alias in node.names:
                yield _name_of_import_from(module, alias)


def _name_of_import(alias: ast.alias) -> ImportedName:
    module = Target(alias.name)
    if alias.asname:
        return ImportedName(alias.asname, module, module)
    top = alias.name.partition(".")[0]
    return ImportedName(top, Target(top), module)


def _name_of_import_from(module: str, alias: ast.alias) -> ImportedName:
    target = Target(module)
    if alias.name != "*":
        target = Target(module, alias.name)
    return ImportedName(alias.asname or alias.name, target, target)


def names_of(tree: ModuleTree) -> dict[str, Target | None]:
    """Return what the names of a file stand for.

    Args:
        tree: The module; it counts what is bound anywhere in it.

    Returns:
        By name, its target; None for a name that is also bound by something else.
    """
    targets: dict[str, Target | None] = {}
    for node in ast.walk(tree.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, target, _ in imported(node, tree):
                if targets.setdefault(name, target) != target:
                    targets[name] = None
        else:
            bound = _bound_name(node)
            if bound:
                targets[bound] = None
    return targets


def _bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds by itself, an import left out."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            return None
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.alias):
        return None
    # A definition, a handler, a pattern.
    name = getattr(node, "name", getattr(node, "rest", None))
    if isinstance(name, str):
        return name
    return None


def catches(node: ast.Try, *, at_import: bool = False) -> bool:
    """Whether a `try` expects that something is absent.

    Args:
        node: The statement.
        at_import: Whether it runs as the file is imported: a handler that raises again does not
            count then, because the import has failed.
    """
    for handler in node.handlers:
        is_expected = handler.type is None or not _ERRORS.isdisjoint(
            _identifiers(handler.type)
        )
        is_failure = at_import and isinstance(handler.body[-1], ast.Raise)
        if is_expected and not is_failure:
            return True
    return False


class Guards:
    """The tests of a file that decide on what some import packages have.

    Args:
        nodes: The statements of the file, outer ones first.
        roots: The names of the import packages.
    """

    def __init__(self, nodes: Sequence[ast.AST], roots: frozenset[str]) -> None:
        imports = set()
        self._imported: set[str] = set()
        for node in nodes:
            is_import = isinstance(node, (ast.Import, ast.ImportFrom))
            if is_import and not roots.isdisjoint(_top_packages(node)):
                imports.add(node)
                self._imported |= stored(node)
        # Names that are bound by a test, as in `HAS_X = hasattr(up, "x")`.
        self._flags: set[str] = set()
        for node in nodes:
            if (
                isinstance(node, ast.Try)
                and catches(node)
                and _is_parent(node, imports)
            ):
                self._flags |= stored(node)
        for node in nodes:
            if isinstance(node, ast.Assign) and self.tests(node.value):
                self._flags |= stored(node)

    def decides(self, node: Deciding) -> bool:
        """Whether what stands in a node runs, or ends well, only where something is there.

        Args:
            node: A statement or an expression that runs a part of itself only sometimes.
        """
        if isinstance(node, (ast.With, ast.AsyncWith)):
            identifiers: set[str] = set()
            for item in node.items:
                identifiers |= _identifiers(item.context_expr)
            return "suppress" in identifiers and not _ERRORS.isdisjoint(identifiers)
        if isinstance(node, ast.BoolOp):
            return any(map(self.tests, node.values))
        if isinstance(node, ast.Match):
            return self.tests(node.subject)
        return self.tests(node.test)

    def tests(self, test: ast.expr) -> bool:
        """Whether a test may ask which release is installed, or whether something is there.

        Args:
            test: The expression.
        """
        identifiers = _identifiers(test)
        if _ATTRIBUTE_TESTS & identifiers and self._imported & identifiers:
            return True
        if self._flags & identifiers:
            return True
        return any(map(_VERSION_TEST.fullmatch, identifiers))

    def leaves(self, node: ast.stmt, *, at_import: bool) -> bool:
        """Whether what follows a statement runs only if a test lets it.

        Args:
            node: The statement; an `if` of which one branch ends the block.
            at_import: Whether it runs as the file is imported: a branch that raises does not count
                then, because the import has failed.
        """
        if not isinstance(node, ast.If) or not self.tests(node.test):
            return False
        if _ends(node.body) or _ends(node.orelse):
            return True
        return not at_import and (_raises(node.body) or _raises(node.orelse))


def _is_parent(node: ast.Try, children: Collection[ast.AST]) -> bool:
    return any(child in children for child in ast.iter_child_nodes(node))


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], _ENDS)


def _raises(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Raise)


def _top_packages(node: ast.AST) -> set[str]:
    """Return the top packages that an import names; "" where it is relative and names none."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    return {name.partition(".")[0] for name in names}


def _identifiers(node: ast.AST) -> set[str]:
    """Return the names and attributes in an expression."""
    identifiers = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            identifiers.add(child.id)
        elif isinstance(child, ast.Attribute):
            identifiers.add(child.attr)
    return identifiers


def stored(node: ast.AST) -> set[str]:
    """Return the names that code assigns to or imports, wherever in it.

    Args:
        node: A statement or an expression; definitions in it do not count.
    """
    names = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.add(child.id)
        elif isinstance(child, ast.alias):
            names.add(child.asname or child.name.partition(".")[0])
    return names
