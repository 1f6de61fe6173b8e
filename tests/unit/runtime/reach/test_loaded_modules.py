"""How much of patchkit a process loads: every process of an engine pays for it."""

from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row

from patchkit.core.lock.format import read_lock

pytestmark = pytest.mark.processes

world = packages.world

ARMED_LIMIT = 48
APPLIED_LIMIT = 82
LOCKED_LIMIT = 84

UPSTREAM = """
def replaced(): return 'old'
def wrapped(): return 'old'
def edited(): return 'old'
"""
BODY = """
def new(): return 'new'
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
"""
THREE_KINDS = (
    "Replace('up.mod:replaced', by='new')",
    "Wrap('up.mod:wrapped', by='by')",
    "Edit('up.mod:edited', old=\"'old'\", new=\"'edited'\")",
)
ARM = """
import json, sys
import patchkit.auto
"""
APPLY = """
import up.mod
results = [up.mod.replaced(), up.mod.wrapped(), up.mod.edited()]
assert results == ["new", ("by", "old"), "edited"], results
"""
TELL = """
is_ours = lambda name: name == "patchkit" or name.startswith("patchkit.")
print(json.dumps(sorted(filter(is_ours, sys.modules))))
"""


@pytest.fixture(autouse=True)
def _three_kinds(world: World) -> None:
    """Make a package and a pack with one row for each of three kinds of change."""
    world.module("up.mod", UPSTREAM)
    rows = [
        row(f"p{number}", "patch_a", change)
        for number, change in enumerate(THREE_KINDS)
    ]
    world.pack(*rows, patch_a=BODY)
    pack = world.folder / "pack" / "__init__.py"
    pack.write_text(pack.read_text().replace(", applied", ""))  # which is for tests


def modules_loaded(world: World, code: str = "") -> list[str]:
    """Names of patchkit's modules that a process has loaded after it armed and ran `code`."""
    names: list[str] = world.answer(ARM + code + TELL)
    return names


def test_an_armed_process_loads_few_modules(world: World) -> None:
    """A process that is armed, and imports no target, loads at most 48 modules of patchkit."""
    loaded = modules_loaded(world)
    assert len(loaded) <= ARMED_LIMIT, "\n".join(loaded)


def test_three_kinds_of_change_load_few_modules(world: World) -> None:
    """A process that applies a Replace, a Wrap and an Edit loads at most 82 modules of patchkit."""
    loaded = modules_loaded(world, APPLY)
    assert len(loaded) <= APPLIED_LIMIT, "\n".join(loaded)


def test_three_kinds_of_change_with_a_lock_load_few_modules(world: World) -> None:
    """With a lock that has every target's wording as it is here, it also loads at most 84.

    Nothing is parsed then, so the resolver stays unloaded.
    """
    done = world.run("-m", "patchkit", "lock", "--here", "--patches", "pack")
    assert done.returncode == 0, done.stderr
    lock = read_lock(world.folder / "pack" / "patchkit.lock")
    assert len(lock.entries) == len(THREE_KINDS)
    loaded = modules_loaded(world, APPLY)
    assert "patchkit.runtime.drift" in loaded
    assert "patchkit.core.text.wording" in loaded
    assert len(loaded) <= LOCKED_LIMIT, "\n".join(loaded)


EXIT = """
import atexit, json, sys
before = set()
# What is registered first is called last.
atexit.register(lambda: print(json.dumps(sorted(set(sys.modules) - before))))
import patchkit.auto
before.update(sys.modules)
"""


def test_what_is_written_at_the_end_loads_next_to_nothing(world: World) -> None:
    """A process that has imported no target loads one small module to write what is not for it."""
    absent = row("absent", "patch_a", THREE_KINDS[0], requires="('nowhere>=1',)")
    outside = row("outside", "patch_a", THREE_KINDS[0], requires="('up>=9',)")
    unset = row("unset", "patch_a", THREE_KINDS[0], env="'NEVER_SET'")
    world.pack(absent, outside, unset, patch_a=BODY)
    assert world.answer(EXIT) == ["patchkit.core.versions.absent"]
    (unmet,) = [entry for entry in world.entries() if entry["event"] == "unmet"]
    assert unmet["reasons"]["absent"] == "nowhere is not installed"
    assert unmet["reasons"]["unset"] == "NEVER_SET is not set"
    assert "outside" not in unmet["reasons"]  # which versions would have to tell
