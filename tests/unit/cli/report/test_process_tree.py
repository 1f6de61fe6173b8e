"""The tree of processes that `status` prints."""

from __future__ import annotations

from patchkit.analysis.status.picture import Picture
from patchkit.analysis.status.process_status import PatchStatus, ProcessStatus
from patchkit.cli.report.process_tree import process_tree


def test_when_a_child_began_counts_from_its_root() -> None:
    """A child's start is shown as seconds after its root's; where it is not known, as nothing."""
    root = ProcessStatus("node", 10, started=1_800_000_000.0, roles=["main"])
    late = ProcessStatus(
        "node", 11, started=1_800_000_002.5, roles=["engine-core"], parent=root
    )
    unknown = ProcessStatus("node", 12, is_reached=False, parent=root)
    started = process_tree(Picture([root, late, unknown])).columns[2]
    assert started.header == "started"
    assert [str(cell) for cell in started.cells][1:] == ["+2.5 s", ""]


def _engine(number: int, status: str = "applied") -> list[ProcessStatus]:
    """A main process on a node of its own, with an engine core and two workers."""
    host = f"node-{number}"
    main = ProcessStatus(host, 10, started=1.8e9 + number, roles=["main"])
    core = ProcessStatus(host, 20 + number, roles=["engine-core"], parent=main)
    patch = PatchStatus("one", status=status)
    workers = [
        ProcessStatus(
            host,
            30 + rank,
            roles=["worker"],
            parent=core,
            patches={"one": patch},
        )
        for rank in range(2)
    ]
    return [main, core, *workers]


def _cells(processes: list[ProcessStatus], column: int) -> list[str]:
    """The cells of a column of the table."""
    return [
        str(cell) for cell in process_tree(Picture(processes)).columns[column].cells
    ]


def test_alike_trees_of_many_nodes_are_one_with_their_number() -> None:
    """Of eight nodes that differ in names, pids and times alone, the first stands for all."""
    processes = [process for number in range(8) for process in _engine(number)]
    assert _cells(processes, 0) == [
        "main ×8",  # noqa: RUF001
        "└─ engine-core",
        "   ├─ worker",
        "   └─ worker",
    ]
    assert _cells(processes, 1) == ["node-0 …"] * 4
    assert _cells(processes, 2) == ["10 …", "20 …", "30 …", "31 …"]


def test_a_node_that_differs_has_its_own_tree() -> None:
    """One failed patch in one worker is seen among many nodes."""
    processes = [process for number in range(8) for process in _engine(number)]
    processes[3 * 4 : 4 * 4] = _engine(3, "failed")
    assert _cells(processes, 1) == ["node-0 …"] * 4 + ["node-3"] * 4
    assert _cells(processes, 0)[0] == "main ×7"  # noqa: RUF001
    assert _cells(processes, 5)[-1] == "1 failed"


def test_few_nodes_have_a_tree_each() -> None:
    """Four nodes that are alike are shown as they are, with their pids."""
    processes = [process for number in range(4) for process in _engine(number)]
    assert _cells(processes, 1) == [
        f"node-{number}" for number in range(4) for _ in "1234"
    ]
    assert "20 …" not in _cells(processes, 2)


def test_many_trees_of_one_node_are_not_alike() -> None:
    """Runs on one node are told apart by their pids."""
    roots = [ProcessStatus("node", pid, roles=["main"]) for pid in range(10, 18)]
    other = ProcessStatus("other", 10, roles=["worker"])
    assert _cells([*roots, other], 0) == ["main"] * 8 + ["worker"]
