"""What tests of origins share."""

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
    """Import modules."""
    return [importlib.import_module(name) for name in names]


def out_of_reach(world: World, code: str, **environ: str) -> list[str]:
    """Run a child; what its journal says is out of reach."""
    world.answer(f"{code}\nprint('null')", **environ)
    return [words for line in world.entries() for words in line.get("out_of_reach", ())]
