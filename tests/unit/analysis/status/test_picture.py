from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from patchkit import Role
from patchkit.analysis.status.picture import draw
from patchkit.core.rows.processes import ProcessRow, ProcessTable

from .told import NOW, child, engine, journal, line, look, patch, role, running

if TYPE_CHECKING:
    from patchkit.analysis.status import Picture


def kinds(picture: Picture) -> list[tuple[str, int | None]]:
    """The findings: what, and whose."""
    return [
        (one.kind, one.process.pid if one.process else None) for one in picture.findings
    ]


def test_a_child_without_a_journal_was_not_reached() -> None:
    """It has the role and the name that its parent knows it by."""
    picture = draw(
        [look(journal(7, role("main"), child(8, "VllmWorker-3", "worker", 1)))]
    )
    _, missed = picture.processes
    assert (missed.pid, missed.ppid, missed.name) == (8, 7, "VllmWorker-3")
    assert (missed.roles, missed.rank, missed.is_reached) == (["worker"], 3, False)
    assert kinds(picture) == [("not-reached", 8)]


def test_a_child_that_has_just_been_started_has_time() -> None:
    """It is in the picture, and no finding before it had time to begin its journal."""
    told = journal(7, role("main"), child(8, at=1))
    there = {**running(7), **running(8)}
    soon = draw([look(told, processes=there, now=NOW + 2)])
    assert soon.processes[1].is_starting
    assert kinds(soon) == []
    assert soon.agreement == {"main": True}
    assert kinds(draw([look(told, processes=there, now=NOW + 60)])) == [
        ("not-reached", 8)
    ]
    assert kinds(draw([look(told, processes=running(7), now=NOW + 2)])) == [
        ("not-reached", 8)
    ]


@pytest.mark.parametrize(
    ("title", "roles"),
    [
        ("VLLM::EngineCore", ["engine-core"]),
        ("VLLM::Worker_TP0", ["worker"]),
        ("ray::RayWorkerProc.execute", ["worker"]),
        ("python serve.py", []),
    ],
)
def test_a_process_with_vllm_and_no_journal_is_found(
    title: str, roles: list[str]
) -> None:
    """It is named, under its parent if that is known."""
    there = {**running(7), **running(8, ppid=7, vllm=title)}
    picture = draw([look(journal(7, role("main")), processes=there)])
    _, stranger = picture.processes
    assert (stranger.pid, stranger.name, stranger.roles) == (8, title, roles)
    assert stranger.parent is picture.processes[0]
    assert stranger.reason == "has vLLM loaded, without a journal"
    assert ("not-reached", 8) in kinds(picture)


def test_a_process_that_another_package_knows_by_its_title() -> None:
    """The table of processes says which role it has."""
    table = ProcessTable([ProcessRow("title", "My::Stage", Role.WORKER)])
    (stranger,) = draw(
        [look(processes=running(8, vllm="My::Stage_2"))], table
    ).processes
    assert stranger.roles == ["worker"]


def test_a_child_with_vllm_that_no_row_knows() -> None:
    """It is a finding by the name of what it runs, unless it makes an engine, or joins one."""
    unknown = line("unknown", target="pkg.stage:run")
    joined = journal(
        8, unknown, line("digest", role="worker", digest="d"), at=1, ppid=7
    )
    picture = draw([look(journal(7, role("main")), joined)])
    assert kinds(picture) == []
    picture = draw([look(journal(7, role("main")), journal(8, unknown, at=1, ppid=7))])
    assert kinds(picture) == [("unknown", 8)]
    assert picture.findings[0].message.startswith("pkg.stage:run has vLLM loaded")


def test_a_patch_whose_code_has_no_process() -> None:
    """What runs in its place is no Python process: a finding of the process that started it."""
    told = line("left-without", name="one", reason="the frontend is no Python process")
    picture = draw([look(journal(7, role("main"), patch("one", "applied"), told))])
    assert kinds(picture) == [("no-process", 7)]
    assert picture.findings[0].message == "one: the frontend is no Python process"


def test_a_process_that_was_told_not_to() -> None:
    """The finding says why."""
    there = running(8, vllm="VLLM::Worker", PATCHKIT="0")
    (stranger,) = draw([look(processes=there)]).processes
    assert stranger.reason == "has vLLM loaded, PATCHKIT=0 in its environment"


def test_a_child_without_a_journal_is_found_once() -> None:
    """By its parent's journal and by its libraries."""
    there = {**running(7), **running(8, ppid=7, vllm="VLLM::Worker")}
    picture = draw([look(journal(7, child(8, at=1)), processes=there)])
    assert kinds(picture) == [("not-reached", 8)]


def test_strangers_of_strangers_are_a_tree() -> None:
    """Also where nothing is reached."""
    there = {
        **running(9, ppid=8, vllm="VLLM::Worker"),
        **running(8, vllm="VLLM::EngineCore"),
    }
    picture = draw([look(processes=there)])
    assert [(one.pid, one.ppid, bool(one.parent)) for one in picture.processes] == [
        (8, 1, False),
        (9, 8, True),
    ]


@pytest.mark.parametrize(
    ("processes", "alive"),
    [
        (None, None),
        ({}, False),
        (running(7), True),
        ({7: {**running(7)[7], "began": 1}}, False),
    ],
)
def test_who_runs(processes: dict[int, Any] | None, alive: bool | None) -> None:
    """A process with the number of another is not that one."""
    (one,) = draw([look(journal(7), processes=processes)]).processes
    assert one.alive is alive


def test_of_another_host_nothing_is_known() -> None:
    """A shared directory holds the journals of several."""
    (one,) = draw([look(journal(7, host="far"), processes=running(7))]).processes
    assert one.alive is None


def test_nodes_that_share_a_directory() -> None:
    """Each shows the same files; every process is there once."""
    shared = engine()
    picture = draw([look(*shared), look(*shared, host="far")])
    assert [one.pid for one in picture.processes] == [10, 20, 30, 31]


def test_a_failure_is_a_finding() -> None:
    """With its cause; a fork of the process that failed is no other."""
    failed = ("one", "failed", "ValueError: no")
    fork = journal(8, patch(*failed, inherited=True), at=1, ppid=7, forked=True)
    picture = draw([look(journal(7, role("main"), patch(*failed)), fork)])
    assert kinds(picture) == [("failed", 7)]
    assert picture.findings[0].message == "one: ValueError: no"


def test_ranks_are_in_order() -> None:
    """Whichever started first."""
    told = [child(30 + rank, f"VllmWorker-{rank}", "worker", 9) for rank in range(12)]
    core = journal(20, role("engine-core"), *told)
    workers = [
        journal(30 + rank, role("worker"), at=20 - rank, ppid=20) for rank in range(12)
    ]
    picture = draw([look(core, *workers)])
    assert [one.rank for one in picture.processes] == [None, *range(12)]


def test_what_could_not_be_seen_is_said() -> None:
    """A node that does not answer, journals of another user, a system without /proc."""
    gone = {"host": "far (10.0.0.2)", "error": "no answer within 30 s"}
    picture = draw([look(unreadable={"a.jsonl": "Permission denied"}), look(), gone])
    assert [one.message for one in picture.findings] == [
        "node node: a.jsonl: Permission denied",
        "node far (10.0.0.2): no answer within 30 s",
    ]
    assert "has no /proc" in picture.notes[0]
    assert len(picture.notes) == 1


def test_a_journal_at_its_limit_is_noted() -> None:
    """What came later is missing, and no finding."""
    picture = draw([look(journal(7, line("full")), processes={})])
    assert "reached their limit" in picture.notes[0]
    assert picture.findings == []


def test_an_overwritten_copy_is_a_finding() -> None:
    """Once: where the patch has failed for it, that says it all; a neighbour on top is none."""
    entries = [
        patch("one", "applied", module="m"),
        line("wrapped", name="one", target="m:f", by="them"),
        line("overwritten", name="one", target="a.f", by="others"),
    ]
    told = journal(7, role("main"), *entries)
    assert kinds(draw([look(told)])) == [("overwritten", 7)]
    failed = journal(7, role("main"), *entries, patch("one", "failed", "overwritten"))
    assert kinds(draw([look(failed)])) == [("failed", 7)]


def test_a_journal_of_another_format_is_a_finding() -> None:
    """What is known of it is told; one without a number is of the first."""
    other, first = journal(10, format=2), journal(11)
    (found,) = draw([look(other, first)]).findings
    assert found.kind == "unreadable"
    assert found.message.startswith("its journal has format 2, expected 1: ")
    assert found.process is not None
    assert found.process.pid == 10
