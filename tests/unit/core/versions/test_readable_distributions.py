from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.odd_places import PLACES, ending_in

from patchkit.core.engines.entry_points import (
    entries_here,
    entry_points_of,
    installed_packs,
)
from patchkit.core.versions.distributions import ProviderSearch, readable_distributions
from patchkit.core.versions.installed_packages import distributions_by_package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = ("METADATA", "RECORD", "direct_url.json", "entry_points.txt", "top_level.txt")
ENDLESS = ("pipe", "pipe_behind_link", "zeros", "terminal", "local_socket")


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    """End a test that waits for ever."""
    with ending_in(100):
        yield


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of `sys.path` with two distributions, each with a package and a pack."""
    for name in ("healthy", "odd"):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
        (info / "top_level.txt").write_text(f"{name}\n")
        (info / "entry_points.txt").write_text(
            f"[patchkit.patches]\n{name} = {name}.patches\n"
        )
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("place", ENDLESS)
@pytest.mark.parametrize("file", FILES)
def test_a_distribution_with_an_endless_file_is_left_out(
    site: Path, file: str, place: str
) -> None:
    """Whichever file of it is a pipe or a device; all that the others tell is told."""
    odd = site / "odd-1.0.dist-info" / file
    odd.unlink(missing_ok=True)
    PLACES[place](odd)
    path = [str(site)]
    names = [dist.metadata["Name"] for dist in readable_distributions(path)]
    assert names == ["healthy"]
    assert "odd" not in distributions_by_package()
    assert distributions_by_package()["healthy"] == ["healthy"]
    assert installed_packs(path) == ("healthy.patches",)
    assert [entry.name for entry in entry_points_of("patchkit.patches")] == ["healthy"]
    found = ProviderSearch("odd", path).found()
    assert found is not None
    assert found.version == "unknown"


def test_all_others_are_told(site: Path) -> None:
    """Also where a file is missing, or a folder; each entry point is told once."""
    folder = site / "odd-1.0.dist-info" / "direct_url.json"
    folder.mkdir()
    assert len(list(readable_distributions([str(site)]))) == 2
    assert len(list(readable_distributions([str(site)], "odd"))) == 1
    again = site / "odd_again-1.0.dist-info"
    again.symlink_to(site / "odd-1.0.dist-info")
    names = [entry.name for entry in entry_points_of("patchkit.patches")]
    assert sorted(names) == ["healthy", "odd"]


def test_a_start_waits_for_no_pipe(tmp_path: Path) -> None:
    """The only distribution of a folder has a pipe as its list of entry points."""
    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir()
    PLACES["pipe"](info / "entry_points.txt")
    assert entries_here([str(tmp_path)]) == []


@pytest.mark.parametrize("place", ENDLESS)
def test_what_is_no_folder_on_the_path_is_left_out(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """`importlib.metadata` would open it as a zip file."""
    PLACES[place](tmp_path / "place")
    monkeypatch.syspath_prepend(str(tmp_path / "place"))
    assert [entry.name for entry in entry_points_of("patchkit.patches")]
    path = [str(tmp_path / "place"), str(site)]
    assert len(list(readable_distributions(path))) == 2
