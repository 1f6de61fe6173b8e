#!/usr/bin/env python3
"""Build what is released, the wheel and the source distribution, from the last commit.

`python lab/archives.py` writes both to `dist/` and prints their hashes. The same commit gives the
same bytes in every folder, with every umask, time zone and Python, as long as hatchling has the
same version, which `WHEEL` in the wheel names.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from folders import REPOSITORY
from steps import EnvironmentsError, step
from toolbox import index_options, uv


def build(source: Path, into: Path) -> dict[str, str]:
    """Build the source distribution of a folder, and the wheel from that.

    Args:
        source: The folder with `pyproject.toml`.
        into: The folder for the archives; it need not exist.

    Returns:
        The SHA-256 of each archive, by its name.

    Raises:
        EnvironmentsError: The build failed.
    """
    options = [*index_options(), "--out-dir", str(into)]
    # hatchling has a date of its own for all files, which this variable would replace.
    same_times = ("env", "-u", "SOURCE_DATE_EPOCH")
    step(
        f"archives of {source.name}",
        [*same_times, *uv("build", "--quiet", *options, str(source))],
    )
    archives = sorted(file for file in into.iterdir() if file.name != ".gitignore")
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in archives
    }


def build_commit(into: Path) -> dict[str, str]:
    """Build the archives of the last commit, whatever else lies in the work tree.

    Args:
        into: The folder for the archives; what is in it is deleted.

    Returns:
        The SHA-256 of each archive, by its name.

    Raises:
        EnvironmentsError: A step failed.
    """
    shutil.rmtree(into, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "files.tar")
        source = Path(folder, "source")
        source.mkdir()
        git = ("git", "-C", str(REPOSITORY), "archive", "--output", str(files), "HEAD")
        step("files of the last commit", git)
        step("unpacking them", ("tar", "-xf", str(files), "-C", str(source)))
        return build(source, into)


def main() -> int:
    """Build the archives of the last commit, and print their hashes as `sha256sum` does."""
    try:
        hashes = build_commit(REPOSITORY / "dist")
    except EnvironmentsError as error:
        print(error, file=sys.stderr)
        return 1
    for name, digest in hashes.items():
        print(f"{digest}  dist/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
