"""Whether a distribution is absent, told without the search that finds versions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support import layouts
from support.layouts import dist_info, find, package, write

from patchkit.core.versions import absent
from patchkit.core.versions.absent import is_absent
from patchkit.core.versions.installed import Versions

if TYPE_CHECKING:
    from pathlib import Path

lib = layouts.lib

NAME = "torch-npu"


def _distribution(folder: Path) -> None:
    dist_info(folder, "torch_npu", "2.5.1", [])


def _namesake_with_more(folder: Path) -> None:
    dist_info(folder, "torch_npu_tools", "2.5.1", [])
    write(folder / "torch_npu_tools.py")


def _egg(folder: Path) -> None:
    write(folder / "Torch.NPU-2.5-py3.11.egg-info" / "PKG-INFO", "Version: 2.5\n")


def _folder_without_init(folder: Path) -> None:
    write(folder / "torch_npu" / "README.md")


@pytest.mark.parametrize(
    ("layout", "absent"),
    [
        (lambda _: None, True),
        (lambda folder: package(folder, "torch_npu"), False),
        (lambda folder: write(folder / "torch_npu.py"), False),
        (_distribution, False),
        (_egg, False),
        (_namesake_with_more, True),
        (_folder_without_init, True),
    ],
)
def test_it_is_absent_where_the_search_finds_nothing(
    lib: Path, layout: object, absent: bool
) -> None:
    """A package, a module or metadata of the name is something; a namesake's beginning is not."""
    assert callable(layout)
    layout(lib)
    assert is_absent(NAME, [str(lib)]) is absent
    if absent:
        assert find(NAME, lib) is None


def test_an_archive_may_hold_anything(tmp_path: Path) -> None:
    """Nothing is certain beside an archive on the path; a folder that is gone holds nothing."""
    assert is_absent(NAME, [str(tmp_path / "gone")])
    assert not is_absent(NAME, [str(write(tmp_path / "some.zip"))])


def test_finders_of_editable_installs_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What only a finder on `sys.meta_path` finds is installed."""
    assert Versions().is_absent("only_found_by_a_finder>=1")

    class Found:
        has_location = True

    class Finder:
        @staticmethod
        def find_spec(*_: object) -> Found:
            return Found()

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert not Versions().is_absent("only_found_by_a_finder>=1")


def test_what_a_variable_names_is_not_absent() -> None:
    """A version that PATCHKIT_VERSIONS names counts as installed."""
    assert not Versions({"Up": "1.0"}, path=[]).is_absent("up>=2")
    assert Versions(path=[]).is_absent("up>=2")


def test_each_distribution_is_searched_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many requirements of one distribution, the first makes the only search."""
    searched: list[str] = []
    monkeypatch.setattr(absent, "is_absent", lambda name, _: not searched.append(name))
    versions = Versions(path=[str(tmp_path)])
    for text in ("nowhere", "no-where>=1", "No_Where<2", "no.where", "nowhere>=2"):
        assert versions.is_absent(text)
    assert searched == ["nowhere", "no-where"]
