#!/usr/bin/env python3
"""Fetch files of a package from pip's index as they are: a release's Python, or a whole wheel.

Neither builds nor installs anything: old releases of vLLM can only be built with the compilers of
their day, and a wheel for other hardware would not install. Results stay under `.envs/sources/`.
`python lab/sources.py VERSION…` prints the directories that hold those releases of vLLM.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import folders
import toolbox
from steps import EnvironmentsError, say, step

if TYPE_CHECKING:
    from collections.abc import Callable


def old_vllm(version: str) -> Path:
    """The directory that holds the package `vllm` of a release's source distribution."""
    return unpacked(f"vllm=={version}", unpack_package, "--no-binary")


def native_vllm(version: str) -> Path:
    """The directory that holds `csrc`, the native operators' source, of a release."""
    name = f"vllm-{version}-csrc"
    return unpacked(f"vllm=={version}", unpack_operators, "--no-binary", name=name)


def wheel(requirement: str, python: str) -> Path:
    """The directory that holds what a wheel for a version of Python holds."""
    return unpacked(
        requirement, unpack_all, "--only-binary", "--python-version", python
    )


def unpacked(
    requirement: str,
    unpack: Callable[[Path, Path], None],
    *options: str,
    name: str | None = None,
) -> Path:
    """Download and unpack once; a directory that carries the final name is complete."""
    place = folders.SOURCES / (name or requirement.replace("==", "-"))
    folders.SOURCES.mkdir(parents=True, exist_ok=True)
    with folders.locked(place), contextlib.ExitStack() as stack:
        if not place.exists():
            half = place.with_name(f"{place.name}.half")
            shutil.rmtree(half, ignore_errors=True)
            stack.callback(shutil.rmtree, half, ignore_errors=True)
            unpack(download(requirement, half / "archive", *options), half / "content")
            (half / "content").rename(place)
    return place


def download(requirement: str, directory: Path, *options: str) -> Path:
    """Bring a file here; unearth looks where pip would and compares the index's hash."""
    command = [str(toolbox.program("unearth")), requirement, *options, *index_options()]
    command += ["--download", str(directory)]
    output = step(f"downloading {requirement}", command)
    # Its progress, if any, comes before the JSON object.
    return Path(json.loads(output[output.index("{") :])["local_path"])


def index_options() -> list[str]:
    """The user's index, where it is not the usual one."""
    return [part for url in toolbox.pip_index() for part in ("--index-url", url)]


def unpack_package(archive: Path, place: Path) -> None:
    """Only `vllm/` of a source distribution, without the directory around it."""
    unpack_folder("vllm", archive, place)


def unpack_operators(archive: Path, place: Path) -> None:
    """Only `csrc/` of a source distribution, without the directory around it."""
    unpack_folder("csrc", archive, place)


def unpack_folder(name: str, archive: Path, place: Path) -> None:
    """One folder of a source distribution, without the directory around it."""
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = member.name.partition("/")[2]
            if inside.startswith(f"{name}/") and member.isfile():
                member.name = inside
                tar.extract(member, place)


def unpack_all(archive: Path, place: Path) -> None:
    """Everything in a wheel."""
    with zipfile.ZipFile(archive) as file:
        file.extractall(place)


def main() -> int:
    """Fetch the releases of vLLM that are named."""
    try:
        for version in sys.argv[1:]:
            print(old_vllm(version))
    except EnvironmentsError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
