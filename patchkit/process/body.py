"""The body of a patch: loaded as a module like any other, and asked whether it is for here."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import TYPE_CHECKING

from patchkit.changes.owners import MISSING, namespace
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from patchkit.rows.declaration import Change, Patch
    from patchkit.rows.row import Row


def load_body(row: Row, *, afresh: bool = False) -> ModuleType:
    """
    Import a row's body.

    Args:
        row: the row.
        afresh: execute it again, because the module that it builds on was executed again.

    """
    loaded = sys.modules.get(row.body)
    if afresh and loaded is not None and row.patch.body is not None:
        return importlib.reload(loaded)
    return importlib.import_module(row.body)


@contextlib.contextmanager
def bound_in_parent(name: str, module: ModuleType) -> Iterator[None]:
    """
    Let bodies write `import a.b` and use `a.b` while it is being imported.

    importlib makes `b` an attribute of `a` only after that, and not at all where it fails.
    """
    parent, _, child = name.rpartition(".")
    outer = namespace(sys.modules.get(parent))
    former = outer.get(child, MISSING)
    if former is module or not isinstance(outer, dict):
        yield
        return
    outer[child] = module
    try:
        yield
    except BaseException:
        outer.pop(child, None)  # an undo may have done it
        if former is not MISSING:
            outer[child] = former
        raise


def reason_to_skip(asked: Patch | Change, body: ModuleType) -> str | None:
    """
    Ask the `when` of a patch or a change.

    Raises:
        TargetError: `when` is not there, or its answer is neither True nor a reason.

    """
    if asked.when is None:
        return None
    ask = getattr(body, asked.when, None)
    if not callable(ask):
        raise TargetError(f"when: body {body.__name__} has no function {asked.when!r}")
    answer = ask()
    if answer is True:
        return None
    if isinstance(answer, str) and answer:
        return answer
    raise TargetError(
        f"when: {asked.when}() of {body.__name__} returned {answer!r}, expected True or the "
        "reason to skip"
    )
