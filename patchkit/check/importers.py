"""Who imports a target by name, and so keeps the original where a patch comes late."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.check import codes
from patchkit.check.findings import Finding
from patchkit.rows.declaration import Replace, Wrap
from patchkit.upstream.resolving.module_tree import module_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from patchkit.check.coverage import Coverage
    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target
    from patchkit.upstream.resolving.module_tree import Modules, ModuleTree

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Importer(NamedTuple):
    """A module that imports a target by its name as it runs, and the line of its file where."""

    module: str
    path: str
    line: int


def of_importers(coverage: Coverage) -> Iterator[Finding]:
    """Find who imports by name what rows replace, in the releases that are read whole."""
    for subject in coverage.subjects:
        if not subject.is_local:
            continue
        # What another object is put in place of, while copies of the original are repointed.
        copied = dict.fromkeys(
            (row.name, one.place)
            for row in coverage.rows
            for one in coverage.due(row, subject)
            if isinstance(one, (Replace, Wrap)) and one.rebind
        )
        importers = _importers(subject.resolver.modules, {place for _, place in copied})
        subject.rest()
        for patch, target in copied:
            if several := importers.get(target):
                yield _finding(patch, target, subject, several)


def _finding(patch: str, target: Target, subject: Subject, several: Sequence[Importer]) -> Finding:
    names = [importer.module for importer in several]
    shown = ", ".join(names[:3])
    who = shown if len(names) <= 3 else f"{len(names)} modules ({shown}, …)"
    return Finding(
        codes.BY_NAME_IMPORTERS,
        f"{target} is imported by name in {who}, which a patch that comes late has to rebind",
        "nothing, if patchkit is loaded before them; else leave rebind on",
        patch,
        str(target),
        subject.name,
        several[0].path,
        several[0].line,
        names,
    )


def _importers(modules: Modules, targets: Collection[Target]) -> dict[Target, list[Importer]]:
    """Look for names of modules; the members of a class go with it."""
    wanted = {(one.module, one.qualname): one for one in targets if one.qualname.isidentifier()}
    importers: dict[Target, list[Importer]] = {target: [] for target in wanted.values()}
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
                importers[wanted[place]].append(Importer(tree.name, path, node.lineno))
    return importers


def _imported(tree: ModuleTree) -> Iterator[tuple[ast.ImportFrom, str]]:
    waiting: list[ast.AST] = list(tree.tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            yield from ((node, alias.name) for alias in node.names)
        elif not isinstance(node, (*_SCOPES, ast.expr)):
            waiting += ast.iter_child_nodes(node)
