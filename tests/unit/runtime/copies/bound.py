"""Helpers and constants that the tests of origins share."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from support import packages

from patchkit import Role

if TYPE_CHECKING:
    from support.packages import World

world = packages.world
MAIN = frozenset({Role.MAIN})
WRAPS = (
    "def around(wrapped, instance, args, kwargs):\n"
    "    return 'wrapped', wrapped(*args, **kwargs)\n"
)


def load(*names: str) -> list[Any]:
    """Import modules, and return them."""
    return [importlib.import_module(name) for name in names]


def out_of_reach(world: World, code: str, **environ: str) -> list[str]:
    """Run code in a child process; return the copies that it reports as out of reach."""
    world.answer(f"{code}\nprint('null')", **environ)
    return reported_copies(world)


def reported_copies(world: World) -> list[str]:
    """Return the copies that the journals of all children report as out of reach."""
    reported: list[str] = []
    for entry in world.entries():
        reported += entry.get("out_of_reach", ())
    return reported
