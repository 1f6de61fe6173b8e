"""A second process learns a share of many releases, and nobody can tell who has learnt which."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from analysis.check.test_learning import COUNT, TARGETS, buyer, learnt
from analysis.upstream.shops import WHEEL
from patchkit.analysis.check import learner, second_process
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.opening import on_index
from patchkit.analysis.check.release_shares import ReleaseShares
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.second_process import SecondProcess
from patchkit.analysis.upstream.reading.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from analysis.upstream.shops import Customer
    from patchkit.analysis.check.learner import Request

__all__ = ["buyer"]


@pytest.fixture(autouse=True)
def has_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second core, whatever this machine has."""
    monkeypatch.setattr(second_process, "_has_core", lambda: True)


@pytest.fixture(autouse=True)
def comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the first process back until the second has begun, or will not: releases are few."""
    begun = threading.Event()
    enter = SecondProcess.__enter__
    start = SecondProcess._start
    end = SecondProcess._end

    def entered(second: SecondProcess) -> SecondProcess:
        begun.clear()
        enter(second)
        assert begun.wait(60)
        return second

    def started(second: SecondProcess, requests: Sequence[Request]) -> None:
        try:
            start(second, requests)
        finally:
            begun.set()

    def ended(second: SecondProcess, *, at_once: bool) -> None:
        begun.set()
        end(second, at_once=at_once)

    monkeypatch.setattr(SecondProcess, "__enter__", entered)
    monkeypatch.setattr(SecondProcess, "_start", started)
    monkeypatch.setattr(SecondProcess, "_end", ended)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The processes that a test starts."""
    processes: list[subprocess.Popen[str]] = []
    start = subprocess.Popen

    def started(command: list[str], **options: Any) -> subprocess.Popen[str]:
        process = start(command, **options)
        processes.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", started)
    return processes


def learnt_alone(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, str], Any]:
    """What one process says, with a cache of its own."""
    with monkeypatch.context() as patch:
        patch.setattr(second_process, "_has_core", lambda: False)
        patch.setattr(buyer, "place", buyer.place.with_name("another cache"))
        return learnt(buyer)


def conclusions(place: Path) -> list[object]:
    """What is kept of targets, for releases that have the same files."""
    store = FactStore(Cache(place))
    rows_of_targets = [store.get("conclusions", str(target)) for target in TARGETS]
    return [sorted(rows, key=str) for rows in rows_of_targets]


@pytest.mark.processes
def test_two_processes_say_what_one_says(
    buyer: Customer,
    monkeypatch: pytest.MonkeyPatch,
    processes: list[subprocess.Popen[str]],
) -> None:
    """Two processes learn and keep what one does, and the second ends with the work."""
    faults, facts = learnt(buyer)
    assert [process.returncode for process in processes] == [0]
    assert (faults, len(facts)) == ({}, COUNT)
    assert (faults, facts) == learnt_alone(buyer, monkeypatch)
    assert conclusions(buyer.place) == conclusions(
        buyer.place.with_name("another cache")
    )
    assert len(processes) == 1


@pytest.mark.processes
def test_what_the_second_process_has_learnt_is_not_learnt_again(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process takes from the cache what the second has learnt."""
    concluded: list[str] = []
    conclude = CheckedRelease._conclude

    def noted(subject: CheckedRelease, *arguments: Any) -> None:
        concluded.append(subject.version)
        conclude(subject, *arguments)

    monkeypatch.setattr(CheckedRelease, "_conclude", noted)
    take_last = ReleaseShares.take_last

    def never_of_others(shares: ReleaseShares, *, is_idle: bool) -> int | None:
        """Leave the first process its share, however slow it is."""
        del is_idle
        return take_last(shares, is_idle=False)

    monkeypatch.setattr(ReleaseShares, "take_last", never_of_others)
    learnt(buyer)
    assert str(COUNT - 1) not in concluded
    assert "0" in concluded


@pytest.mark.processes
def test_what_is_known_starts_no_process(
    buyer: Customer, processes: list[subprocess.Popen[str]]
) -> None:
    """A run for which all releases are known starts no second process."""
    first_run = learnt(buyer)
    assert len(processes) == 1
    assert learnt(buyer) == first_run
    assert len(processes) == 1


@pytest.mark.parametrize("releases", [COUNT, 7])
def test_one_core_or_few_releases_are_for_one_process(
    buyer: Customer,
    monkeypatch: pytest.MonkeyPatch,
    processes: list[subprocess.Popen[str]],
    releases: int,
) -> None:
    """No process starts where it would gain nothing."""
    monkeypatch.setattr(second_process, "_has_core", lambda: releases != COUNT)
    for number in range(releases, COUNT):
        del buyer.shop.files[WHEEL.format(number)]
    assert len(learnt(buyer)[1]) == releases
    assert processes == []


@pytest.mark.processes
@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(1)",
        "input(); input(); raise SystemExit",
        "input(); input(); print('broken')",
        "input(); input(); print('[0]')",
    ],
)
def test_what_a_failed_process_has_not_learnt_is_learnt(
    buyer: Customer,
    monkeypatch: pytest.MonkeyPatch,
    processes: list[subprocess.Popen[str]],
    program: str,
) -> None:
    """The first process learns what a failed one was asked for, and that one is gone."""
    monkeypatch.setattr(second_process, "_CODE", program)
    assert learnt(buyer) == learnt_alone(buyer, monkeypatch)
    assert [process.poll() is None for process in processes] == [False]


@pytest.mark.processes
@pytest.mark.parametrize("name", ["", "/no/python"])
def test_the_first_process_learns_all_if_no_other_can_start(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """If a second process cannot start, the first learns the same as one alone."""
    monkeypatch.setattr(sys, "executable", name)
    assert learnt(buyer) == learnt_alone(buyer, monkeypatch)


@pytest.mark.processes
def test_errors_of_releases_are_those_of_one_process(
    buyer: Customer,
    monkeypatch: pytest.MonkeyPatch,
    processes: list[subprocess.Popen[str]],
) -> None:
    """Whichever process tried to read a release, the message of its fault is the same."""
    for number in range(0, COUNT, 2):
        buyer.shop.files[WHEEL.format(number)] = b"no archive"
    faults, facts = learnt(buyer)
    assert len(processes) == 1
    assert (len(faults), len(facts)) == (COUNT // 2, COUNT // 2)
    assert (faults, facts) == learnt_alone(buyer, monkeypatch)


@pytest.mark.processes
def test_notices_of_the_second_process_are_passed_on(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process passes on a notice of the second that stops nothing."""
    program = "input(); input(); print('[null, \"a cache is full\"]')"
    monkeypatch.setattr(second_process, "_CODE", program)
    learnt(buyer)
    assert buyer.notices == ["a cache is full"]


@pytest.mark.processes
def test_an_interruption_ends_both(
    buyer: Customer,
    monkeypatch: pytest.MonkeyPatch,
    processes: list[subprocess.Popen[str]],
) -> None:
    """An interruption kills a second process that has not answered, and ends all threads."""
    monkeypatch.setattr(second_process, "_CODE", "import time; time.sleep(600)")

    def interrupt(*_: object) -> None:
        if processes:
            raise KeyboardInterrupt

    with buyer.library() as library, pytest.raises(KeyboardInterrupt):
        learn_all(on_index("up", library), lambda _: TARGETS, interrupt)
    assert [process.returncode for process in processes] == [-signal.SIGKILL]
    names = {thread.name for thread in threading.enumerate()}
    assert not [name for name in names if name.startswith("patchkit-")]


@pytest.mark.processes
def test_a_second_process_ends_with_its_input(tmp_path: Path) -> None:
    """A second process whose input ends exits with 0, whatever it was asked for."""
    command = [sys.executable, "-c", f"from {learner.__name__} import main; main()"]
    task = [str(tmp_path), [[], [], [], None, None, None, 1.0, 0], False, False]
    link = ["http://192.0.2.1/up-1-py3-none-any.whl", "up-1-py3-none-any.whl", "1", "0"]
    requests = map(json.dumps, (task, [0, "up", "1", link, ["up:f"]]))
    finished = subprocess.run(
        command,
        input="\n".join(requests).encode(),
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 0
