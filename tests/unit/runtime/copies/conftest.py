from __future__ import annotations

import pytest

from .loaded import Loaded


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    """Upstream in memory."""
    return Loaded(monkeypatch)
