"""
Is a target here? A modest answer from its module's source; nothing upstream is imported.

It says `undecided` where plain statements alone do not tell: conditional definitions,
inheritance, star imports, names made at run time.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchkit.cli.facts.module_source import file_of, find_module, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.report.shapes import StateShape
    from patchkit.target import Target

    _Scope = ast.Module | ast.ClassDef

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MAKERS = frozenset({"globals", "vars", "locals", "setattr", "exec", "eval"})


def state_of(target: Target) -> StateShape:
    """Say whether a target is here, as far as the source of its module tells."""
    spec = find_module(target.module)
    if spec is None:
        return _state("no-module", f"module {target.module} is not found here")
    file = file_of(spec)
    if not target.qualname:
        return _state("present", "present", file)
    tree = tree_of(spec)
    if tree is None:
        return _undecided(f"{target.module} has no source that can be read", file)
    if "[" in target.qualname:
        return _undecided("items of containers are made at run time", file)
    first = target.qualname.partition(".")[0]
    if spec.submodule_search_locations is not None and find_module(f"{target.module}.{first}"):
        return _undecided(f"{first} is also a submodule of {target.module}", file)
    return _look(tree, target.qualname.split("."), file)


def _look(tree: ast.Module, names: list[str], file: str | None) -> StateShape:
    scope: _Scope = tree
    for name in names[:-1]:
        inner = _plain_class(scope, name)
        if inner is None:
            return _not_a_plain_class(tree, scope, name, file)
        scope = inner
    return _name_in(tree, scope, names[-1], file)


def _not_a_plain_class(tree: ast.Module, scope: _Scope, name: str, file: str | None) -> StateShape:
    state = _name_in(tree, scope, name, file)
    if state["state"] == "present":
        return _undecided(f"{name} is no class that stands there plainly", file)
    return state


def _name_in(tree: ast.Module, scope: _Scope, name: str, file: str | None) -> StateShape:
    lines = [line for bound, line in _plain_bindings(scope) if bound == name]
    if lines and not _is_deleted(scope, name):
        return _state("present", "present", file, lines[-1])
    if sometimes := [node for node in _own_nodes(scope) if name in _bound_by(node)]:
        line = getattr(sometimes[0], "lineno", None)
        return _undecided(f"{name} stands there, but not in every case", file, line)
    if _has_other_sources(scope) or any(_may_make(node, name) for node in ast.walk(tree)):
        return _undecided(f"no statement defines {name}, but others may bring it", file)
    return _state("absent", f"{name} is not there", file)


def _plain_class(scope: _Scope, name: str) -> ast.ClassDef | None:
    """Find the class that the name is bound to, if nothing else of the scope binds it."""
    bound = [node for node in _own_nodes(scope) if name in _bound_by(node)]
    node = bound[0] if len(bound) == 1 else None
    return node if isinstance(node, ast.ClassDef) and node in scope.body else None


def _plain_bindings(scope: _Scope) -> Iterator[tuple[str, int]]:
    """Yield the names that statements of the scope bind whatever happens, with their lines."""
    for statement in scope.body:
        for part in _binding_parts(statement):
            for node in ast.walk(part) if isinstance(part, ast.expr) else (part,):
                yield from ((name, statement.lineno) for name in _bound_by(node))


def _binding_parts(statement: ast.stmt) -> Sequence[ast.AST]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, ast.AnnAssign):
        return [statement.target] if statement.value is not None else []
    return [statement]


def _bound_by(node: ast.AST) -> list[str]:
    """Name what one node binds in its scope."""
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    return []


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Walk a scope, conditions included, but no scope inside it."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            yield from _own_nodes(node)


def _has_other_sources(scope: _Scope) -> bool:
    """Whether the scope may hold names that no statement of it binds."""
    if isinstance(scope, ast.ClassDef):
        bases = [base for base in scope.bases if ast.unparse(base) != "object"]
        return bool(bases or scope.keywords or scope.decorator_list)
    return any({"*", "__getattr__"} & set(_bound_by(node)) for node in _own_nodes(scope))


def _may_make(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _MAKERS
    if isinstance(node, ast.Attribute):
        return node.attr == name and not isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Global) and name in node.names


def _is_deleted(scope: _Scope, name: str) -> bool:
    deleted = (node for node in _own_nodes(scope) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Del) for node in deleted)


def _undecided(why: str, file: str | None, line: int | None = None) -> StateShape:
    return _state("undecided", f"not decidable statically: {why}", file, line)


def _state(state: str, detail: str, file: str | None = None, line: int | None = None) -> StateShape:
    return {"state": state, "file": file, "line": line, "detail": detail}
