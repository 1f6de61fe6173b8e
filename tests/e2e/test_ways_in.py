"""The table of ways in: every cell that can be is run, and read from bodies and journals.

Each way in is the only one there is: VLLM_PLUGINS keeps the plugin out where it is not the way,
the environment has no bootstrap, PATCHKIT is not set. `make e2e` runs a sample, `make ways` every
cell. docs/ways-in.md shows what the runs are held to; `WRITE_DOCS=1` writes the page anew.

Takes about 6 min.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import ways
import ways_table
from cells import CONTROLS, RUNS, SAMPLE, SPECIAL_RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _pytest.mark.structures import ParameterSet
    from cells import Cell

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ways-in.md"


def chosen(cells: Iterable[Cell]) -> list[ParameterSet]:
    """The cells as parameters; those that are in no sample bear a mark."""
    every = pytest.mark.every_cell
    return [
        pytest.param(cell, id=cell.name, marks=[] if cell in SAMPLE else [every])
        for cell in cells
    ]


@pytest.fixture(scope="module")
def lab(
    python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ways.Lab]:
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


def test_the_docs_show_what_the_runs_are_held_to() -> None:
    """The page tells of every cell where its patches are, or why it cannot be."""
    made = ways_table.page(PAGE.read_text())
    if os.environ.get("WRITE_DOCS") == "1":
        PAGE.write_text(made)
    assert PAGE.read_text() == made
