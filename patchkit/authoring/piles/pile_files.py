"""Lets the text of a pile's module, in the pack, find the files that lie beside the pile's module.

There, `__file__` is the file of the body. So the text gets the path of the pile's file, which it
asks of Python's import system, for the outermost package of the pile alone: the import of any other
would run the pile.
"""

import ast
from collections.abc import Iterator

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.scaffold.source_edits import TextChange
from patchkit.authoring.source.main_programs import is_main_program
from patchkit.authoring.source.text_changes import span

_FILE = "__file__"
_OF_PACKAGE = """\
{name} = os.path.join(find_spec("{top}").submodule_search_locations[0], {parts})
"""
_OF_MODULE = """\
{name} = find_spec("{top}").origin
"""
_IMPORTS = "import os.path\nfrom importlib.util import find_spec\n"


def file_changes(module: ModuleTree, source: bytes, name: str) -> Iterator[TextChange]:
    """Yield the changes by which a module's text names the pile's file in place of its own.

    Args:
        module: The module.
        source: Its text.
        name: The name for the path of the pile's file.
    """
    changes: list[TextChange] = []
    for node in file_names(module.tree):
        start, end = span(source, node)
        # Before Python 3.12, the position of a name in an f-string is another one.
        if source[start:end] == _FILE.encode():
            changes.append((start, end, name))
    if changes:
        position = _after_head(module.tree, source)
        yield position, position, _assignment(module, name)
        yield from changes


def file_names(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield where a module reads `__file__`, but for what it does as a program.

    Args:
        tree: The module.
    """
    unread: list[ast.AST] = [tree]
    while unread:
        node = unread.pop()
        if isinstance(node, ast.stmt) and is_main_program(node):
            continue
        if not isinstance(node, ast.Name):
            unread += reversed(list(ast.iter_child_nodes(node)))
        elif node.id == _FILE and isinstance(node.ctx, ast.Load):
            yield node


def _assignment(module: ModuleTree, name: str) -> str:
    """Return the statement that binds the path of the pile's file to a name."""
    top, *inner = module.name.split(".")
    if not inner and not module.is_package:
        return _IMPORTS + _OF_MODULE.format(name=name, top=top)
    file_name = module.path.rpartition("/")[2]
    folders = inner if module.is_package else inner[:-1]
    parts = ", ".join(f'"{part}"' for part in [*folders, file_name])
    return _IMPORTS + _OF_PACKAGE.format(name=name, top=top, parts=parts)


def _after_head(tree: ast.Module, source: bytes) -> int:
    """Return the position behind the docstring of a module, and its imports from `__future__`."""
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_text and not is_future:
            start, _ = span(source, node)
            return source.rfind(b"\n", 0, start) + 1
    return len(source)
