"""A journal that cannot be written changes nothing of what a real engine does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from simnpu_lab import scenario

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("place", ["/proc/no-such-place", "/dev/full/journal"])
def test_without_a_journal_the_engine_generates(
    place: str, python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Tokens are the baseline's, and each armed process says once that it cannot write."""
    env = {**scenario.VLLM, "VLLM_PLUGINS": "", "PATCHKIT_JOURNAL": place}
    arguments = ("--executor", "mp", "--patchkit")
    outcome = scenario.generate(python, model, tmp_path / "log", *arguments, env=env)
    report = scenario.report(outcome)
    assert report.tokens == baseline
    warned = [line for line in outcome.output.splitlines() if f"PATCHKIT_JOURNAL={place}" in line]
    assert 3 <= len(warned) <= 6, warned
