"""Lists the names of a pile's modules that mean something else in the pack, such as `__file__`.

A pile is a package that patches upstream. The pack has the text of its modules, in files of its
own: there, `__file__` is another file, and `__name__` another name.
"""

import ast
from collections.abc import Iterator

from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.piles.guards import last_of
from patchkit.authoring.piles.pile_files import file_names
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.piles.plain_functions import MAKERS_OF_LOGGERS
from patchkit.authoring.source.main_programs import is_main_program

_MOVED = ("__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__")
_REASON = "the module's text is in the pack, where it is that of the pack's own module"


def list_moved_names(pile: PileRows) -> None:
    """List where modules whose text the pack has use what Python tells a module of itself.

    Args:
        pile: The rows of the pile; its list gets more.
    """
    for reader in pile.readers:
        code = pile.codes.get(reader.module.name, "")
        if last_of(code) not in pile.bodies:
            continue
        body = ast.parse(pile.bodies[last_of(code)])
        has_own_file = any(file_names(body))
        lines = reader.module.source.decode(errors="replace").splitlines()
        for node in moved_names(reader):
            if node.id == "__file__" and not has_own_file:
                continue  # the body has the pile's file in its place
            pile.left.append(
                UnexpressedCode(
                    reader.module.path,
                    node.lineno,
                    lines[node.lineno - 1].strip(),
                    _REASON,
                    f"{reader.module.name}.{node.id}",
                    kind=TO_LOOK_AT,
                )
            )


def moved_names(reader: PileReader) -> Iterator[ast.Name]:
    """Yield where a module uses a name that means something else in the pack.

    Args:
        reader: The reader of the module.
    """
    unread: list[ast.AST] = [reader.module.tree]
    while unread:
        node = unread.pop()
        if isinstance(node, ast.stmt) and is_main_program(node):
            continue  # nobody runs a module of a pile as a program
        if isinstance(node, ast.Name) and node.id in _MOVED:
            yield node
        # In `sys.modules[__name__].__file__`, the module may be any, and its file may not.
        if isinstance(node, ast.Attribute) and node.attr in _MOVED:
            owner = node.value
            if isinstance(owner, ast.Subscript):
                unread.append(owner.slice)
        if not _takes_own_name(node):
            unread += reversed(list(ast.iter_child_nodes(node)))


def _takes_own_name(node: ast.AST) -> bool:
    """Return whether code uses `__name__` so that nothing changes with it.

    That is for the name of a logger, and for `sys.modules[__name__]`, the module itself.
    """
    if isinstance(node, ast.Call):
        maker = dotted(node.func).rpartition(".")[2]
        return maker in MAKERS_OF_LOGGERS
    return isinstance(node, ast.Subscript) and dotted(node.value) == "sys.modules"
