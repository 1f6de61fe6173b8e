"""What many releases say, looked up at once."""

from __future__ import annotations

import io
import threading
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from analysis.check.released import files_of
from analysis.upstream.shops import WHEEL, customer
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.opening import on_index
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from analysis.upstream.shops import Customer

COUNT = 20
TARGETS = [Target.parse(f"up.{one}") for one in ("a:f", "a:A.g", "b:f", "none:f")]


@pytest.fixture(autouse=True)
def has_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """One core: there is no second process."""
    monkeypatch.setattr(
        "patchkit.analysis.check.second_process._has_core", lambda: False
    )


@pytest.fixture
def buyer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Customer]:
    """A customer of an index with twenty releases of `up`."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with customer(tmp_path) as buyer_of_up:
        for number in range(COUNT):
            buyer_of_up.shop.files[WHEEL.format(number)] = wheel(number)
        yield buyer_of_up


def wheel(number: int) -> bytes:
    """A wheel of `up`: of every third release one with a plain name, of others one with a class."""
    if number % 3:
        modules = {
            "a": f"from up.b import f\nclass A:\n def g(self, x={number}): ...",
            "b": "def f(): ...",
        }
    else:
        modules = {"a": "f = 1"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files_of(modules).items():
            archive.writestr(path, text)
    return buffer.getvalue()


def learnt(buyer: Customer) -> tuple[dict[str, str], list[Any]]:
    """What cannot be read, and what all other releases say."""
    with buyer.library() as library:
        releases = on_index("up", library)
        faults = learn_all(releases, lambda _: TARGETS)
        facts = [
            [release.facts(target) for target in TARGETS]
            for release in releases
            if release.name not in faults
        ]
        return {name: str(error) for name, error in faults.items()}, facts


def test_a_second_run_asks_for_nothing_that_is_known(buyer: Customer) -> None:
    """What one run has learnt is kept, so that the next does not ask for a wheel again."""
    first_run = learnt(buyer)
    faults, facts = first_run
    assert (faults, len(facts)) == ({}, COUNT)
    requests = len(buyer.shop.requests_of(WHEEL.format(1)))
    assert learnt(buyer) == first_run
    assert len(buyer.shop.requests_of(WHEEL.format(1))) == requests


def test_releases_that_cannot_be_read_stop_no_other(buyer: Customer) -> None:
    """Each release that cannot be read is a fault, and the others are learnt."""
    for number in range(0, COUNT, 2):
        buyer.shop.files[WHEEL.format(number)] = b"no archive"
    faults, facts = learnt(buyer)
    assert (len(faults), len(facts)) == (COUNT // 2, COUNT // 2)


def test_an_interruption_leaves_no_thread(buyer: Customer) -> None:
    """After an interruption no thread that learns releases is alive."""

    def interrupt(done: int, *_: object) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with buyer.library() as library, pytest.raises(KeyboardInterrupt):
        learn_all(on_index("up", library), lambda _: TARGETS, interrupt)
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("patchkit-releases")]


def test_an_error_outside_of_releases_is_raised(buyer: Customer) -> None:
    """An error in what asks for targets is raised, and is no fault of a release."""

    def fail(_: object) -> list[Target]:
        raise ZeroDivisionError

    with buyer.library() as library, pytest.raises(ZeroDivisionError):
        learn_all(on_index("up", library), fail)
