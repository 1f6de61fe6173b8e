"""Patches that are for one role, and whose targets are used in processes of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from analysis.status.told import child, journal, line, look, patch, role, running
from patchkit.analysis.status.picture import draw

if TYPE_CHECKING:
    from patchkit.analysis.status.picture import Picture

ROLES = {"one": ["main"], "two": ["main"]}
APPLIED = patch("one", "applied", module="vllm.a", layers={"vllm.a:f": ["one"]})
NEVER = line("in-effect", patches={"one": {"vllm.a:f": "never called"}})
CALLED = line("in-effect", patches={"one": {"vllm.a:f": "called"}})
SILENT = line(
    "in-effect",
    patches={"one": {"vllm.a:f": "not observable"}},
    silent={"one": ["vllm.a:f"]},
)
UNSEEN = line("in-effect", patches={"one": {"vllm.a:f": "not observable"}})
NOTHING = line("imported", modules=[], patches={})
IMPORTED = line("imported", modules=["vllm.a"], patches={"one": ["vllm.a"]})
IMPORTED_BY_PATCH = line("imported", modules=["vllm.a"], patches={})
RAN = line("unpatched", patches={"one": ["vllm.a:f"]})


def drawn(main: list[bytes], worker: list[bytes], **facts: Any) -> Picture:
    """What a main process and a worker of its tell."""
    started = child(30, "VllmWorker-0", "worker", 3)
    facts = {"processes": {}, **facts}
    return draw(
        [
            look(
                journal(10, role("main"), started, *main, roles=ROLES),
                journal(30, role("worker"), *worker, at=3, roles=ROLES, ppid=10),
                **facts,
            )
        ]
    )


def messages(picture: Picture) -> list[str]:
    """What is said of patches for the wrong role."""
    return [
        finding.message for finding in picture.findings if finding.kind == "misplaced"
    ]


def test_a_target_that_is_imported_elsewhere_only() -> None:
    """The message names the patch, its role, the module, and where that was imported."""
    (message,) = messages(drawn([NOTHING], [IMPORTED]))
    for words in ("one is for main", "vllm.a", "worker", "pid 30"):
        assert words in message


def test_a_target_that_is_called_elsewhere_only() -> None:
    """Applied and never called, while the target runs in the worker without the patch."""
    (message,) = messages(drawn([APPLIED, IMPORTED_BY_PATCH, NEVER], [IMPORTED, RAN]))
    for words in ("one is for main", "no call of it was seen", "vllm.a:f", "pid 30"):
        assert words in message
    assert messages(drawn([APPLIED, IMPORTED_BY_PATCH, SILENT], [IMPORTED, RAN]))


def test_an_item_that_is_used_elsewhere() -> None:
    """Nobody sees whether an item is looked up: the use of its module elsewhere is enough."""
    item = "vllm.a:TABLE['x']"
    layers = {item: ["one"]}
    entries = [
        patch("one", "applied", module="vllm.a", layers=layers),
        line("in-effect", patches={"one": {item: "not observable"}}),
        IMPORTED_BY_PATCH,
    ]
    ran = line("unpatched", patches={"one": [item]})
    assert messages(drawn(entries, [IMPORTED, ran]))
    assert not messages(drawn(entries, [IMPORTED]))


@pytest.mark.parametrize(
    ("main", "worker"),
    [
        ([APPLIED, IMPORTED_BY_PATCH, CALLED], [IMPORTED, RAN]),
        ([APPLIED, IMPORTED_BY_PATCH, NEVER], [IMPORTED]),
        ([APPLIED, IMPORTED_BY_PATCH, NEVER], [NOTHING]),
        ([APPLIED, IMPORTED_BY_PATCH, UNSEEN], [IMPORTED, RAN]),
        ([APPLIED, IMPORTED_BY_PATCH], [IMPORTED, RAN]),
        ([NOTHING], [NOTHING]),
        ([], [IMPORTED]),
        ([NOTHING, patch("one", "skipped", "ray is not installed")], [IMPORTED]),
        ([NOTHING, patch("one", "failed", "TargetError: …")], [IMPORTED]),
    ],
)
def test_what_says_nothing_of_the_role(main: list[bytes], worker: list[bytes]) -> None:
    """A call where it is for, an import for its own sake, no look yet, a patch not for here."""
    assert messages(drawn(main, worker)) == []


def test_a_server_that_has_just_started_has_no_finding() -> None:
    """What runs may import its target yet; after two minutes and a look it is told."""
    processes = {**running(10), **running(30, ppid=10)}
    early = drawn([NOTHING], [IMPORTED], processes=processes)
    assert messages(early) == []
    verified = line("verified", time=1_800_000_000.0 + 600)
    late = drawn([NOTHING, verified], [IMPORTED], processes=processes)
    assert len(messages(late)) == 1


def test_processes_of_which_nobody_knows_whether_they_run() -> None:
    """Journals of another machine may be a server's that has just started, until they are old."""
    assert messages(drawn([NOTHING], [IMPORTED], processes=None)) == []
    later = 1_800_000_000.0 + 1000
    old = drawn([NOTHING], [IMPORTED], processes=None, now=later)
    assert len(messages(old)) == 1


def test_engines_are_looked_at_one_by_one() -> None:
    """An engine without the role says nothing of a patch for it."""
    alone = draw([look(journal(30, role("worker"), IMPORTED, roles=ROLES))])
    assert messages(alone) == []
