"""Lists what a function of a pile does by a call of another one that a row keeps off.

A pile is a package that patches upstream. Of two functions that rows call, one may call the other:
in the pile, that one then patches a second time. In the pack it does nothing there.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.diffs.unexpressed import WITHOUT_ROW, UnexpressedCode
from patchkit.authoring.piles.called_rows import PatchingCall
from patchkit.authoring.piles.pile_reader import PileReader


def nested_calls(
    readers: Iterable[PileReader], calls: Sequence[PatchingCall]
) -> Iterator[UnexpressedCode]:
    """Yield what calls have changed by calls of functions that rows keep off.

    Args:
        readers: The readers of the modules of the pile.
        calls: The calls that rows stand for.
    """
    by_module = {reader.module.name: reader for reader in readers}
    for call in calls:
        reader = by_module.get(call.function.module)
        if reader is None:
            continue
        targets = {change.target for change in call.changes}
        for other in calls:
            shared = targets.intersection(change.target for change in other.changes)
            if other is call or not shared:
                continue
            node = _call_of(other, call, reader)
            if node is None:
                continue
            reason = f"{call.function} calls {other.function}, which a row keeps off"
            for target in sorted(shared):
                yield UnexpressedCode(
                    reader.module.path,
                    node.lineno,
                    ast.unparse(node),
                    reason,
                    target,
                    kind=WITHOUT_ROW,
                )


def _call_of(
    called: PatchingCall, calling: PatchingCall, reader: PileReader
) -> ast.Call | None:
    """Return the code by which a function calls another one; None where it does not.

    Args:
        called: The function that may be called.
        calling: The function that may call it.
        reader: The reader of the latter's module.
    """
    name = f"{called.function.module}.{called.function.path}"
    is_same_module = called.function.module == calling.function.module
    for function in reader.module.tree.body:
        if not isinstance(function, DEFS) or function.name != calling.function.path:
            continue
        scope = reader.scope.inner()
        for node in ast.walk(function):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                scope.bind_import(node, reader.module, is_plain=True)
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            is_own = is_same_module and ast.unparse(node.func) == called.function.path
            if is_own or name in scope.dotted_names_of(node.func):
                return node
    return None
