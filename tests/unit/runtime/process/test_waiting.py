"""Turns of threads at what only one of them may have."""

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
"""Seconds within which an answer is due; a thread that nobody wakes waits longer."""


class Waiter:
    """A thread that waits for a turn.

    Args:
        turns: who has which turn.
        subject: what the turn is at.
    """

    def __init__(self, turns: Turns, subject: Any) -> None:
        self.asked = threading.Event()
        self.leaves = False
        self.answers: list[bool] = []
        self._turns, self._subject = turns, subject
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()
        assert self.asked.wait(SOON)

    def _wait(self) -> None:
        self.answers.append(self._turns.take(self._subject, self._is_left))

    def _is_left(self) -> bool:
        self.asked.set()
        return self.leaves

    def answer(self) -> list[bool]:
        """Return what `take` has returned, if it has within `SOON`."""
        self.thread.join(SOON)
        return self.answers


@pytest.fixture
def wait_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[Turns, Any], Waiter]:
    """Return what starts a waiting thread, which does not look again before it is woken."""
    monkeypatch.setattr(schedule, "_SECONDS_BETWEEN_CHECKS", 2 * SOON)
    return Waiter


def never() -> bool:
    """Never leave the turn to another thread."""
    return False


def test_a_thread_that_is_woken_may_give_up(
    wait_for: Callable[[Turns, Any], Waiter],
) -> None:
    """`tell` has a waiting thread look again and give up; the turn stays with its owner."""
    turns = Turns()
    subject = SimpleNamespace(thread=None)
    assert turns.take(subject, never)  # type: ignore[arg-type]
    waiter = wait_for(turns, subject)
    waiter.leaves = True
    turns.wake()
    assert waiter.answer() == [False]
    assert subject.thread == threading.get_ident()


def test_a_turn_that_ends_goes_to_the_thread_that_waits(
    wait_for: Callable[[Turns, Any], Waiter],
) -> None:
    """`leave` gives the turn to the waiting thread at once."""
    turns = Turns()
    subject = SimpleNamespace(thread=None)
    turns.take(subject, never)  # type: ignore[arg-type]
    waiter = wait_for(turns, subject)
    turns.leave(subject)  # type: ignore[arg-type]
    assert waiter.answer() == [True]
    assert subject.thread == waiter.thread.ident


def test_the_end_of_a_block_gives_the_turn_on(
    wait_for: Callable[[Turns, Any], Waiter],
) -> None:
    """A thread that waits for the turn of a `within` block takes it once the block is over."""
    turns = Turns()
    subject = SimpleNamespace(thread=None)
    with turns.within(subject) as has_it:  # type: ignore[arg-type]
        waiter = wait_for(turns, subject)
        assert subject.thread == threading.get_ident()
    assert has_it
    assert waiter.answer() == [True]


def test_a_turn_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once patience is over, `take` raises TimeoutError and `within` yields False."""
    monkeypatch.setattr(schedule, "PATIENCE", 0.0)
    turns = Turns()
    other = threading.Thread(target=int)
    other.start()
    other.join()
    subject: Any = SimpleNamespace(thread=other.ident)
    with pytest.raises(TimeoutError):
        turns.take(subject, never)
    with turns.within(subject, patience=0.0) as has_it:
        assert not has_it
    assert subject.thread == other.ident


def test_a_thread_does_not_wait_for_its_own_turn() -> None:
    """To the thread that has the turn, `take` returns False and `within` yields True, at once."""
    turns = Turns()
    subject = SimpleNamespace(thread=None)
    assert turns.take(subject, never)  # type: ignore[arg-type]
    assert not turns.take(subject, never)  # type: ignore[arg-type]
    with turns.within(subject) as has_it:  # type: ignore[arg-type]
        assert has_it
    assert subject.thread == threading.get_ident()
    turns.leave(subject)  # type: ignore[arg-type]
    assert subject.thread is None
