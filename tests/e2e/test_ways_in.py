"""
The table of ways in: every cell that differs is run, and read from bodies and journals.

Each way in is the only one there is: VLLM_PLUGINS keeps the plugin out where it is not the way,
the environment has no bootstrap, PATCHKIT is not set. `make e2e` runs a sample and compares it with
docs/ways-in.md; `make ways` runs every cell, and with `WRITE_DOCS=1` writes the page anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import ways
import ways_table
from cells import (
    CONTROLS,
    RUNS,
    SAMPLE,
    SPECIAL_RUNS,
    all_cells,
    shows_arming,
    shows_carrying,
    why_not,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _pytest.mark.structures import ParameterSet
    from cells import Cell

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ways-in.md"


def chosen(cells: Iterable[Cell]) -> list[ParameterSet]:
    """The cells as parameters; those that are in no sample bear a mark."""
    every = pytest.mark.every_cell
    return [
        pytest.param(cell, id=cell.name, marks=[] if cell in SAMPLE else [every]) for cell in cells
    ]


@pytest.fixture(scope="module")
def lab(python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ways.Lab]:
    """Where cells are run, each once."""
    lab = ways.Lab(python, model, tmp_path_factory.mktemp("ways"))
    yield lab
    lab.close()


@pytest.mark.parametrize("cell", chosen(CONTROLS))
def test_without_a_way_in_nothing_is_patched(
    cell: Cell, lab: ways.Lab, baseline: list[int]
) -> None:
    """What the cells have in common reaches no process."""
    found = lab.find(cell)
    assert found.answers == [baseline]
    assert found.journals == []
    assert found.sights == {}


@pytest.mark.parametrize("cell", chosen([*RUNS, *SPECIAL_RUNS]))
def test_each_role_has_its_patch_and_nobody_else(
    cell: Cell, lab: ways.Lab, baseline: list[int]
) -> None:
    """One way in is enough for every process, and each holds the patches of its roles alone."""
    found = lab.find(cell)
    assert all(answer == baseline for answer in found.answers)
    assert found.shape() == ways.expected_shape(cell)
    assert_whereabouts(found)
    assert_journals(found)
    assert bool(found.sights.get("helper")) >= cell.helper


def assert_whereabouts(found: ways.Finding) -> None:
    """The bodies ran where vLLM says that its processes are."""
    if found.main is not None:
        assert {sight.pid for sight in found.processes("main")} == {found.main}
        assert {sight.pid for sight in found.processes("worker")} == set(found.workers)
    for sight in found.processes("engine-core"):
        started_by_vllm = sight.started in {"fork", "spawn"}
        assert sight.name.startswith("EngineCore") == started_by_vllm


def assert_journals(found: ways.Finding) -> None:
    """The journals tell the same, of these processes and of no other."""
    for role, patch in ways.PATCH_OF.items():
        ran = {sight.pid for sight in found.processes(role)}
        assert found.applied(patch) >= ran
        assert found.applied(patch) <= found.holding(role)
        if role != "main":
            assert found.holding(role) == ran
        assert found.holding(role) >= ran


def test_what_is_not_run_follows_from_two_runs() -> None:
    """Every cell that can be has a run with its way and launch, and one with its processes."""
    possible = [cell for cell in all_cells() if why_not(cell) is None]
    assert [cell for cell in possible if not (shows_arming(cell) and shows_carrying(cell))] == []
    assert [run for run in RUNS if why_not(run)] == []


def test_the_docs_show_the_table() -> None:
    """The page tells of every cell whether it is run, follows, or cannot be."""
    page = PAGE.read_text()
    assert "\n".join(ways_table.table()) in page
    assert "\n".join(ways_table.reasons()) in page


@pytest.mark.parametrize("cell", sorted(SAMPLE), ids=lambda cell: cell.name)
def test_the_docs_show_what_the_sample_found(cell: Cell, lab: ways.Lab) -> None:
    """The page's line of a run is the one that this run makes."""
    declared = next(one for one in [*CONTROLS, *RUNS, *SPECIAL_RUNS] if one == cell)
    assert ways_table.run(declared, lab) in PAGE.read_text().splitlines()


@pytest.mark.every_cell
def test_the_docs_show_what_was_found(lab: ways.Lab) -> None:
    """The page's tables are those that these runs make."""
    made = ways_table.page(PAGE.read_text(), lab)
    if os.environ.get("WRITE_DOCS") == "1":
        PAGE.write_text(made)
    assert PAGE.read_text() == made
