"""Two processes look into releases, each into some, and none is left or looked into twice."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.check.release_shares import ReleaseShares


def taken(shares: ReleaseShares, count: int) -> list[int | None]:
    """What a busy process is given if it asks several times."""
    return [shares.take_last(is_idle=False) for _ in range(count)]


def test_each_has_a_half() -> None:
    """A busy process is given what is not in the other one's share."""
    shares = ReleaseShares(7)
    assert taken(shares, 4) == [6, 5, 4, None]
    assert all(shares.begin(number) for number in range(4))
    assert not shares.left


def test_an_idle_process_is_given_half_of_the_others_share() -> None:
    """And what the other one has begun stays there."""
    shares = ReleaseShares(8)
    assert shares.begin(0)
    assert taken(shares, 5) == [7, 6, 5, 4, None]
    assert shares.take_last(is_idle=True) == 3
    assert taken(shares, 2) == [2, None]
    assert shares.take_last(is_idle=True) == 1
    assert shares.take_last(is_idle=True) is None


def test_a_finished_share_is_followed_by_half_of_the_rest() -> None:
    """With a process that has not come to its own releases yet."""
    shares = ReleaseShares(8)
    for number in range(4):
        assert shares.begin(number)
    for number in range(4):
        shares.finish(number)
    assert shares.begin(4)
    assert shares.begin(5)
    assert taken(shares, 3) == [7, 6, None]


def test_what_the_other_process_has_taken_is_waited_for() -> None:
    """Until it answers; then it is not begun here."""
    shares = ReleaseShares(2)
    assert shares.take_last(is_idle=False) == 1
    begun: list[bool] = []
    waiting = threading.Thread(target=lambda: begun.append(shares.begin(1)))
    waiting.start()
    assert not begun
    shares.answer(1)
    waiting.join(60)
    assert begun == [False]


def test_without_another_process_all_are_for_this_one() -> None:
    """Whatever was in the other one's share; but none once the work is abandoned."""
    shares = ReleaseShares(4)
    assert shares.take_last(is_idle=False) == 3
    shares.close()
    assert [shares.begin(number) for number in (3, 2, 1)] == [False, True, True]
    shares.close(abandon=True)
    assert not shares.begin(0)


@given(st.integers(0, 30), st.integers(1, 8), st.integers(1, 8))
def test_each_release_is_looked_into_once(
    count: int, own_threads: int, in_flight: int
) -> None:
    """Both processes end, however many releases each works on at a time."""
    shares = ReleaseShares(count)
    here: list[int] = []
    there: list[int] = []

    def look(number: int) -> None:
        if shares.begin(number):
            here.append(number)
            shares.finish(number)

    def serve() -> None:
        pending: list[int] = []
        while True:
            number = shares.take_last(is_idle=not pending)
            if number is not None:
                pending.append(number)
            elif not pending:
                break
            if number is None or len(pending) == in_flight:
                there.append(pending.pop(0))
                shares.answer(there[-1])
        shares.close()

    other = threading.Thread(target=serve)
    with ThreadPoolExecutor(own_threads) as threads:
        other.start()
        list(threads.map(look, range(count)))
    other.join(60)
    assert not other.is_alive()
    assert sorted(here + there) == list(range(count))
