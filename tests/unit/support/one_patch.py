"""A world with one patch in it, for the tests of a session."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from patchkit import Role
from support.packages import World, row

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

MAIN = frozenset({Role.MAIN})
REPLACE = "Replace('up.mod:function', by='function')"
WRAP = "Wrap('up.mod:function', by='by')"
UPSTREAM = "def function(): return 'old'\nclass Thing: ...\n"
BODY = """
from up.mod import function as original
def function(): return ('new', original())
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
"""


def a_world(world: World, *changes: str, **fields: str) -> Session:
    """Upstream, one patch, and a session that is not armed."""
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", *(changes or (REPLACE,)), **fields), patch_a=BODY)
    return world.session()


def load(name: str) -> Any:
    """Import a module."""
    return importlib.import_module(name)
