"""
Copies of an original: those that can be repointed are, the others are named.

A copy is found by identity, and known by where it was bound from: the same object elsewhere is
somebody else's. What `from x import y` left in a module, what a class body stored, and what lies in
a declared container is repointed, where the row's `rebind` says so. What holds one otherwise (a
default, a closure, a container that nobody declared) is out of reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.copies.scope import (
    Copy,
    Keepers,
    Latecomers,
    Outcome,
    Where,
    everywhere,
    just,
    modules_since,
    nowhere,
    subclasses_left,
    untraced,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.changes.sites import Site

__all__ = [
    "Copy",
    "Keepers",
    "Latecomers",
    "Outcome",
    "Where",
    "everywhere",
    "just",
    "modules_since",
    "nowhere",
    "repoint",
    "restore",
    "subclasses_left",
    "untraced",
]


def repoint(sites: Sequence[Site], where: Where, keepers: Keepers) -> Outcome:
    """
    Repoint every copy of what changed attributes held before, in one pass.

    The sites remember the copies and carry them along when a layer comes or goes.
    """
    from patchkit.copies.repointing import look_through  # noqa: PLC0415 - few processes get here

    return look_through(sites, where, keepers)


def restore(sites: Sequence[Site], where: Where, keepers: Keepers) -> Outcome:
    """
    Repoint what was copied from attributes since they were changed, after layers were taken off.

    Of what is out of reach only copies out of scope are looked for.
    """
    from patchkit.copies.repointing import look_back  # noqa: PLC0415 - as above

    return look_back(sites, where.modules, keepers)
