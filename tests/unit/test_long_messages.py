"""Errors of packs whose messages are long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from patchkit.errors import DeclarationError
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_long_word_is_gone_through_once(write_pack: Callable[..., Path]) -> None:
    """The message is searched for the name of a field, in well under a second."""
    write_pack("broken_pack", "raise ValueError('a' * 60_000)")
    began = time.process_time()
    with pytest.raises(DeclarationError, match="ValueError: aaa"):
        read_pack("broken_pack")
    assert time.process_time() - began < 2
