"""Who imports a target by name, and so keeps the original where a patch comes late."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.module_tree import module_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from patchkit.rows.target import Target
    from patchkit.upstream.resolving.module_tree import Modules, ModuleTree

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Importer(NamedTuple):
    """
    One import of a target by its name, that runs when its module does.

    Args:
        module: that imports it.
        path: the module's file.
        line: of the import.

    """

    module: str
    path: str
    line: int


def importers(modules: Modules, targets: Collection[Target]) -> dict[Target, list[Importer]]:
    """
    Find who imports targets by name, in all files of a release.

    Args:
        modules: the release's.
        targets: those with a name in their module are looked for; a class's members go with it.

    """
    wanted = {(one.module, one.qualname): one for one in targets if _is_name(one)}
    found: dict[Target, list[Importer]] = {target: [] for target in wanted.values()}
    names = {name.encode() for _, name in wanted}
    for path in sorted(modules.files.python()):
        text = modules.files.read(path) or b""
        if not any(name in text for name in names):
            continue  # to parse a file takes its time
        tree = modules.get(module_name(path))
        for node, name in _imported(tree) if tree else ():
            assert tree is not None
            place = (tree.absolute(node.module, node.level) or "", name)
            if place in wanted and place[0] != tree.name:
                found[wanted[place]].append(Importer(tree.name, path, node.lineno))
    return found


def _is_name(target: Target) -> bool:
    return target.qualname.isidentifier()


def _imported(tree: ModuleTree) -> Iterator[tuple[ast.ImportFrom, str]]:
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            yield from ((node, alias.name) for alias in node.names)
        elif not isinstance(node, (*_SCOPES, ast.expr)):
            waiting += ast.iter_child_nodes(node)
