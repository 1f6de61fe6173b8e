"""Releases of `up` in a folder that is all there is to find releases in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.check.released import find_only_in, no_own_packs, write_wheels

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest
    from support.packages import World

INTO_MINE = ["--into", "mine", "--of", "up", "--releases", "up==1.0", "--no-observe"]
"""Options of `adopt`: rows for `up` 1.0, in a pack `mine`, by reading alone; `--observe` behind it
observes."""


def serve(
    world: World,
    patch: pytest.MonkeyPatch,
    releases: Mapping[str, Mapping[str, str]],
) -> None:
    """Write releases into the world's folder, which becomes the working directory."""
    no_own_packs(patch)
    patch.chdir(world.folder)
    find_only_in(patch, ".")
    write_wheels(world.folder, releases)
