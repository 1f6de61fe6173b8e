from __future__ import annotations

import pytest
from support.packages import world

from analysis.check.released import no_own_packs

__all__ = ["world"]


@pytest.fixture(autouse=True)
def _only_the_tests_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check no pack but the one that a test writes."""
    no_own_packs(monkeypatch)
