"""Thirty-seven rows, a kind of target each, applied together to a real vLLM 0.32.0.

The pack is `rows`; `rows_engine.py` says how vLLM is run. Whatever a row does is read from outside:
from the lines that it left, from vLLM's output, and from what vLLM's objects are afterwards.

Takes about 115 s.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import effects
import pytest
from rows import PATCHES
from rows_runs import ABSENT, ACTS, CORE, MAIN, SHOWN, TURNS, WORKER, Run, run

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def separate(
    python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """An engine core and a worker of their own, and a compiled model."""
    return run("separate", python, model, tmp_path_factory.mktemp("separate"))


SINGLE = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}


@pytest.fixture(scope="module")
def single(python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Everything in one process: patched, undone, patched again, disarmed."""
    return run("single", python, model, tmp_path_factory.mktemp("single"), **SINGLE)


@pytest.fixture(scope="module")
def bare(python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same without the pack: what vLLM, and patchkit's own hooks, change themselves."""
    directory = tmp_path_factory.mktemp("bare")
    return run("single", python, model, directory, **SINGLE, PATCHKIT_PATCHES="")


def test_the_table_is_of_all_rows() -> None:
    """Each row is known, and there are the twenty-five that were asked for, and more."""
    assert {patch.name for patch in PATCHES} == ACTS.keys() | SHOWN
    assert len(PATCHES) == len(ACTS) + len(SHOWN) == 37


# -- separate processes ------------------------------------------------------------------------


def test_each_row_acts_where_its_role_is(separate: Run, baseline: list[int]) -> None:
    """In those processes and in no other; the tokens are those of plain vLLM."""
    assert separate.said["tokens"] == baseline
    acted: dict[str, set[str]] = {}
    for line in separate.lines:
        acted.setdefault(line.name, set()).add(line.process)
    assert acted == {name: where for name, (where, _) in ACTS.items()}
    pids = {line.process: line.pid for line in separate.lines}
    assert len(set(pids.values())) == 3
    assert pids[MAIN] == separate.said["process"]
    assert {line.pid for line in separate.lines} == set(pids.values())


def test_the_journals_say_the_same(separate: Run) -> None:
    """Each row is applied in each process in which it acted; nothing failed anywhere."""
    found = {one.pid: one for one in read_directory(separate.journal)}
    for line in separate.lines:
        assert found[line.pid].patches[line.name].status == "applied", line
    statuses = [
        patch.status for one in found.values() for patch in one.patches.values()
    ]
    assert "failed" not in statuses


def test_each_row_says_whether_it_was_called(separate: Run) -> None:
    """Called where it left a line, never called where it did not; compiled code too."""
    effects.assert_true(separate)


def test_what_vllm_shows(separate: Run) -> None:
    """A constant is read, a literal of a long function is edited."""
    assert separate.said["reason"] == "length-of-rows"
    assert {line.process: line.daemon for line in separate.lines} == {
        MAIN: False,
        CORE: False,
        WORKER: False,
    }


def test_a_new_field_travels(separate: Run) -> None:
    """The worker writes it, pickle carries it, the engine core reads it.

    vLLM's own outputs of empty steps have the default.
    """
    (worker,) = {line.pid for line in separate.lines if line.process == WORKER}
    written = Counter(line.detail for line in separate.only("output-field"))
    assert written.keys() - {"0"} == {str(worker)}
    assert written[str(worker)] >= len(separate.said["tokens"])


def test_the_forward_is_in_the_compiled_graph(separate: Run, single: Run) -> None:
    """torch.compile has traced the body's function; without it, it runs as it is."""
    assert {line.detail for line in separate.only("compiled-forward")} == {"True"}
    assert {line.detail for line in single.only("compiled-forward")} == {"False"}


def test_details(separate: Run) -> None:
    """What each had to say of itself."""
    told = {name: {line.detail for line in separate.only(name)} for name in ACTS}
    assert told["coroutine"] == {"RequestOutputCollector"}
    assert told["before-import"] == {"False"}
    assert told["after-import"] == {"True"}
    assert told["whole-class"] == {"True"}
    assert told["enum-member"] == {"WAITING_FOR_A_ROW"}
    assert told["lacking-module"] == {"rows.patch_row_counter"}


def test_after_decides_which_is_the_outer_one(separate: Run) -> None:
    """Two wrappers on one method: they take turns, the later row first."""
    pair = [line.name for line in separate.lines if line.name.startswith("the-")]
    assert pair == ["the-outer", "the-inner"] * (len(pair) // 2)
    assert pair


# -- one process: apply, undo, apply -----------------------------------------------------------


def test_everything_is_seen_undone_and_seen_again(
    single: Run, baseline: list[int]
) -> None:
    """The tokens are the same every time; when undone, nobody leaves a line."""
    names = {turn: {line.name for line in single.turn(turn)} for turn in TURNS}
    every_time = {name for name, (_, again) in ACTS.items() if again} - ABSENT
    assert names["patched"] == every_time
    assert names["undone"] == names["disarmed"] == set()
    assert names["again"] - {"after-import"} == every_time
    assert {
        line.name for line in single.lines if "--" not in line.name
    } == ACTS.keys() - ABSENT
    assert [single.said[turn]["tokens"] for turn in TURNS] == [baseline] * 4
    reasons = [single.said[turn]["reason"] for turn in TURNS]
    assert reasons == ["length-of-rows", "length", "length-of-rows", "length"]


def test_each_time_as_often(single: Run) -> None:
    """What is applied again is applied once; vLLM asks for this property more often at first."""
    first, second = (
        Counter(line.name for line in single.turn(turn) if line.name != "property")
        for turn in ("patched", "again")
    )
    assert second.pop("after-import") == 1
    assert first == second


def test_all_of_vllm_is_what_it_was(single: Run, bare: Run) -> None:
    """Each function, class, member, code object and entry of vLLM is the very same object."""
    assert single.said["objects"] == bare.said["objects"] > 100_000
    for turn in ("undone", "disarmed"):
        assert single.said[turn]["differences"] == bare.said[turn]["differences"]
    assert single.said["provided"] is False


def test_every_target_was_another_object(single: Run, bare: Run) -> None:
    """The oracle of the test before sees each target change."""
    changed = set(single.said["patched"]["differences"]) - set(
        bare.said["patched"]["differences"]
    )
    for patch in PATCHES:
        for change in patch.changes:
            if change.kind not in {"Provide", "BeforeImport", "AfterImport"}:
                target = str(change.place)
                assert any(name.startswith(target) for name in changed), (
                    f"{patch.name}: {target}"
                )


def test_copies_in_ten_importers_are_repointed(single: Run) -> None:
    """Vllm's modules that had the function by name have the body's; undone, none has."""
    numbers = {turn: len(single.said[turn]["copies"]) for turn in TURNS}
    assert numbers["patched"] >= 10
    assert numbers["again"] == numbers["patched"]
    assert numbers["undone"] == numbers["disarmed"] == 0
