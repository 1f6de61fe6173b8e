"""`make quality`: the modules that a process loads, counted in real ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from quality import loading, measures
from quality.source import Module

pytestmark = pytest.mark.processes

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A repository with a copy of the package."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "patchkit", tmp_path / "patchkit", ignore=ignored)
    return tmp_path


def test_a_further_module_at_the_start_is_counted_in_all_three(copied: Path) -> None:
    """Applying loads more than arming, and a lock more than applying without."""
    before = loading.count_loaded(copied)
    assert 1 < before.armed < before.applied < before.locked
    (copied / "patchkit" / "more.py").write_text("")
    with (copied / "patchkit" / "auto.py").open("a") as file:
        file.write("import patchkit.more\n")
    after = loading.count_loaded(copied)
    assert after.armed == before.armed + 1
    assert after.applied == before.applied + 1
    assert after.locked == before.locked + 1


def test_a_pack_that_is_not_applied_is_no_measure(copied: Path) -> None:
    """A count of a process that did nothing would look good."""
    (copied / "patchkit" / "auto.py").write_text("")
    with pytest.raises(RuntimeError, match="the pack was not applied"):
        loading.count_loaded(copied)


def test_a_child_that_fails_says_why(copied: Path) -> None:
    """Its own words are in the error."""
    (copied / "patchkit" / "auto.py").write_text("import nowhere\n")
    with pytest.raises(RuntimeError, match="No module named 'nowhere'"):
        loading.count_loaded(copied)


def test_every_measure_has_a_key_of_its_own_and_figures_that_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `make mutants` noted is in the table, and unknown without it."""
    monkeypatch.setattr(loading, "count_loaded", lambda _: loading.Loaded(1, 2, 3))
    modules = [
        Module("patchkit", "__init__.py", ""),
        Module("patchkit.auto", "auto.py", ""),
    ]
    taken = measures.measure(tmp_path, modules)
    values = {measure.key: measure.value for measure in taken}
    assert len(values) == len(taken)
    assert values["flat-modules"] == 2
    assert values["loaded-locked"] == 3
    assert values["mutants"] is None
    (tmp_path / ".quality").mkdir()
    (tmp_path / ".quality" / "mutants.json").write_text('{"percent": 91.68}')
    again = measures.measure(tmp_path, modules)
    assert {measure.key: measure.value for measure in again}["mutants"] == 91.7
