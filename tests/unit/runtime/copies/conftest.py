from __future__ import annotations

import pytest

from .loaded import Loaded


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    """Modules in memory, `up` among them, and the passes over their copies."""
    return Loaded(monkeypatch)
