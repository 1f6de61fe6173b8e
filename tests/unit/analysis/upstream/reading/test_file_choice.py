"""The file that a release is read from: the one that pip would install on a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.upstream.reading.releases import (
    find_releases,
    find_versions,
)
from patchkit.core.versions.wheel_tags import Machine

if TYPE_CHECKING:
    from analysis.upstream.shops import Customer


@pytest.mark.parametrize(("files", "chosen"), [
    (["up-1.0.tar.gz", "up-1.0-cp312-cp312-linux_x86_64.whl"], 1),
    (["up-1.0-py3-none-any.whl", "up-1.0-cp312-cp312-linux_x86_64.whl"], 1),
    (["up-1.0-cp39-abi3-linux_x86_64.whl", "up-1.0-cp312-abi3-linux_x86_64.whl"], 1),
    (["up-1.0-cp313-abi3-linux_x86_64.whl", "up-1.0-cp39-abi3-linux_x86_64.whl"], 1),
    (["up-1.0-cp312-abi3-macosx_11_0_arm64.whl", "up-1.0-cp39-abi3-linux_x86_64.whl"], 1),
    (["up-1.0-cp312-abi3-linux_aarch64.whl", "up-1.0-cp39-abi3-linux_x86_64.whl"], 1),
    (["up-1.0-py3-none-any.whl", "up-1.0-2-py3-none-any.whl"], 1),
    (["up-1.0+cu12-py3-none-any.whl", "up-1.0-cp39-abi3-linux_x86_64.whl"], 1),
    (["up-1.0+cu12-py3-none-any.whl", "up-1.0.zip"], 0),
])  # fmt: skip
def test_a_release_is_read_from_the_file_that_pip_would_install(
    buyer: Customer, files: list[str], chosen: int
) -> None:
    """That file is chosen whatever order the index lists its files in, and nothing is said."""
    machine = Machine("linux_x86_64", "3.12")
    for order in (files, files[::-1]):
        buyer.shop.files = dict.fromkeys(order, b"")
        buyer.place = buyer.place.with_name(f"cache-{order[0]}")
        with buyer.library(machine=machine) as library:
            [release] = find_releases("up", library)
        assert (release.link.filename, release.version) == (files[chosen], "1.0")
    assert buyer.notices == []


@pytest.mark.parametrize(("machine", "chosen"), [
    (Machine("linux_aarch64"), 0),
    (Machine("linux_x86_64"), 1),
    (Machine("macosx_14_0_arm64"), 2),
])  # fmt: skip
def test_each_machine_has_its_file(
    buyer: Customer, machine: Machine, chosen: int
) -> None:
    """The machine that is named decides, not the one that patchkit runs on."""
    platforms = ("manylinux_2_31_aarch64", "manylinux_2_31_x86_64", "macosx_11_0_arm64")
    files = [f"up-1.0-cp38-abi3-{platform}.whl" for platform in platforms]
    buyer.shop.files = dict.fromkeys(files, b"")
    with buyer.library(machine=machine) as library:
        [release] = find_releases("up", library)
    assert release.link.filename == files[chosen]


def test_what_pip_would_not_install_is_said(buyer: Customer) -> None:
    """Where only wheels for other machines are there, one is read, and a notice says which."""
    versions = ("1.0", "1.1", "1.2")
    for version in versions[:2]:
        buyer.shop.files[f"up-{version}-cp38-abi3-linux_aarch64.whl"] = b""
        buyer.shop.files[f"up-{version}-cp38-abi3-linux_x86_64.whl"] = b""
        buyer.shop.files[f"up-{version}.tar.gz"] = b""
    buyer.shop.files["up-1.2-py3-none-any.whl"] = b""
    with buyer.library(machine=Machine("win_amd64", "3.12")) as library:
        assert find_versions("up", library) == list(versions)
        assert buyer.notices == []  # none of them is read
        releases = find_releases("up", library)
        names = [release.link.filename for release in releases]
        find_releases("up==1.1", library)
    assert names == [
        "up-1.0-cp38-abi3-linux_x86_64.whl",
        "up-1.1-cp38-abi3-linux_x86_64.whl",
        "up-1.2-py3-none-any.whl",
    ]
    several, single = buyer.notices
    assert several == (
        "up 1.0 to 1.1: 2 releases have no file for win_amd64, CPython 3.12; "
        "read from files for others"
    )
    assert single == (
        "up 1.1 has no file for win_amd64, CPython 3.12; "
        "read from up-1.1-cp38-abi3-linux_x86_64.whl"
    )


def test_a_python_that_no_file_takes_is_the_reason(buyer: Customer) -> None:
    """The notice tells a bound on Python from files for other machines."""
    name = "up-1.0-py3-none-any.whl"
    buyer.shop.files = {name: b""}
    buyer.shop.requires_python = {name: ">=3.13"}
    with buyer.library(machine=Machine("linux_x86_64", "3.12")) as library:
        find_releases("up", library)
    assert buyer.notices == [
        f"up 1.0 requires Python >=3.13, and this is linux_x86_64, CPython 3.12; read from {name}"
    ]


@pytest.mark.parametrize("is_json", [False, True])
def test_files_for_other_pythons_are_not_read(buyer: Customer, is_json: bool) -> None:
    """A file that the index offers to other versions of Python is not the one to read."""
    files = ["up-1.0-1-py3-none-any.whl", "up-1.0-2-py3-none-any.whl"]
    buyer.shop.files = dict.fromkeys(files, b"")
    buyer.shop.requires_python = {files[1]: ">=3.13"}
    buyer.shop.is_json = is_json
    chosen = []
    for version in ("3.12", "3.13"):
        with buyer.library(machine=Machine(python=version)) as library:
            [release] = find_releases("up", library)
            chosen.append(release.link.filename)
    assert chosen == files
