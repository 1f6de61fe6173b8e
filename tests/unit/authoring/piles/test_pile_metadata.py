"""What the metadata of a pile says: the release that it is for, and its entry points."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from patchkit.authoring.piles.pile_metadata import PileMetadata, metadata_of
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENTRY_POINTS = """\
[console_scripts]
pile = pile.cli:main

[vllm.general_plugins]
pile = pile:register [extra]

[sglang.srt.plugins]
pile = pile.sglang:Plugin.start
broken = pile
"""
PROJECT = """\
[project]
name = "pile"
dependencies = ["other==1.0", "up>=1.0"]
[project.entry-points."vllm.platform_plugins"]
pile = "pile:platform"
"""


def test_a_wheel_has_metadata(tmp_path: Path) -> None:
    """Its extras and markers do not matter; an entry point that is a module is no function."""
    wheel = tmp_path / "pile-2.0-py3-none-any.whl"
    texts = {
        "METADATA": "Metadata-Version: 2.1\nName: pile\nVersion: 2.0\n"
        "Requires-Dist: numpy\nRequires-Dist: up[all]==1.0\n",
        "entry_points.txt": ENTRY_POINTS,
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pile/__init__.py", "")
        for name, text in texts.items():
            archive.writestr(f"pile-2.0.dist-info/{name}", text)
    metadata = metadata_of(str(wheel))
    assert metadata.pinned("up") == "up==1.0"
    assert sorted(metadata.calls) == [
        ("pile.sglang:Plugin.start", "sglang.srt.plugins"),
        ("pile:register", "vllm.general_plugins"),
    ]


@pytest.mark.parametrize("name", ["METADATA", "entry_points.txt"])
def test_metadata_of_another_encoding_is_an_error(tmp_path: Path, name: str) -> None:
    """It names the wheel."""
    wheel = tmp_path / "pile-2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"pile-2.0.dist-info/{name}", b"[a]\nx = \xff\n")
    with pytest.raises(ScaffoldError, match=f"{wheel}: found metadata that cannot"):
        metadata_of(str(wheel))


def damaged(wheel: Path) -> None:
    """Change a byte of METADATA, which no longer has its checksum."""
    content = wheel.read_bytes()
    wheel.write_bytes(content.replace(b"Name: pile", b"Name: pipe", 1))


def of_another_method(wheel: Path) -> None:
    """Say that METADATA is compressed by a method that Python does not know."""
    content = bytearray(wheel.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 10] = 99
    wheel.write_bytes(bytes(content))


def encrypted(wheel: Path) -> None:
    """Say that METADATA is encrypted."""
    content = bytearray(wheel.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    wheel.write_bytes(bytes(content))


def emptied(wheel: Path) -> None:
    wheel.write_bytes(b"")


@pytest.mark.parametrize("spoil", [damaged, of_another_method, encrypted, emptied])
def test_a_wheel_that_cannot_be_read_is_an_error(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    """It names the wheel, whatever `zipfile` raises."""
    wheel = tmp_path / "pile-2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pile-2.0.dist-info/METADATA", "Name: pile\nVersion: 2.0\n")
    spoil(wheel)
    with pytest.raises(ScaffoldError, match=f"{wheel}: found metadata that cannot"):
        metadata_of(str(wheel))


def test_metadata_has_a_limit(tmp_path: Path) -> None:
    """What unpacks to more is not unpacked."""
    wheel = tmp_path / "pile-2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pile-2.0.dist-info/METADATA", bytes(17 << 20))
    with pytest.raises(ScaffoldError, match="METADATA: found 17,825,792 bytes"):
        metadata_of(str(wheel))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("project = 3", "project: found 3, expected a table"),
        (
            "[project]\ndependencies = 5",
            "project.dependencies: found 5, expected a list",
        ),
        ("[project]\nentry-points = ['a']", "entry-points: found"),
        (
            "[project.entry-points]\n'vllm.general_plugins' = 'x'",
            "vllm.general_plugins: found 'x', expected a table",
        ),
    ],
)
def test_a_project_of_odd_types_is_an_error(
    tmp_path: Path, text: str, fault: str
) -> None:
    """It names the file, the field and what was found."""
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    with pytest.raises(ScaffoldError, match=f"{file}: {fault}"):
        metadata_of(str(tmp_path))


@pytest.mark.parametrize("folder", [".", "pile", "src/pile"])
def test_a_folder_is_a_project_or_a_package_of_one(tmp_path: Path, folder: str) -> None:
    """A package may lie in `src`; `>=` names no release."""
    (tmp_path / "pyproject.toml").write_text(PROJECT, "utf-8")
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    metadata = metadata_of(str(tmp_path / folder))
    assert metadata.pinned("up") is None
    assert metadata.pinned("other") == "other==1.0"
    assert metadata.calls == [("pile:platform", "vllm.platform_plugins")]


def test_entry_points_of_other_packages_are_not_the_pile_s(tmp_path: Path) -> None:
    """They are of a project with several packages; the project as a whole has all."""
    entry_points = '[project.entry-points."vllm.general_plugins"]\n'
    entry_points += 'one = "one:register"\ntwo = "two.start:register"\n'
    (tmp_path / "pyproject.toml").write_text(entry_points, "utf-8")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "__init__.py").touch()
    two = ("two.start:register", "vllm.general_plugins")
    assert metadata_of(str(tmp_path / "two")).calls == [two]
    assert two in metadata_of(str(tmp_path)).calls
    assert len(metadata_of(str(tmp_path)).calls) == 2


def test_an_installed_package_has_metadata() -> None:
    """What is not installed has none."""
    assert metadata_of("pytest").requirements
    assert metadata_of("no_such_package") == PileMetadata()


@pytest.mark.parametrize(
    ("requirement", "pinned"),
    [
        ("up==1.0", "up==1.0"),
        ("up===1.0", "up==1.0"),
        ("up==1.*", None),
        ("up~=1.0", None),
        ("up @ https://example.org/up.whl", None),
        ("not a requirement", None),
    ],
)
def test_one_release_is_pinned_or_none(requirement: str, pinned: str | None) -> None:
    """Only `==` with a whole version names a release."""
    assert PileMetadata([requirement]).pinned("up") == pinned
