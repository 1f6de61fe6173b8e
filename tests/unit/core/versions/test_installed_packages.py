from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING

import pytest

from patchkit.core.versions.installed_packages import (
    distributions_by_package,
    package_of_distribution,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of packages: one with a `top_level.txt`, one that only its RECORD tells."""
    for name, file, content in (
        ("old_style", "top_level.txt", "first\nsecond\n"),
        (
            "new_style",
            "RECORD",
            "third/a.py,,\nthird/b.py,,\nfourth.py,,\ndata.txt,,\n",
        ),
    ):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (info / file).write_text(content)
    # Newer Pythons list only what is there.
    for file in ("third/a.py", "third/b.py", "fourth.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    standard = [folder for folder in sys.path if "site-packages" not in folder]
    monkeypatch.setattr("sys.path", [str(tmp_path), *standard])
    return tmp_path


@pytest.mark.usefixtures("site")
def test_every_python_lists_the_packages_of_wheels() -> None:
    """Wheels without a `top_level.txt` have packages, too; Python 3.10 does not list them."""
    expected = {
        "first": ["old_style"],
        "second": ["old_style"],
        "third": ["new_style"],
        "fourth": ["new_style"],
    }
    assert expected.items() <= distributions_by_package().items()


@pytest.mark.usefixtures("site")
def test_a_distribution_leads_to_its_package() -> None:
    """The name of a package stays as it is, and so does that of no distribution."""
    found = [
        package_of_distribution(name)
        for name in ("New-Style", "new_style", "third", "lost")
    ]
    assert found == ["fourth", "fourth", "third", "lost"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("METADATA", b"Name: b\xff\xfe\nVersion: 1.0\n"),
        ("METADATA", b"Metadata-Version: 2.1\n"),
        ("top_level.txt", b"\xff\xfe"),
        ("RECORD", b"other/a.py,sha256=\xff,\n"),
        ("RECORD", b"other/a.py,sha256=0,x\n"),
        ("RECORD", b"other/a.py,,\n\nother/b.py,,\n"),
        ("RECORD", b"other/a.py,,,,,\n"),
        ("RECORD", b"x" * 200_000 + b",,\n"),
    ],
)
def test_a_malformed_distribution_is_left_out(
    site: Path, file: str, content: bytes
) -> None:
    """All others are listed, which Python's own function does not do."""
    info = site / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (info / file).write_bytes(content)
    listed = distributions_by_package()
    assert listed["third"] == ["new_style"]
    assert "other" not in listed


def test_what_is_installed_here_is_listed_as_newer_pythons_list_it() -> None:
    """What Python's own function finds is found, whatever Python runs."""
    ours = distributions_by_package()
    for package, names in packages_distributions().items():
        if package.isidentifier() and not package.startswith("_"):
            assert sorted(set(names)) == sorted(set(ours.get(package, names)))
