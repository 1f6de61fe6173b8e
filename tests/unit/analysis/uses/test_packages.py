"""Which package is opened by a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.check.released import Memory
from patchkit.analysis.upstream.reading.releases import Library
from patchkit.analysis.uses.packages import content_hash, open_package
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["Other.Name", "other-name"])
def test_an_installed_distribution_whose_package_has_another_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pytest-xdist` installs the package `xdist`: what it has installed is read."""
    info = tmp_path / "other_name-1.5.dist-info"
    for file in (info / "METADATA", tmp_path / "thing" / "__init__.py"):
        file.parent.mkdir()
        file.write_text("")
    (info / "METADATA").write_text("Name: other-name\nVersion: 1.5\n")
    (info / "RECORD").write_text(
        "thing/__init__.py,,\nsecond.py,,\nother_name-1.5.dist-info/METADATA,,\n"
    )
    (tmp_path / "second.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    found, source = open_package(name, Library())
    assert (found, source.version) == (name, "1.5")
    assert source.paths() == {"thing/__init__.py", "second.py"}
    with pytest.raises(UpstreamError, match="nothing-of-this is not installed here"):
        open_package("nothing-of-this", Library())


def test_names_of_files_may_have_any_bytes() -> None:
    """Linux has them, and Python says them as surrogates; two names are told apart."""
    hashes = {
        content_hash(Memory("up 1.0", "1.0", {f"up/m{byte}.py": ""}))
        for byte in ("\udcff", "\udcfe", "a")
    }
    assert len(hashes) == 3
