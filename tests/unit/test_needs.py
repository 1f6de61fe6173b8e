"""What patchkit itself needs, and is missing, is named in one line; no patch is blamed for it."""

from __future__ import annotations

import ast

import pytest
from support import packages
from support.packages import REPOSITORY, World, row

world = packages.world

pytestmark = pytest.mark.processes


def test_a_python_that_is_too_old_is_named(world: World) -> None:
    """`import patchkit.auto` under Python 3.9 fails with what is needed and what was found."""
    code = (
        "import sys; sys.version_info = (3, 9, 18); sys.version = '3.9.18'\n"
        "import patchkit.auto"
    )
    done = world.run("-c", code)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "DependencyError: patchkit needs Python 3.10 or later, found Python 3.9.18\n"
    )


@pytest.mark.parametrize("name", ["__init__.py", "errors.py"])
def test_an_old_python_can_read_what_says_so(name: str) -> None:
    """What is imported before the check parses under Python 3.9, with annotations unevaluated."""
    source = (REPOSITORY / "patchkit" / name).read_text()
    tree = ast.parse(source, feature_version=(3, 9))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert imports[0].module == "__future__"


def test_a_missing_packaging_is_named(world: World) -> None:
    """Without `packaging`, the error says so, and blames no patch."""
    world.module("up.mod", "def f(): ...\n")
    change = "Replace('up.mod:f', by='f')"
    world.pack(row("one", "patch_one", change), patch_one="def f(): ...\n")
    done = world.run("-c", MISSING)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "no patch can be applied: patchkit needs the package 'packaging'" in last
    assert "required patch" not in done.stderr


MISSING = """
import sys
sys.modules["packaging"] = None
import patchkit.auto
import up.mod
"""
