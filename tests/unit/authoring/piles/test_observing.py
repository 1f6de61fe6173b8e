"""What the child imports before it compares."""

from __future__ import annotations

import pytest

from authoring.piles.pile_of_up import World, here, observed, world

__all__ = ["here", "world"]

LATE = """
import device
from up import lib

lib.TABLE["late"] = 1
WORD = "old"
"""


@pytest.mark.processes
def test_a_module_that_can_be_imported_with_a_stub_alone(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What upstream does to itself as it is imported is no change of the pile's."""
    here.module("up.late", LATE)
    text = """
        def register():
            from up import late

            late.WORD = "new"
        """
    report = observed(here, capsys, {"start": text}, "--stub", "device")
    assert list(report["observed"]["depths"]) == ["up.late:WORD"]
