"""Turns at a thing, between threads."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.process import schedule
from patchkit.runtime.process.schedule import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

SOON = 20.0
"""Seconds; who waits to look again by himself waits longer."""


class Waiter:
    """A thread that waits for a turn.

    Args:
        turns: of the things.
        thing: what is waited for.
    """

    def __init__(self, turns: Turns, thing: Any) -> None:
        self.asked = threading.Event()
        self.leaves = False
        self.answers: list[bool] = []
        self._turns, self._thing = turns, thing
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()
        assert self.asked.wait(SOON)

    def _wait(self) -> None:
        self.answers.append(self._turns.take(self._thing, self._is_left))

    def _is_left(self) -> bool:
        self.asked.set()
        return self.leaves

    def answer(self) -> list[bool]:
        """What it was told, if it was soon."""
        self.thread.join(SOON)
        return self.answers


@pytest.fixture
def wait_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[Turns, Any], Waiter]:
    """Begin to wait; nobody looks again before he is told to."""
    monkeypatch.setattr(schedule, "_SECONDS_BETWEEN_CHECKS", 2 * SOON)
    return Waiter


def never() -> bool:
    return False


def test_who_is_told_leaves_a_turn(wait_for: Callable[[Turns, Any], Waiter]) -> None:
    """He looks again at once, and the turn stays with whose it is."""
    turns, thing = Turns(), SimpleNamespace(thread=None)
    assert turns.take(thing, never)  # type: ignore[arg-type]
    waiter = wait_for(turns, thing)
    waiter.leaves = True
    turns.tell()
    assert waiter.answer() == [False]
    assert thing.thread == threading.get_ident()


def test_a_turn_that_ends_goes_to_who_waits(
    wait_for: Callable[[Turns, Any], Waiter],
) -> None:
    """At once; and it is his."""
    turns, thing = Turns(), SimpleNamespace(thread=None)
    turns.take(thing, never)  # type: ignore[arg-type]
    waiter = wait_for(turns, thing)
    turns.leave(thing)  # type: ignore[arg-type]
    assert waiter.answer() == [True]
    assert thing.thread == waiter.thread.ident


def test_the_end_of_a_block_gives_the_turn_on(
    wait_for: Callable[[Turns, Any], Waiter],
) -> None:
    """Who waited for what a block had takes it once the block is over."""
    turns, thing = Turns(), SimpleNamespace(thread=None)
    with turns.within(thing) as has_it:  # type: ignore[arg-type]
        waiter = wait_for(turns, thing)
        assert thing.thread == threading.get_ident()
    assert has_it
    assert waiter.answer() == [True]


def test_a_turn_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience has a bound: TimeoutError, or False for a block, which leaves the turn as it was."""
    monkeypatch.setattr(schedule, "PATIENCE", 0.0)
    turns, other = Turns(), threading.Thread(target=int)
    other.start()
    other.join()
    thing: Any = SimpleNamespace(thread=other.ident)
    with pytest.raises(TimeoutError):
        turns.take(thing, never)
    with turns.within(thing, patience=0.0) as has_it:
        assert not has_it
    assert thing.thread == other.ident


def test_ones_own_turn_is_not_waited_for() -> None:
    """A thread that has a turn is told that it has it already; nothing hangs."""
    turns, thing = Turns(), SimpleNamespace(thread=None)
    assert turns.take(thing, never)  # type: ignore[arg-type]
    assert not turns.take(thing, never)  # type: ignore[arg-type]
    with turns.within(thing) as has_it:  # type: ignore[arg-type]
        assert has_it
    assert thing.thread == threading.get_ident()
    turns.leave(thing)  # type: ignore[arg-type]
    assert thing.thread is None
