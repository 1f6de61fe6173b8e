"""A patch of two functions, and code that waits for an entry of the journal."""

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
            for entry in map(json.loads, lines):
                if entry["pid"] == os.getpid():
                    yield entry
def await_entry(**wanted):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for entry in entries():
            if wanted.items() <= entry.items():
                return entry
        time.sleep(0.02)
    raise TimeoutError(f"{wanted} is not among {list(entries())}")
"""


@pytest.fixture
def upstream(world: World) -> World:
    """Write a patch of two functions, and a module that waits for journal entries."""
    world.module("up.mod", "def function(): return 'old'\ndef other(): return 'old'\n")
    world.module("awaiting", AWAIT)
    world.pack(row("p", "patch_a", WRAP, SECOND, roles="set(Role)"), patch_a=BY)
    return world
