"""Which file of a pack was changed last."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from patchkit.runtime.process.last_change import last_change

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_data_in_a_folder_that_is_no_package_counts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`data` may name a file in any folder of the pack; caches and hidden folders are no part."""
    pack = ModuleType("pack_of_data")
    pack.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "pack_of_data", pack)
    for age, name in enumerate(
        ("__pycache__/a.pyc", ".cache/x", "my-data/x.json", "__init__.py")
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (10_000 - age, 10_000 - age))
    assert f"is {tmp_path}/my-data/x.json, at" in last_change(["pack_of_data"])
