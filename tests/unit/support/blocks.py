"""A pack with a patch of each sort, for tests of `applied`; this process is not armed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

import pytest

from patchkit.runtime.reach import arming
from support.packages import World, row

BODY = """
from up.mod import function as original
def function(): return ('new', original())
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
def two(wrapped, instance, args, kwargs): return ('two', wrapped(*args, **kwargs))
def fill(module): module.filled = True
def ask(): return 'not today'
"""
UPSTREAM = (
    "def function(): return 'old'\nclass Thing:\n    def method(self): return 'old'\n"
)
ROWS = (
    row("p", "patch_a", "Wrap('up.mod:function', by='by')", roles="{Role.WORKER}"),
    row(
        "q",
        "patch_a",
        "Wrap('up.mod:Thing.method', by='two')",
        roles="{Role.ENGINE_CORE}",
    ),
    row("broken", "patch_a", "Replace('up.mod:gone', by='function')"),
    row(
        "optional", "patch_a", "Replace('up.mod:gone', by='function')", required="False"
    ),
    row("old", "patch_a", "Wrap('up.mod:function', by='two')", requires="('up<1',)"),
    row(
        "absent",
        "patch_a",
        "Wrap('up.mod:function', by='two')",
        requires="('no-such-dist',)",
    ),
    row("asks", "patch_a", "Wrap('up.mod:function', by='two')", when="'ask'"),
    row("env", "patch_a", "Wrap('up.mod:function', by='two')", env="'ACME_FLAG'"),
    row("llm", "patch_a", "Provide('up.llm', by='fill')"),
    row("early", "patch_a", "BeforeImport('up.mod', call='ask')"),
    row("elsewhere", "patch_a", "Wrap('gone.mod:function', by='by')"),
)


@pytest.fixture(autouse=True)
def upstream(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A pack with a patch of each sort; this process is not armed."""
    world.module("up.mod", UPSTREAM)
    world.module("up.user", "from up.mod import function\n")
    world.pack(*ROWS, patch_a=BODY)
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.0")
    # Another test may have armed it.
    monkeypatch.setattr(arming, "_state", arming._ProcessState())
    return world


def trace() -> tuple[Any, ...]:
    """What a session leaves in a process."""
    return (
        list(sys.meta_path),
        importlib.util.spec_from_file_location,
        arming.current(),
        arming._state.session,
    )
