from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world

# As SGLang calls a plugin: what is no `Exception` gets through.
CALL = """
import up.mod
from patchkit.runtime.reach import sglang_plugin
try:
    sglang_plugin.general()
except Exception as error:
    print("swallowed", type(error).__name__)
print(up.mod.function())
"""


@pytest.fixture
def upstream(world: World) -> World:
    """An upstream with one function, and a pack that wraps it."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        patch_a="def by(w, i, a, k): return 'new'",
    )
    return world


def test_the_plugin_arms(upstream: World) -> None:
    """It arms the process that calls it, and returns None."""
    assert upstream.run("-c", CALL).stdout == "new\n"


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "patchkit: ApplyError: required patch p (pack.patch_a) failed"),
        ({"PATCHKIT_PATCHES": "no_such_pack"}, "DeclarationError: pack no_such_pack"),
    ],
)
def test_a_failure_ends_the_process(
    upstream: World, environ: dict[str, str], said: str
) -> None:
    """SGLang would log an exception, and go on; so the process exits, and stderr says why."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    done = upstream.run("-c", CALL, **environ)
    assert done.returncode != 0
    assert done.stdout == ""
    assert said in done.stderr


def test_a_failure_that_only_warns(upstream: World) -> None:
    """With `PATCHKIT_ON_FAILURE=warn`, the process goes on without the patch."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    done = upstream.run("-c", CALL, PATCHKIT_ON_FAILURE="warn")
    assert done.stdout == "old\n"
