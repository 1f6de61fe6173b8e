"""Tells child processes what the rows of packs are for, where they cannot import a pack.

A command may start Pythons of other environments, in which a pack is not there, or what it
imports. Such a process need not stop as long as it imports no module that the pack changes. So
`patchkit run` tells it which these are; where one is imported, the patch fails as any patch whose
body cannot be imported, and does what its failure does.
"""

import json
import os
from collections.abc import Iterable
from typing import Any

from patchkit.core.rows.declaration import (
    SERVING,
    AfterImport,
    Change,
    Patch,
    Provide,
    Role,
    Row,
)
from patchkit.errors import DeclarationError
from patchkit.registry import is_own_pack
from patchkit.runtime.process.journal import say

VARIABLE = "PATCHKIT_ROWS"
"""Holds what is told."""

# Linux passes no longer variables than 128 KiB.
_MOST = 100_000

_DECIDING = ("name", "requires", "required", "env")
"""The fields of a patch that decide where it is due, and what its failure does."""


def environment_of(rows: Iterable[Row]) -> dict[str, str]:
    """Write what rows are for into variables for child processes.

    Args:
        rows: The rows of all packs; those of patchkit's own are left out.

    Returns:
        The variable; none where there is nothing to tell, or too much.
    """
    told = [_told(row) for row in rows if not is_own_pack(row.pack)]
    text = json.dumps(told, default=list)
    if not told or len(text) > _MOST:
        return {}
    return {VARIABLE: text}


def _told(row: Row) -> list[Any]:
    changes = [
        [change.moment, change.place.module, change.requires]
        for change in row.patch.changes
    ]
    fields = {name: getattr(row.patch, name) for name in _DECIDING}
    return [row.pack, row.roles, changes, {**fields, "body": row.patch.body or "patch"}]


def stand_ins(pack: str, error: DeclarationError) -> list[Row]:
    """Make rows that fail where a module is imported that a pack's patches are for.

    Args:
        pack: A pack that cannot be imported here.
        error: Why it cannot.

    Returns:
        The rows, one for each of the pack's.

    Raises:
        DeclarationError: Nobody has told what the pack's rows are for.
    """
    told = json.loads(os.environ.get(VARIABLE, "[]"))
    rows = [_stand_in(*facts) for facts in told if facts[0] == pack]
    if not rows:
        raise error
    say(
        "warning",
        f"{error}. This process goes on as long as it imports no module that the pack patches",
    )
    return rows


def _stand_in(pack: str, roles: Any, changes: Any, fields: Any) -> Row:
    failing: list[Change] = []
    for moment, module, requires in changes:
        if moment == SERVING:
            failing.append(Provide(module, requires=requires))
        else:
            failing.append(AfterImport(module, "", requires=requires))
    patch = Patch(changes=failing, **fields)
    return Row(pack, patch, frozenset(map(Role, roles)))
