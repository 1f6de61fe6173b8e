"""Finds the functions of a module that run as it is imported."""

import ast
from collections import Counter, deque
from collections.abc import Iterator

from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    dotted,
    statements,
)
from patchkit.authoring.source.loops import made_in

_LOOPS = (ast.For, ast.While)


def called_by_statements(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names that the statements of a module call, one call a statement.

    Args:
        tree: The module.
    """
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield dotted(node.value.func)


def called_at_import(tree: ast.Module) -> set[str]:
    """Return the functions that run as a module is imported, with those that they call.

    Args:
        tree: The module.
    """
    functions: dict[str, ast.stmt] = {}
    unread = deque[ast.AST]()
    for statement in tree.body:
        if isinstance(statement, SCOPES):
            functions[statement.name] = statement
        else:
            unread.append(statement)
    # Decorators run at import; the bodies of functions are read below, if something calls them.
    for function in functions.values():
        unread.extend(getattr(function, "decorator_list", ()))
    called: set[str] = set()
    while unread:
        names = set(_called_names(unread.popleft()))
        for name in names - called:
            if name in functions:
                unread.append(functions[name])
        called |= names
    return called


def acts_at_import(tree: ast.Module) -> bool:
    """Return whether a module does more than define things as it is imported.

    Then it may change others: by a call, by a decorator, or by what a class derives from.

    Args:
        tree: The module.
    """
    for statement in statements(tree.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return True
        if getattr(statement, "decorator_list", ()):
            return True
        if isinstance(statement, ast.ClassDef) and _is_derived(statement):
            return True
    return False


def _is_derived(node: ast.ClassDef) -> bool:
    """Return whether a class has bases or keywords, which run code of others as it is made."""
    return bool(node.bases or node.keywords)


def _called_names(node: ast.AST) -> Iterator[str]:
    """List the plain names that code calls; a name alone is a decorator, which is called, too."""
    if isinstance(node, ast.Name):
        yield node.id
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            yield call.func.id


def called_repeatedly(tree: ast.Module) -> set[str]:
    """Return the functions that run more than once as a module is imported, as far as is told.

    They are called twice, or in a loop, or by a function of which that is so.

    Args:
        tree: The module.
    """
    functions: dict[str, Def] = {}
    # Statements that run, each with whether it may run more than once.
    unread: list[tuple[ast.stmt, bool]] = []
    for node in tree.body:
        if isinstance(node, DEFS):
            functions[node.name] = node
        elif not isinstance(node, ast.ClassDef):
            unread.append((node, False))
    counts: Counter[str] = Counter()
    repeated: set[str] = set()
    while unread:
        statement, may_run_again = unread.pop()
        is_repeated = may_run_again or _has_loop(statement)
        for name in _called_names(statement):
            counts[name] += 1
            if is_repeated or counts[name] > 1:
                repeated.add(name)
            # The body is read at the first call, and once more at the second, by which what it
            # calls runs again. Further calls tell nothing new.
            if name in functions and counts[name] <= 2:
                body = functions[name].body
                unread += [(inner, name in repeated) for inner in body]
    return repeated


def _has_loop(statement: ast.stmt) -> bool:
    """Whether a loop is in a statement, or is it."""
    nodes = ast.walk(statement)
    return any(isinstance(node, _LOOPS) for node in nodes)


def made_in_function(tree: ast.Module, name: str) -> set[str]:
    """Return the parameters of a function of a module, and the names that it binds.

    Args:
        tree: The module.
        name: The name of the function.
    """
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, DEFS) and node.name == name:
            for part in ast.walk(node.args):
                if isinstance(part, ast.arg):
                    names.add(part.arg)
            names |= made_in(node.body)
    return names


def needs_no_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function can be called without arguments.

    Args:
        function: The function.
    """
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    has_defaults = positional == len(arguments.defaults)
    return has_defaults and None not in arguments.kw_defaults
