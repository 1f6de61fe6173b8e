from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import UPSTREAM, a_world
from support.reviews import review

from patchkit.core.lock.format import Lock, Span, read_lock
from patchkit.core.rows.target import Target
from patchkit.runtime.drift import InstalledSource, RowDrift

if TYPE_CHECKING:
    from support.packages import World

world = packages.world

TARGET = Target("up.mod", "function")


def look(world: World, lock: Lock, *, parser: bool = True) -> RowDrift:
    """Compare row `p` with a lock; without a parser, any use of one fails the test."""
    installed = InstalledSource([str(world.folder)])
    if not parser:
        installed.facts = lambda target: pytest.fail(f"{target} was parsed")  # type: ignore[method-assign]
    return RowDrift("p", lock, installed)


def test_the_reviewed_text_is_known_without_a_parser(world: World) -> None:
    """The very text that was reviewed is known as such: nothing is parsed, nothing imported."""
    a_world(world)
    lock = read_lock(review(world, "up.mod:function"))
    assert look(world, lock, parser=False).verdict(TARGET).state == "reviewed"
    assert "up" not in sys.modules


def test_a_change_of_what_a_call_wraps_is_drift(world: World) -> None:
    """A target that a call makes has drifted once what it wraps differs, though its own line does
    not.
    """
    source = (
        "from functools import lru_cache\ndef f(): return {}\nfunction = lru_cache(f)\n"
    )
    a_world(world)
    world.module("up.mod", source.format(1))
    target = Target("up.mod", "function")
    facts = InstalledSource([str(world.folder)]).facts(target)
    assert facts.wording is None
    lock = Lock(
        {"p": {str(target): [Span(facts.fingerprint or "", "up", "1.0", "1.0")]}}
    )
    assert look(world, lock).verdict(target).state == "reviewed"
    world.module("up.mod", source.format(2))
    assert look(world, lock).verdict(target).state == "drift"


def test_another_text_of_the_same_source_is_reviewed(world: World) -> None:
    """A source that differs in a comment and quotes only is reviewed, also without wordings."""
    a_world(world)
    lock = read_lock(review(world, "up.mod:function"))
    world.module("up.mod", UPSTREAM.replace("return", "return (") + "# remark\n")
    world.module("up.mod", "# remark\n" + UPSTREAM.replace("'old'", '"old"'))
    assert look(world, lock).verdict(TARGET).state == "reviewed"
    bare = read_lock(review(world, "up.mod:function", wordings=False))
    assert look(world, bare).verdict(TARGET).state == "reviewed"


def test_another_source_has_drifted(world: World) -> None:
    """A changed target has drifted; the words name it and the version that was reviewed last."""
    a_world(world)
    lock = read_lock(review(world, "up.mod:function"))
    world.module("up.mod", UPSTREAM.replace("'old'", "'other'"))
    verdict = look(world, lock).verdict(TARGET)
    assert verdict.state == "drift"
    assert "up.mod:function differs from the source last reviewed for" in verdict.words
    assert "last reviewed for up 1.0" in verdict.words


@pytest.mark.parametrize(
    ("source", "state", "words"),
    [
        ("", "absent", ""),
        (
            "exec('def function(): ...')",
            "unknown",
            "up.mod:function cannot be compared with what was reviewed",
        ),
    ],
)
def test_what_is_not_there_or_not_decidable(
    world: World, source: str, state: str, words: str
) -> None:
    """A missing target is absent, without words; one that cannot be compared is unknown, with
    words.
    """
    a_world(world)
    lock = read_lock(review(world, "up.mod:function"))
    world.module("up.mod", source)
    verdict = look(world, lock).verdict(TARGET)
    assert verdict.state == state
    assert verdict.words.startswith(words)
    assert bool(verdict.words) is bool(words)


def test_what_the_lock_lacks_was_never_reviewed(world: World) -> None:
    """A target that is there and not in the lock is unreviewed, and the words say so."""
    a_world(world)
    verdict = look(world, Lock({"p": {}})).verdict(TARGET)
    assert verdict.state == "unreviewed"
    assert verdict.words == "up.mod:function has never been reviewed for this patch"


def test_a_package_that_is_not_installed_cannot_be_compared(world: World) -> None:
    """A target in a package that is not installed is unknown, and the words say so."""
    verdict = look(world, Lock({"p": {}})).verdict(Target("nowhere.mod", "f"))
    assert verdict.state == "unknown"
    assert "not installed" in verdict.words
