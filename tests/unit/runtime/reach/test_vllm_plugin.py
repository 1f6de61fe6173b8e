from __future__ import annotations

import importlib.metadata

import pytest
from support import packages
from support.packages import World, row

from patchkit.runtime.reach import vllm_plugin

world = packages.world


@pytest.fixture
def upstream(world: World) -> World:
    """An upstream with one function, and a pack that wraps it."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        patch_a="def by(w, i, a, k): return ('by', w())",
    )
    return world


@pytest.mark.processes
@pytest.mark.parametrize("entry", ["platform", "general"])
def test_each_plugin_arms(upstream: World, entry: str) -> None:
    """Either plugin alone arms the process, and returns None, as it names no platform."""
    code = f"""
import json, patchkit.runtime.reach.vllm_plugin
result = patchkit.runtime.reach.vllm_plugin.{entry}()
import up.mod
print(json.dumps([result, up.mod.function()]))
"""
    assert upstream.answer(code) == [None, ["by", "old"]]


@pytest.mark.processes
def test_the_general_plugin_raises_a_swallowed_error_again(upstream: World) -> None:
    """An ApplyError that vLLM swallowed is raised again by the general plugin."""
    upstream.module("pack.patch_a", "def misspelt(): ...")
    code = """
import patchkit.runtime.reach.vllm_plugin, up.mod
try:
    patchkit.runtime.reach.vllm_plugin.platform()
except Exception as error:
    print("swallowed", type(error).__name__)
patchkit.runtime.reach.vllm_plugin.general()
print("started")
"""
    done = upstream.run("-c", code)
    assert done.stdout == "swallowed ApplyError\n"
    assert "ApplyError: required patch p" in done.stderr


@pytest.mark.processes
def test_the_general_plugin_raises_the_error_of_a_missing_pack_again(
    upstream: World,
) -> None:
    """A DeclarationError with which arming failed is raised again by the general plugin."""
    code = """
import patchkit.runtime.reach.vllm_plugin
try:
    patchkit.runtime.reach.vllm_plugin.platform()
except Exception as error:
    print("swallowed", type(error).__name__)
patchkit.runtime.reach.vllm_plugin.general()
"""
    done = upstream.run("-c", code, PATCHKIT_PATCHES="no_such_pack")
    assert done.stdout == "swallowed DeclarationError\n"
    assert "DeclarationError: pack no_such_pack" in done.stderr


def test_entry_points_name_what_is_there() -> None:
    """`pyproject.toml` declares both, under names that can be loaded."""
    pyproject = (packages.REPOSITORY / "pyproject.toml").read_text()
    for group, function in (
        ("platform_plugins", "platform"),
        ("general_plugins", "general"),
    ):
        value = f"patchkit.runtime.reach.vllm_plugin:{function}"
        assert (
            f'[project.entry-points."vllm.{group}"]\npatchkit = "{value}"' in pyproject
        )
        entry = importlib.metadata.EntryPoint("patchkit", value, f"vllm.{group}")
        assert entry.load() is getattr(vllm_plugin, function)
