"""Releases that several processes learn."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from upstream.shops import WHEEL, customer

from check.released import files_of
from patchkit.check import learning
from patchkit.check.learning import learn_all
from patchkit.check.opening import on_index
from patchkit.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from upstream.shops import Customer

COUNT = 20
TARGETS = [Target.parse(f"up.{one}") for one in ("a:f", "a:A.g", "b:f", "none:f")]


@pytest.fixture
def buyer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Customer]:
    """Twenty releases, no two of which are alike, for somebody with two cores."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    cores(monkeypatch, 2)
    with customer(tmp_path) as found:
        for at in range(COUNT):
            found.shop.files[WHEEL.format(at)] = wheel(at)
        yield found


def cores(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)), raising=False)


def wheel(at: int) -> bytes:
    modules = {"a": f"from up.b import f\nclass A:\n def g(self, x={at}): ...", "b": "def f(): ..."}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files_of(modules if at % 3 else {"a": "f = 1"}).items():
            archive.writestr(path, text)
    return buffer.getvalue()


def learnt(buyer: Customer) -> tuple[dict[str, str], list[Any]]:
    """What cannot be read, and what all other releases say."""
    with buyer.library() as library:
        subjects = on_index("up", library)
        faults = learn_all(subjects, lambda _: TARGETS)
        said = [
            [one.facts(target) for target in TARGETS] for one in subjects if one.name not in faults
        ]
        return {name: str(error) for name, error in faults.items()}, said


def alone(buyer: Customer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What one process says."""
    with monkeypatch.context() as patch:
        cores(patch, 1)
        buyer.place = buyer.place.with_name("another cache")
        return learnt(buyer)


def started(monkeypatch: pytest.MonkeyPatch, command: str = "") -> list[subprocess.Popen[bytes]]:
    """List the processes that are started; each of them runs a command in place of its own."""
    found = []
    real = subprocess.Popen

    def start(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        found.append(real(["sh", "-c", command] if command else words, **options))
        return found[-1]

    monkeypatch.setattr(learning.subprocess, "Popen", start)
    return found


@pytest.mark.processes
def test_two_processes_say_what_one_says(buyer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process takes a share, and ends with the work."""
    processes = started(monkeypatch)
    faults, said = learnt(buyer)
    assert (faults, len(said)) == ({}, COUNT)
    assert [one.returncode for one in processes] == [0]
    assert (faults, said) == alone(buyer, monkeypatch)
    assert len(processes) == 1


@pytest.mark.processes
def test_what_is_known_starts_no_process(buyer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What either has found is kept for both."""
    before = learnt(buyer)
    processes = started(monkeypatch)
    assert learnt(buyer) == before
    assert processes == []


@pytest.mark.parametrize("releases", [COUNT, 7])
def test_how_many_there_are(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, releases: int
) -> None:
    """One core, or few releases, are for one process."""
    cores(monkeypatch, 1 if releases == COUNT else 9)
    for at in range(releases, COUNT):
        del buyer.shop.files[WHEEL.format(at)]
    processes = started(monkeypatch)
    assert len(learnt(buyer)[1]) == releases
    assert processes == []


@pytest.mark.processes
@pytest.mark.parametrize(
    "command", ["exit 1", "read a; read b; exit", "read a; read b; echo broken"]
)
def test_a_process_that_dies(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Whatever it was asked for is learnt without it."""
    processes = started(monkeypatch, command)
    assert learnt(buyer) == alone(buyer, monkeypatch)
    assert len(processes) == 1


@pytest.mark.processes
def test_a_process_that_cannot_start(
    buyer: Customer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One process does it all."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    assert learnt(buyer) == alone(buyer, monkeypatch)


@pytest.mark.processes
def test_releases_that_cannot_be_read(buyer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever tries, the words are the same, and it is tried once."""
    for at in range(0, COUNT, 2):
        buyer.shop.files[WHEEL.format(at)] = b"no archive"
    faults, said = learnt(buyer)
    assert (len(faults), len(said)) == (COUNT // 2, COUNT // 2)
    asked = len(buyer.shop.requests_of(WHEEL.format(COUNT - 2)))
    assert (faults, said) == alone(buyer, monkeypatch)
    assert len(buyer.shop.requests_of(WHEEL.format(COUNT - 2))) == 2 * asked


@pytest.mark.processes
def test_work_that_is_broken_off(buyer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process is gone before the interruption is told."""
    processes = started(monkeypatch)

    def interrupt(done: int, *_: object) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with buyer.library() as library, pytest.raises(KeyboardInterrupt):
        learn_all(on_index("up", library), lambda _: TARGETS, interrupt)
    assert None not in [one.returncode for one in processes]


@pytest.mark.processes
def test_a_process_that_nobody_listens_to(tmp_path: Path) -> None:
    """It ends with whoever has started it, even where there is work left."""
    words = [sys.executable, "-c", "from patchkit.check.learning import main; main()"]
    hello = (str(tmp_path), [[], [], [], None, None, None, 1.0, 0], False, False)
    ask = (0, "up", "1", ["http://192.0.2.1/up-1-py3-none-any.whl", "up", "1", "0"], ["up:f"])
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        text = "\n".join(map(json.dumps, (hello, ask)))
        process.communicate(text.encode(), timeout=30)
    assert process.returncode == 0
