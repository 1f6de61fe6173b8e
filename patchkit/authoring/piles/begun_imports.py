"""Writes the body that imports a module of a pile, for a row that waits for that import.

A pile is a package that patches upstream. Where the row `old-pile` keeps its functions off, nobody
may have a reason to import it any more.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.piles.keeping_off import PileFunction
from patchkit.authoring.piles.pile_reader import PileReader

_BODY = '''# {title}
"""Imports {module}, which another row waits for, if nobody else does.

What {call} imports itself comes first: this body waits while upstream is not whole.
"""

# ruff: noqa: F401

{imports}


def begin():
    """Do nothing: the imports above are all."""
'''


def importing_body(
    title: str,
    function: PileFunction,
    readers: Sequence[PileReader],
    lines: Mapping[str, Sequence[int]],
    packages: Collection[str],
) -> str:
    """Return the text of a body that imports the module of a function, and has a `begin`.

    Args:
        title: The comment of its first line.
        function: The function, which a row calls after the import.
        readers: The readers of the pile's modules.
        lines: By module of the pile, the lines that were run as it was observed.
        packages: The top-level packages of upstream.
    """
    statements = list[str]()
    for reader in readers:
        run = lines.get(reader.module.name, ())
        for node in _imports_in_functions(reader.module.tree):
            if node.lineno in run and _top_package(node) in packages:
                statements.append(ast.unparse(node))
    statements.append(f"import {function.module}")
    return _BODY.format(
        title=title,
        module=function.module,
        call=function,
        imports="\n".join(dict.fromkeys(statements)),
    )


def _imports_in_functions(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports in the functions of a module that have to succeed as they are run."""
    for function in ast.walk(tree):
        if isinstance(function, DEFS):
            yield from _certain_imports(function)


def _certain_imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports in a function or a block, without those in a `try` or a `with`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif not isinstance(child, (ast.Try, ast.With, *DEFS)):
            yield from _certain_imports(child)


def _top_package(node: ast.Import | ast.ImportFrom) -> str:
    """Return the top-level package of an import; '' for a relative one."""
    name = node.names[0].name
    if isinstance(node, ast.ImportFrom):
        name = node.module or ""
        if node.level:
            return ""
    return name.partition(".")[0]
