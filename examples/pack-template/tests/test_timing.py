"""What the body does, and that the rows apply to the vLLM that is installed."""

import logging

import pytest
from acme_patches import PATCHES, patch_timing

from patchkit import applied


def call(caplog: pytest.LogCaptureFixture) -> int:
    """Time a function that returns at once."""
    with caplog.at_level(logging.WARNING, "vllm.acme"):
        result: int = patch_timing.timed(lambda first: first + 1, None, (1,), {})
        return result


def test_a_slow_call_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch_timing, "LIMIT", -1.0)
    assert call(caplog) == 2
    assert "<lambda> took 0.0 s" in caplog.text


def test_a_fast_call_is_not(caplog: pytest.LogCaptureFixture) -> None:
    assert call(caplog) == 2
    assert caplog.text == ""


@pytest.mark.vllm(">=0.30,<0.34")
@pytest.mark.parametrize("name", [patch.name for patch in PATCHES])
def test_it_applies(name: str) -> None:
    with applied(name):
        pass
