"""Finds the attributes that modules set on classes that they import from others."""

import ast
import re
from collections.abc import Iterator

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import parse
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.analysis.upstream.resolving.syntax import dotted, expressions, statements
from patchkit.analysis.upstream.resolving.touches import SETTERS
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target


def set_by_another_module(target: Target, release: CheckedRelease) -> str:
    """Say which module sets an attribute that a class lacks, as `from m import C; C.x = …` does.

    Args:
        target: A target that the release lacks.
        release: The release. Of one on an index, only modules in the folder of the class are read.

    Returns:
        The words for the report; '' if the target is no attribute of a class, or nothing sets it.

    Raises:
        UpstreamError: A file of the release cannot be read.
    """
    owner, name = target.holder, target.qualname.rpartition(".")[2]
    if not owner.qualname or not name.isidentifier():
        return ""
    facts = release.facts(owner)
    if not facts.is_present or facts.kind != Kind.CLASS:
        return ""
    defined = release.resolver.resolve(owner).defined
    for path, statement, holder in _settings(release, owner.module, name):
        module = module_name(path)
        place = release.resolver.resolve(Target(module, holder))
        if defined is not None and place.defined == defined:
            return f"{module} sets {name} on {owner} at line {statement.lineno}"
    return ""


def _settings(
    release: CheckedRelease, module: str, name: str
) -> Iterator[tuple[str, ast.stmt, str]]:
    """List the statements that set an attribute while a module is imported.

    Args:
        release: The release.
        module: The module of the class.
        name: The name of the attribute.

    Yields:
        The path of the module, the statement, and what the attribute is set on, as `C` or `m.C`.
    """
    word = name.encode()
    mention = re.compile(rb"\.%s\s*(:[^=\n]+)?=[^=]|['\"]%s['\"]" % (word, word))
    for path in _paths(release, module):
        text = release.source.read(path) or b""
        if mention.search(text) is None:
            continue
        tree, _ = parse(text)
        for statement in statements(tree.body):
            for node in expressions(statement):
                holder = _holder_set(node, name)
                if holder:
                    yield path, statement, holder


def _paths(release: CheckedRelease, module: str) -> list[str]:
    """List the files that are searched; those of an index are fetched together."""
    package = module.partition(".")[0]
    folder = module.rpartition(".")[0].replace(".", "/")
    found = []
    for path in sorted(release.source.paths()):
        is_of_package = path.partition("/")[0] == package
        is_near = path.rpartition("/")[0] == folder
        if path.endswith(".py") and (is_near or (release.is_local and is_of_package)):
            found.append(path)
    release.source.prefetch(found)
    return found


def _holder_set(node: ast.AST, name: str) -> str:
    """Return `m.C` for `m.C.name = …` and `setattr(m.C, "name", …)`; '' for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return dotted(node.value) if node.attr == name else ""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return ""
    spelled = node.args[1]
    is_name = isinstance(spelled, ast.Constant) and spelled.value == name
    if is_name and dotted(node.func).rpartition(".")[2] in SETTERS:
        return dotted(node.args[0])
    return ""
