"""The garbage collector, off for some work."""

from __future__ import annotations

import gc

import pytest

from patchkit.analysis.collection import no_collection


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_is_collected_afterwards_as_before(*, was_on: bool) -> None:
    """The collection of cycles is off for the block alone, and stays off where it was off."""
    if not was_on:
        gc.disable()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    finally:
        gc.enable()
