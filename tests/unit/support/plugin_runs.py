"""Test files that a pytest with the plugin runs on."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from support import packages, pytests
from support.packages import World, row

if TYPE_CHECKING:
    from support.pytests import Pytests

world = packages.world
pytests = pytests.pytests
BODY = """
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
def two(wrapped, instance, args, kwargs): return ('two', wrapped(*args, **kwargs))
"""
UPSTREAM = "def function(): return 'old'\ndef other(): return 'old'\n"
ENTRY = "[pytest11]\npatchkit = patchkit.pytest_plugin\n"
WITHOUT = ("-p", "no:patchkit")


class Runs:
    """Writes test files, and runs pytest on them."""

    def __init__(self, world: World, pytests: Pytests) -> None:
        self.world = world
        self.pytests = pytests

    def __call__(self, tests: str, *words: str, **environ: str) -> str:
        """Run pytest on a test file, and return its output; `status` is its exit code."""
        (self.world.folder / "test_it.py").write_text("import pytest\n" + dedent(tests))
        if words[-2:] != WITHOUT:
            # By its entry point as ever; the plugins of others only cost time.
            words = ("-p", "patchkit", *words)
            environ.setdefault("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        always = (
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",
            "-W",
            "error",
            "-rA",
        )
        words = (*always, "--strict-markers", *words)
        # A start of Python reads it.
        if (self.world.folder / "sitecustomize.py").exists():
            done = self.world.run("-m", "pytest", *words, **environ)
            self.status = done.returncode
            return done.stdout + done.stderr
        self.status, output = self.pytests.run(
            words, self.world.folder, self.world.environ(**environ)
        )
        return output


@pytest.fixture
def run(world: World, pytests: Pytests) -> Runs:
    """One pack with two patches; patchkit as if installed, and no vLLM."""
    info = world.folder / "patchkit_here-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: patchkit-here\nVersion: 1\n"
    )
    (info / "entry_points.txt").write_text(ENTRY)
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')", roles="{Role.WORKER}"),
        row("q", "patch_a", "Wrap('up.mod:other', by='two')"),
        row(
            "absent",
            "patch_a",
            "Wrap('up.mod:other', by='two')",
            requires="('nowhere',)",
        ),
        patch_a=BODY,
    )
    return Runs(world, pytests)


def vllm(world: World, version: str) -> None:
    """Install a vLLM that cannot be imported."""
    world.module("vllm.__init__", "raise AssertionError('vLLM was imported')\n")
    info = world.folder / f"vllm-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
    )
    (info / "RECORD").write_text("vllm/__init__.py,,\n")


# -- vllm -----------------------------------------------------------------------------------------

MARKED = """
    @pytest.mark.vllm(">=0.11")
    def test_new(): ...
    @pytest.mark.vllm(">=0.11,<0.13")
    def test_range(): ...
    @pytest.mark.vllm("<0.11")
    class TestOld:
        def test_old(self): ...
        @pytest.mark.vllm(">=0.10")
        def test_ten(self): ...
    @pytest.mark.vllm
    def test_any(): ...
    def test_plain(): ...
"""
