"""Threads that go through the same modules in turns."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from patchkit.analysis.check.shared_scan import SharedScan, Stop

MODULES = [f"m{number:02}" for number in range(30)]


def _walk(scan: SharedScan, modules: list[str], visited: list[str]) -> None:
    """Go through modules, and write each down while it is one's turn."""
    for stop in scan.stops(modules):
        with scan.turn(stop):
            visited.append(stop.module)


def test_threads_that_begin_together_come_to_each_module_together() -> None:
    scan = SharedScan()
    visited: list[str] = []
    ready = threading.Barrier(3)

    def walk() -> None:
        ready.wait()
        _walk(scan, MODULES, visited)

    # All three are let into the scan before the first turn ends.
    with ThreadPoolExecutor(3) as threads, scan.turn(Stop(0, "")):
        futures = [threads.submit(walk) for _ in range(3)]
        while len(scan._waiting) < 3 and not any(one.done() for one in futures):
            threading.Event().wait(0.001)
    for future in futures:
        future.result()
    assert sorted(visited) == sorted(MODULES * 3)
    farthest_behind = 0
    for place, module in enumerate(visited):
        others = visited[:place]
        farthest_behind = max(
            [
                farthest_behind,
                *(MODULES.index(one) - MODULES.index(module) for one in others),
            ]
        )
    assert farthest_behind <= 1


def test_a_thread_joins_where_the_others_are_and_ends_with_what_is_before() -> None:
    scan = SharedScan()
    with scan.turn(Stop(0, "m07")):
        stops = scan.stops(["m05", "m06", "m07", "m08"])
    assert stops == [Stop(0, "m07"), Stop(0, "m08"), Stop(1, "m05"), Stop(1, "m06")]


def test_the_scan_does_not_go_back_for_a_thread_that_is_behind() -> None:
    scan = SharedScan()
    with scan.turn(Stop(0, "m07")):
        pass
    with scan.turn(Stop(0, "m03")):
        pass
    assert scan.stops(["m03", "m07"]) == [Stop(0, "m07"), Stop(1, "m03")]


def test_one_thread_works_at_a_time() -> None:
    scan = SharedScan()
    at_work: list[int] = []
    most: list[int] = []

    def walk() -> None:
        for stop in scan.stops(MODULES):
            with scan.turn(stop):
                at_work.append(1)
                most.append(len(at_work))
                at_work.pop()

    with ThreadPoolExecutor(4) as threads:
        futures = [threads.submit(walk) for _ in range(8)]
    for future in futures:
        future.result()
    assert set(most) == {1}
    assert len(most) == 8 * len(MODULES)


def test_an_error_ends_the_turn() -> None:
    scan = SharedScan()
    visited: list[str] = []
    with pytest.raises(ValueError, match="broken"), scan.turn(Stop(0, "m00")):
        raise ValueError("broken")
    _walk(scan, MODULES, visited)
    assert visited == MODULES


def test_a_thread_that_is_interrupted_while_it_waits_gives_its_turn_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C ends the wait of the main thread: those behind it would else wait for ever."""
    scan = SharedScan()

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with scan.turn(Stop(0, "m00")), monkeypatch.context() as patch:
        patch.setattr(f"{SharedScan.__module__}._Waiting.wait", interrupted)
        with pytest.raises(KeyboardInterrupt), scan.turn(Stop(0, "m01")):
            pass
    visited: list[str] = []
    thread = threading.Thread(target=_walk, args=(scan, ["m02"], visited), daemon=True)
    thread.start()
    thread.join(10)
    assert visited == ["m02"]
