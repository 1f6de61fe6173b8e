from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.analysis.status.picture import draw

from .told import child, engine, journal, line, look, patch, role

if TYPE_CHECKING:
    from patchkit.analysis.status import Picture

    from .told import Journals


def drawn(*journals: Journals) -> Picture:
    """The picture of one node that has these journals."""
    return draw([look(*journals)])


def worker(pid: int, *entries: bytes) -> Journals:
    """A worker of the engine."""
    return journal(pid, role("worker"), *entries, at=5, ppid=20)


def digest(text: str) -> bytes:
    """The entry of a worker that says the digest of its patches."""
    return line("digest", role="worker", digest=text)


def disagreements(picture: Picture) -> list[str]:
    """The messages of the findings that are disagreements."""
    return [
        finding.message
        for finding in picture.findings
        if finding.kind == "disagreement"
    ]


def test_an_engine_agrees() -> None:
    """Each role of an engine whose processes are alike agrees; the roles are in order."""
    picture = drawn(*engine())
    assert list(picture.agreement.items()) == [
        ("main", True),
        ("engine-core", True),
        ("worker", True),
    ]
    assert picture.findings == []


def test_different_digests() -> None:
    """The finding names both digests, and which process has which."""
    picture = drawn(*engine(0), worker(40, digest("abc")), worker(41, digest("def")))
    assert picture.agreement["worker"] is False
    assert disagreements(picture) == [
        "worker: different digests: abc in pid 40 on node; def in pid 41 on node"
    ]


def test_applied_in_one_and_skipped_in_the_other() -> None:
    """Workers disagree if one has applied a patch that another has skipped."""
    skipped = patch("one", "skipped", "no")
    picture = drawn(
        *engine(0), worker(40, patch("one", "applied")), worker(41, skipped)
    )
    assert picture.agreement["worker"] is False
    message = disagreements(picture)[0]
    assert "one is applied in pid 40 on node, not in pid 41 on node" in message


def test_a_worker_whose_patch_waits_does_not_disagree() -> None:
    """A patch that one worker has applied and for which another still waits is no disagreement."""
    picture = drawn(*engine(0), worker(40, patch("one", "applied")), worker(41))
    assert picture.agreement["worker"] is True


def test_a_patch_of_another_role_does_not_count() -> None:
    """Workers agree though a patch of another role stands differently in them."""
    roles = {"one": ["main"]}
    workers = [
        journal(
            40, role("worker"), patch("one", "applied"), at=5, ppid=20, roles=roles
        ),
        journal(
            41, role("worker"), patch("one", "skipped"), at=5, ppid=20, roles=roles
        ),
    ]
    assert drawn(*engine(0), *workers).agreement["worker"] is True


def test_a_disagreement_that_a_worker_wrote() -> None:
    """A disagreement that a worker wrote is the only one shown for its role, with its reason."""
    written = line(
        "disagreement", role="worker", reason="other patches than the engine"
    )
    picture = drawn(*engine(0), worker(40), worker(41, written, digest("def")))
    assert picture.agreement["worker"] is False
    assert disagreements(picture) == ["worker: other patches than the engine"]


def test_a_rank_that_is_not_reached_does_not_agree() -> None:
    """Workers disagree if one is not reached; the message has its rank and pid."""
    picture = drawn(
        *engine(0),
        worker(40),
        journal(
            50, role("main"), child(41, "VllmWorker-1", "worker", 5), at=4, ppid=20
        ),
    )
    assert picture.agreement["worker"] is False
    assert "rank 1, pid 41 on node is not reached" in disagreements(picture)[0]


def test_runs_are_not_compared() -> None:
    """Workers of two engines whose journals lie in one directory are not compared."""
    old = [
        journal(10, role("main")),
        journal(40, role("worker"), digest("abc"), ppid=10, at=1),
    ]
    new = [
        journal(11, role("main"), at=50),
        journal(41, role("worker"), digest("def"), ppid=11, at=51),
    ]
    assert drawn(*old, *new).agreement["worker"] is True


def test_workers_without_a_parent_belong_to_the_latest_main() -> None:
    """Workers of another node that nobody has asked for are compared as the latest main's."""
    far = [
        journal(pid, role("worker"), digest(text), host="far", at=60)
        for pid, text in ((40, "abc"), (41, "def"))
    ]
    assert drawn(journal(10, role("main")), *far).agreement["worker"] is False


def test_a_fork_in_which_nothing_happened_does_not_count() -> None:
    """A fork that has written nothing itself is not compared with other workers."""
    fork = journal(
        42,
        role("worker", inherited=True),
        patch("one", "skipped", inherited=True),
        at=6,
        ppid=40,
        forked=True,
    )
    picture = drawn(*engine(0), worker(40, patch("one", "applied")), fork)
    assert picture.agreement["worker"] is True
