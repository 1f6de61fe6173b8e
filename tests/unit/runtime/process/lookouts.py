"""One patch of two functions, and what waits for the journal."""

from __future__ import annotations

import pytest
from support.packages import World, row

SECOND = "Wrap('up.mod:other', by='by')"
WRAP = "Wrap('up.mod:function', by='by')"
BY = (
    "def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))\n"
)
AWAIT = """
import json, os, time
def entries():
    import glob
    for file in glob.glob(os.environ["PATCHKIT_JOURNAL"] + "/*.jsonl"):
        with open(file) as lines:
            yield from (one for one in map(json.loads, lines) if one["pid"] == os.getpid())
def await_entry(**wanted):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for one in entries():
            if wanted.items() <= one.items():
                return one
        time.sleep(0.02)
    raise TimeoutError(f"{wanted} is not among {list(entries())}")
"""


@pytest.fixture
def upstream(world: World) -> World:
    """One patch of two functions, and what waits for the journal."""
    world.module("up.mod", "def function(): return 'old'\ndef other(): return 'old'\n")
    world.module("awaiting", AWAIT)
    world.pack(row("p", "patch_a", WRAP, SECOND, roles="set(Role)"), patch_a=BY)
    return world
