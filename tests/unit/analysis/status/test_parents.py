from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.status.picture import draw

from .told import child, engine, journal, look, role

if TYPE_CHECKING:
    from .told import Journals


def tree(*journals: Journals) -> dict[int, int | None]:
    """The pid of each process, and that of its parent."""
    return {
        one.pid: one.parent and one.parent.pid
        for one in draw([look(*journals)]).processes
    }


def test_an_engine_is_a_tree() -> None:
    """Workers are under their engine core, which is under the main process."""
    assert tree(*engine()) == {10: None, 20: 10, 30: 20, 31: 20}


def test_ranks_are_in_their_names() -> None:
    """The engine core calls its workers `VllmWorker-0` and so on."""
    found = {one.pid: one.rank for one in draw([look(*engine())]).processes}
    assert found == {10: None, 20: None, 30: 0, 31: 1}


def test_a_rank_that_the_worker_tells_counts_more() -> None:
    """Ray's workers have no such name, and others may be given another rank."""
    from .told import line

    told = journal(8, role("worker"), line("rank", rank=5), at=1)
    (_, worker) = draw(
        [look(journal(7, child(8, "VllmWorker-1", "worker", 1)), told)]
    ).processes
    assert worker.rank == 5


def test_ray_workers_belong_to_who_asked_for_them() -> None:
    """Their own parent is a raylet; the engine core may be on another node."""
    ray = journal(7, role("worker"), host="far", at=5, ppid=99, asked_by="node:20")
    assert tree(*engine(0), ray) == {10: None, 20: 10, 7: 20}


@pytest.mark.parametrize(
    "asked_by", ["", "node:", "node", "node:x", "node:" + "9" * 5000, "node:77"]
)
def test_nobody_known_has_asked(asked_by: str) -> None:
    """A name that says nothing leaves a process without a parent."""
    assert tree(journal(7, asked_by=asked_by)) == {7: None}


def test_a_forkserver_stands_between() -> None:
    """The child's parent is the server; who asked for the child tells so."""
    assert tree(journal(7, child(9, at=1)), journal(9, at=1, ppid=8)) == {7: None, 9: 7}


def test_the_parent_was_there_before() -> None:
    """A later process with the number of the parent is not the parent."""
    assert tree(journal(9, at=1, ppid=7), journal(7, at=2)) == {9: None, 7: None}


def test_a_pid_comes_again() -> None:
    """Two processes with one number are two, and children go to the one that was there."""
    first, again = journal(7, began=1), journal(7, at=100, began=2)
    found = draw(
        [look(first, journal(8, at=1, ppid=7), again, journal(9, at=101, ppid=7))]
    )
    assert [one.pid for one in found.processes] == [7, 8, 7, 9]
    by_pid = {one.pid: one for one in found.processes}
    assert by_pid[8].parent is found.processes[0]
    assert by_pid[9].parent is found.processes[2]


def test_a_process_that_became_another_program_is_one() -> None:
    """It keeps its number and the moment at which it began; the later journal counts."""
    script, program = journal(7, role("main")), journal(7, at=1, argv=["program"])
    (one,) = draw([look(script, program)]).processes
    assert one.argv == ["program"]


def test_of_two_children_with_one_pid_one_may_be_missing() -> None:
    """The nearer in time is the one with the journal."""
    parent = journal(7, child(8, "first", at=1), child(8, "second", at=50))
    found = draw([look(parent, journal(8, at=50))])
    assert [(one.name, one.is_reached) for one in found.processes] == [
        ("", True),
        ("first", False),
        ("second", True),
    ]


def test_nobody_is_his_own_ancestor() -> None:
    """Whatever the journals say, the tree has no circle."""
    one = journal(7, child(8), child(7), ppid=8)
    assert None in tree(one, journal(8, child(7), ppid=7)).values()


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/patchkit", "status"],
        ["/site-packages/patchkit/__main__.py", "list"],
        ["-m", "patchkit", "status"],
    ],
)
def test_patchkits_own_commands_are_left_out(argv: list[str]) -> None:
    """Where the bootstrap is, looking at the journals writes one."""
    assert tree(journal(7, argv=argv)) == {}
    assert tree(journal(7, argv=["patchkit.py"])) == {7: None}
