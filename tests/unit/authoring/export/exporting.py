"""A release of `up`, and what `patchkit export` of a pack makes of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Protocol

import pytest
from analysis.check.released import write_wheels
from support.packages import row
from support.programs import program

from authoring.index_of_up import serve
from patchkit.authoring.source.definitions import Definitions
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

LIB = """\
'''A module.'''

import os.path
from dataclasses import dataclass


@dataclass
class Config:
    '''Settings.'''

    size: int = 1

    @staticmethod
    def parse(text):
        return text


def f(a):
    '''Words.'''
    return a


LIMIT = 1
"""
BODY = program(__file__, "exported_body")
SMALL = """\
from up.other import deep


def f(a=1):
    return deep(a)


class Worker:
    def run(self):
        return 1


def g():
    return 1
"""
REPLACE_F = "Replace('up.lib:f', by='f')"


class LeftOut(Protocol):
    """What the fixture `left_out` returns."""

    def __call__(self, body: str, *changes: str) -> str: ...


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of `up` on an index, and a folder with its files under git."""
    modules = {"lib": LIB, "other": "def deep(n):\n    return n"}
    serve(world, monkeypatch, {"1.0": modules})
    return world.folder


def export(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run `export` of `pack` on `up` 1.0, and return its code, its output and its errors."""
    capsys.readouterr()
    sys.path_importer_cache.clear()
    code = main(["export", "--patches", "pack", "--releases", "up==1.0", *words])
    return code, *capsys.readouterr()


def applied(folder: Path, diff: str) -> Definitions:
    """Let git apply a diff to the release, and return what `up.lib` then defines."""
    wheel = next(folder.glob("up-1.0*.whl"))
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.unpack_archive(wheel, tree, "zip")
    git = ["git", "-C", str(tree), "apply"]
    for more in (["--check"], []):
        subprocess.run([*git, *more, "-"], input=diff.encode(), check=True, timeout=30)
    return Definitions.of("up/lib.py", (tree / "up/lib.py").read_bytes())


@pytest.fixture
def left_out(world: World, capsys: pytest.CaptureFixture[str]) -> LeftOut:
    """Export changes of a body, by default one that replaces `f`, none of which must be in the
    diff; what is said of them is returned.
    """

    def export_nothing(body: str, *changes: str) -> str:
        one = row("one", "patch_lib", *(changes or [REPLACE_F]))
        world.pack(one, patch_lib=dedent(body))
        code, diff, errors = export(capsys)
        assert (code, diff) == (1, ""), errors
        return errors

    return export_nothing


@pytest.fixture
def released(here: Path) -> None:
    """A release that has `f`, `g` and `Worker`."""
    other = "VALUE = 1\n\n\ndef deep(n):\n    return n\n"
    write_wheels(here, {"1.0": {"lib": SMALL, "other": other}})
