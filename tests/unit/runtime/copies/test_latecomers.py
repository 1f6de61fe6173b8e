"""Modules that a pass over copies may have come to too early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.runtime.copies.scope import Latecomers

if TYPE_CHECKING:
    from .loaded import Loaded


def test_a_module_that_is_whole_by_then(loaded: Loaded) -> None:
    """It is looked at at once; what was there before, and whole, is not looked at again."""
    looked: list[str] = []
    late = Latecomers(["up"])
    loaded.add("up.late")
    late.revisit(looked.append)
    assert looked.count("up.late") == 1
    assert "up" not in looked


def test_a_module_that_is_still_importing(loaded: Loaded) -> None:
    """It is looked at once its import has ended, and not before."""
    looked: list[str] = []
    late = Latecomers(["up"])
    spec = loaded.add("up.late").__spec__
    spec._initializing = True
    late.revisit(looked.append)
    assert "up.late" not in looked
    spec._initializing = False
    assert looked.count("up.late") == 1
