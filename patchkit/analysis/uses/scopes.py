"""Finds what imported names stand for in a file, and where it expects that something is absent.

A use is *guarded* if the file handles the absence of what it uses: it tests the version, or whether
the name exists, or catches the error of a missing one.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.uses.texts import imported_by_call
from patchkit.analysis.uses.use import UseGuard
from patchkit.core.rows.target import Target

_ERRORS_OF_ABSENCE = {
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "Exception",
    "BaseException",
}
_VERSION_TEST = re.compile(
    r"(?i).*version.*|find_spec|type_checking|envs|environ|getenv|signature"
)
"""Matches identifiers with which a test may find out which release is installed."""
_ATTRIBUTE_TESTS = frozenset({"hasattr", "getattr"})
_BLOCK_ENDS = (ast.Return, ast.Continue, ast.Break)
Guarding = (
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
        target: What the name stands for; after `import a.b`, the module `a`.
        imported: What the statement imports; for `import a.b`, the module `a.b`.
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
    """Return the name that `import a.b` (`a`) or `import a.b as c` (`c`) binds."""
    module = Target(alias.name)
    if alias.asname:
        return ImportedName(alias.asname, module, module)
    top = alias.name.partition(".")[0]
    return ImportedName(top, Target(top), module)


def _name_of_import_from(module: str, alias: ast.alias) -> ImportedName:
    """Return the name that `from module import a` or `from module import *` binds."""
    target = Target(module)
    if alias.name != "*":
        target = Target(module, alias.name)
    return ImportedName(alias.asname or alias.name, target, target)


def names_of(tree: ModuleTree) -> dict[str, Target | None]:
    """Return what the imported names of a file stand for.

    Args:
        tree: The module; scopes are not told apart, so a name counts wherever it is bound.

    Returns:
        The targets by name; None for a name that is not imported, or also bound to something else:
        what it stands for where it is used is not known.
    """
    targets: dict[str, Target | None] = {}
    # The names of assignments that import by a call. `ast.walk` comes to a statement before its
    # parts.
    bound_by_call: set[ast.AST] = set()
    for node in ast.walk(tree.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, target, _ in imported(node, tree):
                _bind(targets, name, target)
        elif isinstance(node, ast.Assign) and imported_by_call(node.value):
            module = Target(imported_by_call(node.value))
            for place in node.targets:
                if isinstance(place, ast.Name):
                    bound_by_call.add(place)
                    _bind(targets, place.id, module)
        elif node not in bound_by_call:
            bound = _bound_name(node)
            if bound:
                targets[bound] = None
    return targets


def _bind(targets: dict[str, Target | None], name: str, target: Target) -> None:
    """Note what a name stands for; None if an earlier statement has bound it to something else."""
    earlier_target = targets.setdefault(name, target)
    if earlier_target != target:
        targets[name] = None


def _bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds other than by import; None if it binds none."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            return None
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.alias):
        return None  # a part of an import; it has a `name` too
    if isinstance(node, ast.MatchMapping):
        return node.rest  # `case {**rest}`
    # A definition, an `except E as name`, or a pattern: `case C() as name`, `case [*name]`.
    name = getattr(node, "name", None)
    if isinstance(name, str):
        return name
    return None


def guard_of_try(node: ast.Try, *, at_import: bool = False) -> UseGuard:
    """Return how a `try` handles the absence of something, such as by `except ImportError`.

    Args:
        node: The statement.
        at_import: Whether it runs when the file is imported. Then a handler that raises does not
            count, because the import fails all the same.
    """
    caught: set[str] = set()
    for handler in node.handlers:
        if at_import and isinstance(handler.body[-1], ast.Raise):
            continue
        # Without a type it catches everything, else one of the errors for what is missing.
        caught |= {"Exception"} if handler.type is None else _identifiers(handler.type)
    caught &= _ERRORS_OF_ABSENCE
    return UseGuard(bool(caught), tuple(sorted(caught)))


def imported_by_try(
    node: ast.Try, tree: ModuleTree, roots: Collection[str]
) -> tuple[str, ...]:
    """Return what the body of a `try` imports itself, not inside of another statement.

    Args:
        node: The statement.
        tree: The module that it stands in.
        roots: The names of the import packages whose names are returned.
    """
    targets = [
        name.imported for statement in node.body for name in imported(statement, tree)
    ]
    return tuple(
        str(target) for target in targets if target.module.partition(".")[0] in roots
    )


class Guards:
    """Recognizes the tests of a file for what some import packages contain.

    Args:
        nodes: The statements of the file, outer ones first.
        roots: The names of the import packages.
    """

    def __init__(self, nodes: Sequence[ast.AST], roots: frozenset[str]) -> None:
        imports = set()  # the statements that import from one of the packages
        self._imported: set[str] = set()  # the names that they bind
        for node in nodes:
            is_import = isinstance(node, (ast.Import, ast.ImportFrom))
            if is_import and not roots.isdisjoint(_top_packages(node)):
                imports.add(node)
                self._imported |= stored(node)
        # Names that hold the result of a test, as in `HAS_X = hasattr(up, "x")`, or that are
        # assigned in a `try` with a guarded import, as in `HAS_X = True`.
        self._flags: set[str] = set()
        for node in nodes:
            if (
                isinstance(node, ast.Try)
                and guard_of_try(node).guarded
                and _is_parent(node, imports)
            ):
                self._flags |= stored(node)
        for node in nodes:
            # Outer statements come first: a test may name a flag that was found before.
            if isinstance(node, ast.Assign) and self.is_test(node.value):
                self._flags |= stored(node)

    def guards_inside(self, node: Guarding) -> bool:
        """Whether a node tests for something upstream, or suppresses the error that it is missing.

        What the node contains is guarded then, both branches of an `if` included.

        Args:
            node: A statement or expression that runs a part of itself under a condition, or a
                `with` that may suppress errors.
        """
        if isinstance(node, (ast.With, ast.AsyncWith)):
            identifiers: set[str] = set()
            for item in node.items:
                identifiers |= _identifiers(item.context_expr)
            return "suppress" in identifiers and not _ERRORS_OF_ABSENCE.isdisjoint(
                identifiers
            )
        if isinstance(node, ast.BoolOp):
            return any(map(self.is_test, node.values))
        if isinstance(node, ast.Match):
            return self.is_test(node.subject)
        return self.is_test(node.test)

    def is_test(self, test: ast.expr) -> bool:
        """Whether an expression may test which release is installed, or whether something exists.

        Args:
            test: The expression.
        """
        identifiers = _identifiers(test)
        if _ATTRIBUTE_TESTS & identifiers and self._imported & identifiers:
            return True  # `hasattr(up, "x")`
        if self._flags & identifiers:
            return True  # `HAS_X`
        # `up.__version__ >= …`, `TYPE_CHECKING`, `find_spec(…)`
        return any(map(_VERSION_TEST.fullmatch, identifiers))

    def guards_after(self, node: ast.stmt, *, at_import: bool) -> bool:
        """Whether the statements after one run only if its test allows it.

        `if not hasattr(up, "x"): return` guards all that follows in the block.

        Args:
            node: The statement; only an `if` with a branch that ends the block counts.
            at_import: Whether it runs when the file is imported. Then a branch that raises does not
                count, because the import fails all the same.
        """
        if not isinstance(node, ast.If) or not self.is_test(node.test):
            return False
        if _ends(node.body) or _ends(node.orelse):
            return True
        if at_import:
            return False
        # In a function, a release that lacks something need not call it.
        return _raises(node.body) or _raises(node.orelse)


def _is_parent(node: ast.Try, children: Collection[ast.AST]) -> bool:
    """Whether a `try` contains one of some statements directly, not inside of another block."""
    return any(child in children for child in ast.iter_child_nodes(node))


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], _BLOCK_ENDS)


def _raises(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Raise)


def _top_packages(node: ast.AST) -> set[str]:
    """Return the top packages that an import names; a relative import names none."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
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
    """Return the names that a statement or expression assigns to or imports, at any depth.

    Args:
        node: The statement or expression; names that `def` and `class` bind are left out.
    """
    names = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.add(child.id)
        elif isinstance(child, ast.alias):
            names.add(child.asname or child.name.partition(".")[0])
    return names
