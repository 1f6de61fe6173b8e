from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support import packages

from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError
from patchkit.runtime.drift import InstalledSource

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


def test_reads_the_files_of_packages_and_modules(world: World) -> None:
    """`read` returns a file and whether it is a package's, or None, and imports nothing."""
    world.module("up.sub.mod", "x = 1\n")
    installed = InstalledSource([str(world.folder)])
    assert installed.read("up.sub.mod") == (b"x = 1\n", False)
    assert installed.read("up.sub") == (b"", True)
    assert installed.read("up.gone") is None
    assert installed.read("gone.mod") is None
    assert "up" not in sys.modules


def test_a_package_that_is_loaded_is_read_where_it_was_loaded_from(
    world: World,
) -> None:
    """A loaded package is read from its folder, though `sys.path` no longer leads there."""
    world.module("up.mod", "x = 1\n")
    __import__("up")
    sys.path.remove(str(world.folder))
    assert InstalledSource().read("up.mod") == (b"x = 1\n", False)
    assert InstalledSource([]).read("up.mod") is None


def test_a_package_is_opened_once_until_parsed_modules_are_forgotten(
    world: World,
) -> None:
    """All look-ups in a package share one resolver, until `rest` lets go of it."""
    world.module("up.mod", "x = 1\n")
    installed = InstalledSource([str(world.folder)])
    first = installed.resolver("up")
    assert installed.facts(Target("up.mod", "x")).is_present
    assert installed.resolver("up") is first
    installed.forget_parsed()
    assert installed.resolver("up") is not first


def test_what_is_not_installed_cannot_be_looked_up(world: World) -> None:
    """A target in a package that is not installed raises an UpstreamError that names it."""
    with pytest.raises(UpstreamError, match="nowhere is not installed"):
        InstalledSource([str(world.folder)]).facts(Target("nowhere.mod", "f"))
