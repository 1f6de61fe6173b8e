"""What a probe counts where installed packs patch its targets."""

from __future__ import annotations

import sys

import pytest
from support import packages
from support.packages import World, row

from patchkit.analysis.status.probed import read_probe

pytestmark = pytest.mark.processes

world = packages.world

UP = """
import functools

def plain():
    return "plain"

def made():
    def inner():
        return "made"
    return inner

first = made()
second = made()

@functools.lru_cache
def cached():
    return "cached"

class Engine:
    def __init__(self):
        self.words = []

    def step(self):
        return "step"

class Small(Engine):
    pass

bound = Engine().step
"""
BODY = """
def around(wrapped, instance, args, kwargs):
    return ("around", wrapped(*args, **kwargs))

def instead(*args):
    return "instead"
"""
OTHER = """
from up.mod import Engine

class Other(Engine):
    def __init__(self):
        super().__init__()
        self.words = ["other"]
"""
CALLS = """
import patchkit.auto, up.mod
for _ in range(3):
    result = {call}
print(repr(result))
"""


def probe(
    world: World, target: str, call: str, *changes: str, body: str = BODY
) -> tuple[str, int | None, str]:
    """Call a target three times with patches on it; return the last result, the count, and why."""
    world.module("up.mod", UP)
    world.pack(row("p", "patch_a", *changes), patch_a=body)
    done = world.run("-c", CALLS.format(call=call), PATCHKIT_PROBE=target)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (probed,) = read_probe(str(world.journal), [target], 0).targets
    (seen,) = probed.processes
    statuses = [
        entry["status"]
        for entry in world.entries()
        if entry["event"] == "patch" and entry["name"] == "p"
    ]
    assert statuses[-1] == "applied"
    return done.stdout.strip(), seen.calls, seen.reason


@pytest.mark.parametrize(
    ("target", "change", "result"),
    [
        ("plain", "Wrap('up.mod:plain', by='around')", "('around', 'plain')"),
        ("plain", "Replace('up.mod:plain', by='instead')", "'instead'"),
        ("plain", "Edit('up.mod:plain', old='\"plain\"', new='\"new\"')", "'new'"),
        ("first", "Wrap('up.mod:first', by='around')", "('around', 'made')"),
        ("Engine().step", "Replace('up.mod:Engine.step', by='instead')", "'instead'"),
        (
            "Small().step",
            "Wrap('up.mod:Engine.step', by='around')",
            "('around', 'step')",
        ),
        ("cached", "Wrap('up.mod:cached', by='around')", "('around', 'cached')"),
    ],
)
def test_calls_count_once_whatever_patch_lies_there(
    world: World, target: str, change: str, result: str
) -> None:
    """Not the original's calls, which a patch may make often or never."""
    named = target.replace("()", "")
    found = probe(world, f"up.mod:{named}", f"up.mod.{target}()", change)
    assert found == (result, 3, "")


def test_the_constructor_of_a_class_that_is_put_there_counts(world: World) -> None:
    """It is another function than that of upstream's class."""
    change = "Replace('up.mod:Engine', by='Other')"
    found = probe(world, "up.mod:Engine", "up.mod.Engine().words", change, body=OTHER)
    assert found == ("['other']", 3, "")


def test_two_patches_on_one_target_count_one_call(world: World) -> None:
    """The outermost is what is called."""
    changes = (
        "Wrap('up.mod:plain', by='around')",
        "Replace('up.mod:plain', by='instead')",
    )
    found = probe(world, "up.mod:plain", "up.mod.plain()", *changes)
    assert found == ("('around', 'instead')", 3, "")


def test_a_bound_method_stays_what_it_is(world: World) -> None:
    """Calls of the same method of another instance are none of the target."""
    code = (
        "up.mod.bound(), up.mod.Engine().step(), up.mod.bound is up.mod.bound.__self__"
    )
    change = "Wrap('up.mod:plain', by='around')"
    _, calls, reason = probe(world, "up.mod:bound", code, change)
    assert (calls, reason) == (3, "")


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the interpreter tells of no calls"
)
def test_no_argument_lives_longer_than_without_the_probe(world: World) -> None:
    """The first argument of an inherited method is looked at, and let go."""
    world.module(
        "up.mod",
        """
        import weakref

        class Big:
            pass

        class Engine:
            def step(self, big):
                seen = weakref.ref(big)
                del big
                return seen() is None

        class Small(Engine):
            pass
        """,
    )
    code = "import patchkit.auto, up.mod; print(up.mod.Small().step(up.mod.Big()))"
    done = world.run("-c", code, PATCHKIT_PROBE="up.mod:Small.step")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the interpreter tells of no calls"
)
def test_no_tool_of_the_interpreter_is_taken_before_a_target_is_imported(
    world: World,
) -> None:
    """Another tool of the program may want its number."""
    world.module("up.mod", UP)
    code = (
        "import sys, patchkit.auto\n"
        "before = sys.monitoring.get_tool(3)\n"
        "import up.mod\n"
        "print(before, sys.monitoring.get_tool(3))\n"
    )
    done = world.run("-c", code, PATCHKIT_PROBE="up.mod:plain")
    assert done.stdout == "None patchkit probe\n", done.stderr
