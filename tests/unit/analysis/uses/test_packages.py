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


@pytest.mark.parametrize("name", ["Shop", "shop", "SHOP"])
def test_an_installed_distribution_whose_name_has_other_case(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Jinja2` installs `jinja2`; what is no package, such as `..` of a script, is none here."""
    info = tmp_path / "Shop-1.5.dist-info"
    for file in (info / "METADATA", tmp_path / "shop" / "__init__.py"):
        file.parent.mkdir()
        file.write_text("")
    (info / "METADATA").write_text("Name: Shop\nVersion: 1.5\n")
    (info / "RECORD").write_text("shop/__init__.py,,\nShop-1.5.dist-info/METADATA,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found, source = open_package(name, Library())
    assert (found, source.version) == (name, "1.5")
    assert source.paths() == {"shop/__init__.py"}


def test_an_installed_distribution_with_a_script_and_a_private_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script in Python, whose path begins with `..`, is no package; `_yaml` of PyYAML is one."""
    root = tmp_path / "lib" / "site"
    info = root / "PyThing-1.5.dist-info"
    info.mkdir(parents=True)
    for package in ("_thing", "thing"):
        (root / package).mkdir()
        (root / package / "__init__.py").write_text("")
    (info / "METADATA").write_text("Name: PyThing\nVersion: 1.5\n")
    (info / "RECORD").write_text(
        "../../bin/tool.py,,\n_thing/__init__.py,,\nthing/__init__.py,,\n"
        "PyThing-1.5.dist-info/METADATA,,\n"
    )
    monkeypatch.syspath_prepend(str(root))
    _, source = open_package("PyThing", Library())
    assert source.name == "thing 1.5"
    assert source.paths() == {"_thing/__init__.py", "thing/__init__.py"}


def test_names_of_files_may_have_any_bytes() -> None:
    """Linux has them, and Python says them as surrogates; two names are told apart."""
    hashes = {
        content_hash(Memory("up 1.0", "1.0", {f"up/m{byte}.py": ""}))
        for byte in ("\udcff", "\udcfe", "a")
    }
    assert len(hashes) == 3
