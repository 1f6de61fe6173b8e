"""Passes the rows of packs on to child processes that cannot import the packs.

A command may start Pythons of other environments, in which a pack, or a module that it imports, is
not installed. Such a process may run as long as it imports no module that the pack changes. So
`patchkit run` puts into a variable which modules these are. The child makes rows of that. If one of
the modules is imported, its patch fails like any patch whose body cannot be imported.
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
"""The variable with the rows, as JSON."""

# The most characters; Linux passes variables of up to 128 KiB.
_MOST = 100_000

_DECIDING = ("name", "requires", "required", "env")
"""The fields of a patch that decide whether it applies, and what its failure does."""


def environment_of(rows: Iterable[Row]) -> dict[str, str]:
    """Write rows into a variable for child processes.

    Args:
        rows: The rows of all packs; those of patchkit's own packs are left out.

    Returns:
        The variable and its text; {} if there are no rows, or too many.
    """
    facts = [_facts(row) for row in rows if not is_own_pack(row.pack)]
    text = json.dumps(facts, default=list)  # the roles, a frozenset, as a list
    if not facts or len(text) > _MOST:
        return {}
    return {VARIABLE: text}


def _facts(row: Row) -> list[Any]:
    """Return what a child has to know of a row; these are the arguments of `_stand_in`."""
    changes = [
        [change.moment, change.place.module, change.requires]
        for change in row.patch.changes
    ]
    fields = {name: getattr(row.patch, name) for name in _DECIDING}
    # A stand-in fails because its body cannot be imported. So it gets one even for a row without.
    return [row.pack, row.roles, changes, {**fields, "body": row.patch.body or "patch"}]


def stand_ins(pack: str, error: DeclarationError) -> list[Row]:
    """Make rows of a pack that cannot be imported, which fail when a module of theirs is imported.

    Args:
        pack: The dotted name of the pack.
        error: Why it cannot be imported.

    Returns:
        The rows, one for each of the pack's.

    Raises:
        DeclarationError: The variable has no rows of the pack; then `error` itself is raised.
    """
    facts_of_all = json.loads(os.environ.get(VARIABLE, "[]"))
    # The facts are the arguments of `_stand_in`, the pack first.
    rows = [_stand_in(*facts) for facts in facts_of_all if facts[0] == pack]
    if not rows:
        raise error
    say(
        "warning",
        f"{error}. This process goes on as long as it imports no module that the pack patches",
    )
    return rows


def _stand_in(pack: str, roles: Any, changes: Any, fields: Any) -> Row:
    """Make a row of the `_facts` of another; its changes fail, as the body cannot be imported."""
    failing: list[Change] = []
    # An AfterImport names a function of its body: here "", as the body is never loaded.
    for moment, module, requires in changes:
        if moment == SERVING:
            failing.append(Provide(module, requires=requires))
        else:
            failing.append(AfterImport(module, "", requires=requires))
    patch = Patch(changes=failing, **fields)
    return Row(pack, patch, frozenset(map(Role, roles)))
