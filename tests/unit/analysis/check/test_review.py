from __future__ import annotations

from typing import TYPE_CHECKING

from support.packages import row

from analysis.check.released import broken, subject
from patchkit.analysis.check.review import accept
from patchkit.core.lock.format import Lock, Span
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
