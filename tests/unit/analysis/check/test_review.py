"""Reviews: what is recorded in a lock, and what differs from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.changes_of_f import BODY, WRAP
from analysis.check.released import broken, checked, codes, only_finding, subject
from patchkit.analysis.check.review import accept
from patchkit.core.lock.format import Lock, Span
from patchkit.core.rows.target import Target
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from support.packages import World

    from patchkit.analysis.check.releases import CheckedRelease


def releases(*numbers: int) -> list[CheckedRelease]:
    """Releases of which 1 and 2, and 3 and 4, have the same source."""
    return [
        subject(f"{number}.0", mod=f"def f(): return {(number + 1) // 2}")
        for number in numbers
    ]


def spans(lock: Lock) -> list[str]:
    """The spans of the target in a lock, without their fingerprints."""
    return [str(span)[18:] for span in lock.spans("p", "up.mod:f")]


def test_runs_of_the_same_source_are_one_line(world: World) -> None:
    """Releases of one source are one span, without those absent, unreadable or out of range."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:f', by='w')", requires="('up>=1,<5',)"),
        patch_a="",
    )
    subjects = [*releases(1, 2, 3, 4), subject("4.5"), *releases(5), broken("6.0")]
    lock, faults = accept(Lock(), read_pack("pack"), subjects)
    assert spans(lock) == ["up 1.0 - 2.0", "up 3.0 - 4.0"]
    assert list(faults) == []


def test_what_was_reviewed_elsewhere_stays(world: World) -> None:
    """A later review replaces what it looked at, and joins what it overlaps."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a="")
    rows = read_pack("pack")
    lock, _ = accept(Lock(), rows, releases(1, 2))
    lock, _ = accept(lock, rows, releases(4))
    assert spans(lock) == ["up 1.0 - 2.0", "up 4.0"]
    lock, _ = accept(lock, rows, releases(2, 3, 4))
    assert spans(lock) == ["up 1.0 - 2.0", "up 3.0 - 4.0"]
    stale = Lock(
        {"p": {"up.mod:f": [Span("0" * 16, "up", "2.0", "3.0")], "up.old:f": []}}
    )
    lock, _ = accept(stale, rows, releases(1, 2, 3, 4))
    assert spans(lock) == ["up 1.0 - 2.0", "up 3.0 - 4.0"]
    assert list(lock.entries["p"]) == ["up.mod:f"]


def test_every_way_in_which_a_source_was_written_is_kept(world: World) -> None:
    """A span keeps each wording of its source, within one review and from one to the next."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:f', by='w')"), patch_a="")
    rows = read_pack("pack")
    texts = ("def f(): return 1", "def f(): return 1  # one", "def f():\n    return 1")
    first, second, third = (
        subject(f"{number}.0", mod=text) for number, text in enumerate(texts, start=1)
    )
    lock, _ = accept(Lock(), rows, [first, second])
    (span,) = lock.spans("p", "up.mod:f")
    assert len(span.wordings) == 2
    lock, _ = accept(lock, rows, [second, third])
    (span,) = lock.spans("p", "up.mod:f")
    assert (str(span)[18:], len(span.wordings)) == ("up 1.0 - 3.0", 3)


def test_targets_that_a_call_sets_are_reviewed(world: World) -> None:
    """Their sources are in the lock, not that of the module."""
    call = "AfterImport('up.mod', call='w', sets=('up.mod:f',))"
    world.pack(row("p", "patch_a", call), patch_a="")
    lock, _ = accept(Lock(), read_pack("pack"), releases(1, 2, 3))
    assert spans(lock) == ["up 1.0 - 2.0", "up 3.0"]
    assert list(lock.entries["p"]) == ["up.mod:f"]


@pytest.mark.parametrize(
    ("source", "code", "state"),
    [
        ("def f(a):\n    # said anew\n    return  1", None, "ok"),
        ("def f(a): return 2", "PK201", "drift"),
        ("def f(): return 1\ndef g(): return 1", "PK201", "drift"),
    ],
)
def test_a_source_other_than_the_locked_one_is_drift(
    world: World, source: str, code: str | None, state: str
) -> None:
    """A source that means another thing than the reviewed one is drift; layout is not."""
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    reviewed = subject("1.0", mod="def f(a): return 1")
    fingerprint = reviewed.facts(Target("up.mod", "f")).fingerprint
    assert fingerprint
    lock = Lock({"p": {"up.mod:f": [Span(fingerprint, "up", "1.0", "1.0")]}})
    report = checked([subject("2.0", mod=source)], lock)
    expected = [code] if code else []
    assert codes(report) == expected
    assert report.grid["p"]["up 2.0"] == state


def test_what_the_lock_lacks_is_unreviewed(world: World) -> None:
    """A target that the lock lacks is unreviewed; without a lock no target is."""
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    releases = [subject("1.0", mod="def f(a): return 1")]
    report = checked(releases, Lock({"p": {}}))
    assert only_finding(report, "PK202").target == "up.mod:f"
    assert report.grid["p"]["up 1.0"] == "unreviewed"
    assert checked(releases).grid["p"]["up 1.0"] == "ok"
