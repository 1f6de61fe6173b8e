"""A place in which `patchkit doctor` finds nothing."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No packs, a version of vLLM, and nothing of this machine's ways in."""
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())
    monkeypatch.setattr("patchkit.registry.installed_packs", lambda: ())
    monkeypatch.setattr("patchkit.cli.ways_in.entry_points_of", lambda group: ())
    monkeypatch.setattr("patchkit.cli.ways_in._site_folders", list)
    monkeypatch.setenv("VLLM_VERSION", "0.12.0")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("VLLM_PLUGINS", raising=False)
