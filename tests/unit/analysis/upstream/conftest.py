"""A shop and its customer; no proxy of this machine stands between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.upstream.shops import customer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from analysis.upstream.shops import Customer


@pytest.fixture
def buyer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Customer]:
    """Somebody with an empty cache, and an index on a socket of its own."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with customer(tmp_path) as new_customer:
        yield new_customer
