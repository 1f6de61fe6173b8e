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
    """The findings: the kind of each, and the pid of its process."""
    return [
        (finding.kind, finding.process.pid if finding.process else None)
        for finding in picture.findings
    ]


def test_a_child_without_a_journal_was_not_reached() -> None:
    """A child without a journal is a finding; its parent's journal says its role and name."""
    picture = draw(
        [look(journal(7, role("main"), child(8, "VllmWorker-3", "worker", 1)))]
    )
    _, missed = picture.processes
    assert (missed.pid, missed.ppid, missed.name) == (8, 7, "VllmWorker-3")
    assert (missed.roles, missed.rank, missed.is_reached) == (["worker"], 3, False)
    assert kinds(picture) == [("not-reached", 8)]


def test_a_child_that_has_just_been_started_has_time() -> None:
    """A new child without a journal is in the picture, and a finding once it is old or gone."""
    parent = journal(7, role("main"), child(8, at=1))
    both = {**running(7), **running(8)}
    soon = draw([look(parent, processes=both, now=NOW + 2)])
    assert soon.processes[1].is_starting
    assert kinds(soon) == []
    assert soon.agreement == {"main": True}
    later = draw([look(parent, processes=both, now=NOW + 60)])
    assert kinds(later) == [("not-reached", 8)]
    child_has_ended = draw([look(parent, processes=running(7), now=NOW + 2)])
    assert kinds(child_has_ended) == [("not-reached", 8)]


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
    """A process with vLLM and no journal has its title and role, and its parent if known."""
    processes = {**running(7), **running(8, ppid=7, vllm=title)}
    picture = draw([look(journal(7, role("main")), processes=processes)])
    _, stranger = picture.processes
    assert (stranger.pid, stranger.name, stranger.roles) == (8, title, roles)
    assert stranger.parent is picture.processes[0]
    assert stranger.reason == "has vLLM loaded, without a journal"
    assert ("not-reached", 8) in kinds(picture)


def test_a_process_that_another_package_knows_by_its_title() -> None:
    """A row of the table of processes says which role a process has, by its title."""
    table = ProcessTable([ProcessRow("title", "My::Stage", Role.WORKER)])
    (stranger,) = draw(
        [look(processes=running(8, vllm="My::Stage_2"))], table
    ).processes
    assert stranger.roles == ["worker"]


def test_a_child_with_vllm_that_no_row_knows() -> None:
    """A child with vLLM that no row knows is a finding by its target, unless it has a digest."""
    unknown = line("unknown", target="pkg.stage:run", engine="vLLM")
    joined = journal(
        8, unknown, line("digest", role="worker", digest="d"), at=1, ppid=7
    )
    picture = draw([look(journal(7, role("main")), joined)])
    assert kinds(picture) == []
    picture = draw([look(journal(7, role("main")), journal(8, unknown, at=1, ppid=7))])
    assert kinds(picture) == [("unknown", 8)]
    assert picture.findings[0].message.startswith(
        "unrecognized process: pkg.stage:run has vLLM loaded"
    )


def test_a_patch_whose_code_has_no_process() -> None:
    """What runs in its place is no Python process: a finding of the process that started it."""
    left_without = line(
        "left-without", name="one", reason="the frontend is no Python process"
    )
    picture = draw(
        [look(journal(7, role("main"), patch("one", "applied"), left_without))]
    )
    assert kinds(picture) == [("no-process", 7)]
    assert picture.findings[0].message == "one: the frontend is no Python process"


def test_a_process_with_patchkit_switched_off() -> None:
    """The reason why a process is not reached names `PATCHKIT=0` in its environment."""
    processes = running(8, vllm="VLLM::Worker", PATCHKIT="0")
    (stranger,) = draw([look(processes=processes)]).processes
    assert stranger.reason == "has vLLM loaded, PATCHKIT=0 in its environment"


def test_a_child_without_a_journal_is_found_once() -> None:
    """A child that its parent's journal and its libraries give away is one finding."""
    processes = {**running(7), **running(8, ppid=7, vllm="VLLM::Worker")}
    picture = draw([look(journal(7, child(8, at=1)), processes=processes)])
    assert kinds(picture) == [("not-reached", 8)]


def test_strangers_of_strangers_are_a_tree() -> None:
    """Processes with vLLM and no journal are under each other, also where none is reached."""
    processes = {
        **running(9, ppid=8, vllm="VLLM::Worker"),
        **running(8, vllm="VLLM::EngineCore"),
    }
    picture = draw([look(processes=processes)])
    assert [
        (shown.pid, shown.ppid, bool(shown.parent)) for shown in picture.processes
    ] == [
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
def test_whether_a_process_is_alive(
    processes: dict[int, Any] | None, alive: bool | None
) -> None:
    """A process is alive if one with its pid and beginning runs; without a look it is unknown."""
    (process,) = draw([look(journal(7), processes=processes)]).processes
    assert process.alive is alive


def test_whether_a_process_of_another_host_is_alive_is_unknown() -> None:
    """A process with this pid on this node does not make one of another host alive."""
    (process,) = draw([look(journal(7, host="far"), processes=running(7))]).processes
    assert process.alive is None


@pytest.mark.parametrize(
    ("space", "seen_from", "alive"),
    [("b:1", "b:1", True), ("b:1", "b:2", None), ("", "b:2", True), ("b:1", "", True)],
)
def test_whether_a_process_of_a_container_beside_this_one_is_alive_is_unknown(
    space: str, seen_from: str, alive: bool | None
) -> None:
    """Containers of a pod have one host name, and each sees its own processes."""
    looked = look(journal(7, space=space), processes=running(7), space=seen_from)
    (process,) = draw([looked]).processes
    assert process.alive is alive


def test_nodes_that_share_a_directory() -> None:
    """Processes whose journals two nodes show are in the picture once."""
    shared = engine()
    picture = draw([look(*shared), look(*shared, host="far")])
    assert [process.pid for process in picture.processes] == [10, 20, 30, 31]


def test_a_failure_is_a_finding() -> None:
    """A failed patch is one finding with its cause, though a fork has inherited it."""
    failed = ("one", "failed", "ValueError: no")
    fork = journal(8, patch(*failed, inherited=True), at=1, ppid=7, forked=True)
    picture = draw([look(journal(7, role("main"), patch(*failed)), fork)])
    assert kinds(picture) == [("failed", 7)]
    assert picture.findings[0].message == "one: ValueError: no"


def test_ranks_are_in_order() -> None:
    """Workers are in the order of their ranks, whichever started first."""
    children = [
        child(30 + rank, f"VllmWorker-{rank}", "worker", 9) for rank in range(12)
    ]
    core = journal(20, role("engine-core"), *children)
    workers = [
        journal(30 + rank, role("worker"), at=20 - rank, ppid=20) for rank in range(12)
    ]
    picture = draw([look(core, *workers)])
    assert [process.rank for process in picture.processes] == [None, *range(12)]


def test_what_could_not_be_seen_is_said() -> None:
    """A node without an answer and an unreadable journal are findings; no /proc is a note."""
    silent = {"host": "far (10.0.0.2)", "error": "no answer within 30 s"}
    picture = draw([look(unreadable={"a.jsonl": "Permission denied"}), look(), silent])
    assert [finding.message for finding in picture.findings] == [
        "node node: a.jsonl: Permission denied",
        "node far (10.0.0.2): no answer within 30 s",
    ]
    assert "has no /proc" in picture.notes[0]
    assert len(picture.notes) == 1


def test_a_journal_at_its_limit_is_noted() -> None:
    """A journal that has reached its limit is a note, and no finding."""
    picture = draw([look(journal(7, line("full")), processes={})])
    assert "reached their limit" in picture.notes[0]
    assert picture.findings == []


def test_a_journal_that_lacks_its_first_entry_is_a_finding() -> None:
    """A process of which nobody knows its patches is not shown as if all were well."""
    rest = journal(7, role("main"))
    name, data = next(iter(rest.items()))
    rest = {name: data[data.index(b"\n") + 1 :]}
    picture = draw([look(rest, processes={})])
    assert kinds(picture) == [("unreadable", 7)]


def test_code_that_is_kept_of_a_patch_for_another_role_is_a_finding() -> None:
    """It names the holders; once the patch is applied there, it is none."""
    entries = (
        patch("one", "armed"),
        line("kept", name="one", holders=["up.b:TABLE['f']"]),
    )
    forked = journal(7, role("engine-core"), *entries)
    (finding,) = draw([look(forked)]).findings
    assert (finding.kind, "up.b:TABLE['f']" in finding.message) == ("kept", True)
    applied = journal(7, role("engine-core"), *entries, patch("one", "applied"))
    assert kinds(draw([look(applied)])) == []


def test_what_a_call_has_set_unlike_its_row_is_a_finding() -> None:
    """What it left and what nobody named are a finding each, until a later call is right."""
    applied = patch("one", "applied", module="m", layers={"m:f": ["one"]})
    entry = {"name": "one", "call": "register"}
    wrong = line("sets", left=["m:f"], unnamed=["m:g"], **entry)
    right = line("sets", left=[], unnamed=[], **entry)
    told = draw([look(journal(7, role("main"), wrong, applied))])
    assert [(each.kind, each.message) for each in told.findings] == [
        ("sets", "one: register() has left m:f as it was, and sets names it"),
        ("sets", "one: register() has changed m:g, and sets does not name it"),
    ]
    for later in (right, patch("one", "armed"), patch("one", "failed", "no")):
        told = draw([look(journal(7, role("main"), wrong, applied, later))])
        assert "sets" not in dict(kinds(told))


def test_an_overwritten_copy_is_a_finding() -> None:
    """An overwritten copy is one finding, or one failure if the patch failed; a wrapper is none."""
    entries = [
        patch("one", "applied", module="m"),
        line("wrapped", name="one", target="m:f", by="them"),
        line("overwritten", name="one", target="a.f", by="others"),
    ]
    applied = journal(7, role("main"), *entries)
    assert kinds(draw([look(applied)])) == [("overwritten", 7)]
    failed_for_it = journal(
        7, role("main"), *entries, patch("one", "failed", "overwritten")
    )
    assert kinds(draw([look(failed_for_it)])) == [("failed", 7)]


def test_a_wrapper_that_nobody_can_read_is_a_finding() -> None:
    """Where nobody can tell whether a wrapper calls the patch, that is a finding."""
    entries = [
        patch("one", "applied", module="m"),
        line("wrapped", name="one", target="m:f", by="them", unsure=True),
    ]
    (finding,) = draw([look(journal(7, role("main"), *entries))]).findings
    assert finding.kind == "unsure"
    words = "one: m:f by them: cannot tell whether that calls the patch"
    assert finding.message == words


def test_a_journal_of_another_format_is_a_finding() -> None:
    """A journal with another format is a finding; one without a number has the first format."""
    other, first = journal(10, format=2), journal(11)
    (finding,) = draw([look(other, first)]).findings
    assert finding.kind == "unreadable"
    assert finding.message.startswith("its journal has format 2, expected 1: ")
    assert finding.process is not None
    assert finding.process.pid == 10


def test_only_what_runs_here_counts_for_a_probe() -> None:
    """What has ended, or may run elsewhere, is left out, and so are its findings."""
    failed = journal(7, role("main"), patch("one", "failed"), child(8, at=1))
    well = journal(9, role("main"), patch("one", "applied"), child(12, at=1), at=2)
    elsewhere = journal(9, patch("one", "failed"), host="other")
    nodes = [look(failed, well, elsewhere, processes=running(9))]
    assert {kind for kind, _ in kinds(draw(nodes))} >= {"failed", "not-reached"}
    picture = draw(nodes, running_only=True)
    assert [process.pid for process in picture.processes] == [9]
    assert kinds(picture) == []
    assert picture.agreement == {"main": True}
    nobody = draw([look(failed, processes={})], running_only=True)
    assert kinds(nobody) == [("empty", None)]
