"""Modules that a pass over copies may have come to too early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.runtime.copies.scope import Latecomers

if TYPE_CHECKING:
    from .loaded import Loaded


def test_a_module_that_was_imported_since(loaded: Loaded) -> None:
    """A module that was imported since is searched at once; one from before is not searched."""
    searched_names: list[str] = []
    latecomers = Latecomers(["up"])
    loaded.add("up.late")
    latecomers.revisit(searched_names.append)
    assert searched_names.count("up.late") == 1
    assert "up" not in searched_names


def test_a_module_that_is_still_importing(loaded: Loaded) -> None:
    """A half imported module is searched once its import has ended, and not before."""
    searched_names: list[str] = []
    latecomers = Latecomers(["up"])
    spec = loaded.add("up.late").__spec__
    spec._initializing = True
    latecomers.revisit(searched_names.append)
    assert "up.late" not in searched_names
    spec._initializing = False
    assert searched_names.count("up.late") == 1
