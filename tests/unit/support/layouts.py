"""Folders of installed distributions, as installers leave them."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest

from patchkit.core.versions.installed import Versions

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.core.versions.requirements import FoundVersion


def write(file: Path, text: str = "") -> Path:
    """Write a file and the folders that it needs."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def package(root: Path, name: str = "vllm", version: str | None = None) -> list[str]:
    """A package that fails when it is imported; returns its files, relative to root."""
    write(root / name / "__init__.py", f"raise SystemExit('{name} was imported')\n")
    if version is None:
        return [f"{name}/__init__.py"]
    write(root / name / "_version.py", f"__version__ = version = {version!r}\n")
    return [f"{name}/__init__.py", f"{name}/_version.py"]


def record(root: Path, files: list[str]) -> str:
    """The text of a RECORD, without its own line."""
    lines = []
    for name in files:
        content = (root / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        lines.append(f"{name},sha256={digest.decode().rstrip('=')},{len(content)}")
    return "\n".join(lines) + "\n"


def dist_info(
    root: Path,
    name: str,
    version: str,
    files: list[str] | None = None,
    **others: str,
) -> Path:
    """A dist-info folder; `files` None leaves it without RECORD."""
    folder = root / f"{name.replace('-', '_')}-{version}.dist-info"
    write(
        folder / "METADATA",
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n",
    )
    if files is not None:
        write(folder / "RECORD", record(root, files) + f"{folder.name}/METADATA,,\n")
    for file, text in others.items():
        write(folder / file.replace("__", "."), text)
    return folder


def editable(source: Path) -> str:
    """The text of a `direct_url.json` of an editable install."""
    return json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}})


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    """An empty folder of installed distributions."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    return folder


@pytest.fixture
def restored_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds to sys.path and sys.meta_path goes when it ends."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))


def find(name: str, *path: Path) -> FoundVersion | None:
    """The version of a distribution that is found in these folders."""
    return Versions(path=[str(folder) for folder in path]).find(name)
