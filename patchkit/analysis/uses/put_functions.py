"""Tells which functions a file puts in the place of others: `up.C.f = mine`."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Signature,
    dotted,
    expressions,
)
from patchkit.analysis.uses.members import plain_signature


def functions_put(nodes: Sequence[ast.AST]) -> dict[int, Signature]:
    """Return how functions of a file are called that it assigns to attributes.

    Args:
        nodes: All statements of the file.

    Returns:
        The signature, by the id of the attribute that is assigned, or of the call of `setattr`. A
        name that may stand for anything but one function is left out.
    """
    functions = _functions(nodes)
    put: dict[int, Signature] = {}
    for node in nodes:
        for place, value in _assignments(node):
            signature = functions.get(dotted(value))
            if signature is not None:
                put[id(place)] = signature
    return put


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what a statement assigns to, or its call of `setattr`, each with what is assigned."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if dotted(call.func) == "setattr" and len(call.args) == 3:
            yield call, call.args[2]


def _functions(nodes: Sequence[ast.AST]) -> dict[str, Signature]:
    """Return how each function is called whose name stands for nothing else in the file."""
    methods = {
        id(member)
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for member in node.body
    }
    counts: Counter[str] = Counter()
    signatures: dict[str, Signature] = {}
    for node in nodes:
        if isinstance(node, DEFS):
            counts.update(argument.arg for argument in _arguments(node))
            signature = plain_signature(node)
            if signature is not None and id(node) not in methods:
                signatures[node.name] = signature
        if id(node) not in methods:
            counts.update(_names_bound(node))
    return {
        name: signature for name, signature in signatures.items() if counts[name] == 1
    }


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """List the parameters of a function."""
    arguments = function.args
    starred = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *starred,
    ]


def _names_bound(node: ast.AST) -> Iterator[str]:
    """Yield the plain names that a statement binds."""
    if isinstance(node, SCOPES):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield (alias.asname or alias.name).partition(".")[0]
    else:
        for part in expressions(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
