"""Extension modules, in each kind of source that `check` opens: present, but not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.layouts import dist_info, write

from analysis.upstream import archives
from analysis.upstream.memory import Memory
from patchkit.analysis.upstream.facts import facts_of
from patchkit.analysis.upstream.reading.releases import open_archive
from patchkit.analysis.upstream.reading.tree import open_installed, open_tree
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.upstream.reading.files import ReleaseSource

FALLBACK = """
from ._plain import made
try:
    from ._abi import fast
except ImportError:
    def fast(): ...
"""
FILES = {
    "up/__init__.py": FALLBACK,
    "up/_plain.cpython-311-x86_64-linux-gnu.so": "ELF",
    "up/_abi.abi3.so": "ELF",
    "up/both.py": "def f(x): ...",
    "up/both.cpython-311-x86_64-linux-gnu.so": "ELF",
    "up/whole/__init__.py": "def f(x): ...",
    "up/whole/__init__.cpython-311-x86_64-linux-gnu.so": "ELF",
    "up/typed.pyi": "def f(x): ...",
}


def _installed(folder: Path) -> ReleaseSource:
    """The release, installed with its metadata."""
    files = [
        write(folder / name, text).relative_to(folder) for name, text in FILES.items()
    ]
    dist_info(folder, "up", "1.0", [str(file) for file in files])
    return open_installed("up", [str(folder)])


def _tree(folder: Path) -> ReleaseSource:
    """The release as a source tree."""
    for name, text in FILES.items():
        write(folder / name, text)
    return open_tree(folder, "up")


def _wheel(folder: Path) -> ReleaseSource:
    """The release as a wheel."""
    file = folder / "up-1.0-py3-none-any.whl"
    contents = {name: text.encode() for name, text in FILES.items()}
    file.write_bytes(archives.wheel(contents))
    return open_archive(file)


@pytest.fixture(params=[_installed, _tree, _wheel])
def resolver(request: pytest.FixtureRequest, tmp_path: Path) -> Resolver:
    """The same release, installed, as a tree and as a wheel."""
    return Resolver(request.param(tmp_path))


def test_an_extension_module_is_there(resolver: Resolver) -> None:
    """The module is present, and its contents are undecided."""
    for name in ("up._plain", "up._abi", "up.both", "up.whole"):
        assert facts_of(resolver, Target(name, "")).state == "present"
        assert resolver.resolve(Target(name, "f")).state == "undecidable"
    assert resolver.resolve(Target("up._none", "f")).state == "absent"
    assert resolver.resolve(Target("up.typed", "f")).state == "undecidable"


def test_what_is_imported_from_it_is_there(resolver: Resolver) -> None:
    """A name that is imported from it is present, as the import would fail otherwise."""
    resolution = resolver.resolve(Target("up", "made"))
    assert (resolution.state, str(resolution.kind)) == (
        "present",
        "outside the release",
    )
    assert resolver.resolve(Target("up", "_abi")).state == "present"


def test_an_import_of_an_extension_may_fail(resolver: Resolver) -> None:
    """A name from an extension module or else from `except ImportError` has both variants."""
    resolution = resolver.resolve(Target("up", "fast"))
    assert (resolution.state, resolution.is_sure, len(resolution.variants)) == (
        "present",
        False,
        2,
    )


def test_a_release_may_be_one_extension_module() -> None:
    """A release that is a single extension module has that module."""
    source = Memory({})
    source._files["_native.cpython-311-x86_64-linux-gnu.so"] = b"ELF"
    assert Resolver(source).resolve(Target("_native", "")).state == "present"
