from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.status.picture import draw

from .told import child, engine, journal, line, look, role

if TYPE_CHECKING:
    from .told import Journals


def tree(*journals: Journals) -> dict[int, int | None]:
    """The pid of each process, and that of its parent."""
    return {
        process.pid: process.parent and process.parent.pid
        for process in draw([look(*journals)]).processes
    }


def test_an_engine_is_a_tree() -> None:
    """Workers are under their engine core, which is under the main process."""
    assert tree(*engine()) == {10: None, 20: 10, 30: 20, 31: 20}


def test_ranks_are_in_their_names() -> None:
    """The engine core calls its workers `VllmWorker-0` and so on."""
    ranks = {process.pid: process.rank for process in draw([look(*engine())]).processes}
    assert ranks == {10: None, 20: None, 30: 0, 31: 1}


def test_a_rank_that_the_worker_tells_counts_more() -> None:
    """The rank that a worker has written counts more than that in its name."""
    parent = journal(7, child(8, "VllmWorker-1", "worker", 1))
    written = journal(8, role("worker"), line("rank", rank=5), at=1)
    _, worker = draw([look(parent, written)]).processes
    assert worker.rank == 5


def test_ray_workers_belong_to_who_asked_for_them() -> None:
    """A Ray worker is under the engine core that asked for it, also from another node."""
    ray = journal(7, role("worker"), host="far", at=5, ppid=99, asked_by="node:20")
    assert tree(*engine(0), ray) == {10: None, 20: 10, 7: 20}


def test_who_asked_may_have_a_clock_that_is_ahead() -> None:
    """A Ray worker is under who asked for it, though by its own clock it began before that."""
    ray = journal(7, role("worker"), host="far", at=-50, ppid=99, asked_by="node:20")
    assert tree(*engine(0), ray) == {10: None, 20: 10, 7: 20}


def test_containers_with_equal_host_names_and_pids() -> None:
    """Each process is under that of its own container, also after a restart."""
    pods: list[Journals] = []
    for number, start in enumerate((0, 0.5, 60)):
        pods.append(
            journal(
                1, child(5, "EngineCore", at=start + 1), at=start, space=f"b:{number}"
            )
        )
        pods.append(journal(5, at=start + 1, ppid=1, space=f"b:{number}"))
    picture = draw([look(*pods)])
    assert [process.pid for process in picture.processes] == [1, 5] * 3
    for process in picture.processes:
        if process.pid == 5:
            assert process.parent is not None
            assert process.parent.space == process.space
    assert not picture.findings


@pytest.mark.parametrize(
    "asked_by", ["", "node:", "node", "node:x", "node:" + "9" * 5000, "node:77"]
)
def test_a_process_that_nobody_known_has_asked_for(asked_by: str) -> None:
    """An `asked_by` that names no known process leaves a process without a parent."""
    assert tree(journal(7, asked_by=asked_by)) == {7: None}


def test_a_forkserver_stands_between() -> None:
    """A child of a forkserver is under the process that asked for it, not under the server."""
    assert tree(journal(7, child(9, at=1)), journal(9, at=1, ppid=8)) == {7: None, 9: 7}


def test_the_parent_was_there_before() -> None:
    """A later process with the number of the parent is not the parent."""
    assert tree(journal(9, at=1, ppid=7), journal(7, at=2)) == {9: None, 7: None}


def test_a_pid_comes_again() -> None:
    """Two processes with one pid are two, and children go to the one that was there."""
    first = journal(7, began=1)
    child_of_first = journal(8, at=1, ppid=7)
    second = journal(7, at=100, began=2)
    child_of_second = journal(9, at=101, ppid=7)
    picture = draw([look(first, child_of_first, second, child_of_second)])
    assert [process.pid for process in picture.processes] == [7, 8, 7, 9]
    by_pid = {process.pid: process for process in picture.processes}
    assert by_pid[8].parent is picture.processes[0]
    assert by_pid[9].parent is picture.processes[2]


def test_a_process_that_became_another_program_is_one() -> None:
    """Two journals with the same pid and beginning are one process, as the later says."""
    script = journal(7, role("main"))
    program = journal(7, at=1, argv=["program"])
    (process,) = draw([look(script, program)]).processes
    assert process.argv == ["program"]


def test_of_two_children_with_one_pid_one_may_be_missing() -> None:
    """Of two children with one pid, the nearer in time has the journal; the other has none."""
    parent = journal(7, child(8, "first", at=1), child(8, "second", at=50))
    picture = draw([look(parent, journal(8, at=50))])
    assert [(process.name, process.is_reached) for process in picture.processes] == [
        ("", True),
        ("first", False),
        ("second", True),
    ]


def test_nobody_is_his_own_ancestor() -> None:
    """Whatever journals say of parents and children, the tree has no circle."""
    first = journal(7, child(8), child(7), ppid=8)
    assert None in tree(first, journal(8, child(7), ppid=7)).values()


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/patchkit", "status"],
        ["/site-packages/patchkit/__main__.py", "list"],
        ["-m", "patchkit", "status"],
    ],
)
def test_patchkits_own_commands_are_left_out(argv: list[str]) -> None:
    """The journal of a patchkit command is no process; that of a script patchkit.py is one."""
    assert tree(journal(7, argv=argv)) == {}
    assert tree(journal(7, argv=["patchkit.py"])) == {7: None}
