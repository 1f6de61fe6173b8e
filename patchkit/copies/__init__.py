"""
Copies of an original: those that can be repointed are, the others are named.

A copy is found by identity, and known by where it was bound from: the same object elsewhere is
somebody else's. What `from x import y` left in a module, what a class body stored, and what lies in
a declared container is repointed, where the row's `rebind` says so. What holds one otherwise (a
default, a closure, a container that nobody declared) is out of reach.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from patchkit.copies.late import Latecomers
from patchkit.copies.scope import Copy, Keepers, Outcome, subclasses_left, untraced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.changes.sites import Site

__all__ = ["Copy", "Keepers", "Latecomers", "Outcome", "subclasses_left", "untraced"]


class Where(NamedTuple):
    """
    The modules to look through.

    Args:
        modules: their names.
        late: whether they have had time to copy by any way, so that those of the target's package
            are looked into, also where they name nothing of the target's module.

    """

    modules: Sequence[str]
    late: bool = True


def everywhere() -> Where:
    """Look through all modules."""
    return Where(list(sys.modules))


def nowhere() -> Where:
    """Look through no module: nothing can have been copied yet."""
    return Where((), late=False)


def just(name: str) -> Where:
    """Look through one module, as if it had been there all the time."""
    return Where([name])


def modules_since(name: str) -> Where:
    """
    Look through a module and those that began to load after it did.

    At its first execution nobody else can have copied from it; what decorates its objects can have
    put them into modules that it names, which the pass adds.
    """
    newer: list[str] = []
    for other in reversed(list(sys.modules)):
        newer.append(other)
        if other == name:
            break
    return Where(newer, late=False)


def repoint(sites: Iterable[Site], where: Where, keepers: Keepers) -> Outcome:
    """
    Repoint every copy of what changed attributes held before, in one pass.

    The sites remember the copies and carry them along when a layer comes or goes.
    """
    from patchkit.copies.repointing import look_through  # noqa: PLC0415 - few processes get here

    return look_through(list(sites), where, keepers)


def restore(sites: Iterable[Site], where: Where, keepers: Keepers) -> Outcome:
    """
    Repoint what was copied from attributes since they were changed, after layers were taken off.

    Of what is out of reach only copies out of scope are looked for.
    """
    from patchkit.copies.repointing import look_back  # noqa: PLC0415 - as above

    return look_back(list(sites), where.modules, keepers)
