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
    """Twenty releases, no two of which are alike."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with customer(tmp_path) as found:
        for at in range(COUNT):
            found.shop.files[WHEEL.format(at)] = wheel(at)
        yield found


def wheel(at: int) -> bytes:
    modules = {
        "a": f"from up.b import f\nclass A:\n def g(self, x={at}): ...",
        "b": "def f(): ...",
    }
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
            [one.facts(target) for target in TARGETS]
            for one in subjects
            if one.name not in faults
        ]
        return {name: str(error) for name, error in faults.items()}, said


def test_what_is_known_is_not_asked_for(buyer: Customer) -> None:
    """What one run has found is kept for the next."""
    before = learnt(buyer)
    assert (before[0], len(before[1])) == ({}, COUNT)
    asked = len(buyer.shop.requests_of(WHEEL.format(1)))
    assert learnt(buyer) == before
    assert len(buyer.shop.requests_of(WHEEL.format(1))) == asked


def test_releases_that_cannot_be_read(buyer: Customer) -> None:
    """They are named; the others say what they have."""
    for at in range(0, COUNT, 2):
        buyer.shop.files[WHEEL.format(at)] = b"no archive"
    faults, said = learnt(buyer)
    assert (len(faults), len(said)) == (COUNT // 2, COUNT // 2)


def test_work_that_is_broken_off(buyer: Customer) -> None:
    """An interruption leaves nothing at work."""

    def interrupt(done: int, *_: object) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with buyer.library() as library, pytest.raises(KeyboardInterrupt):
        learn_all(on_index("up", library), lambda _: TARGETS, interrupt)
    assert not [
        one for one in threading.enumerate() if one.name.startswith("patchkit-releases")
    ]


def test_an_error_that_is_no_releases_fault(buyer: Customer) -> None:
    """It is raised, and is no release's."""

    def wanted(_: object) -> list[Target]:
        raise ZeroDivisionError

    with buyer.library() as library, pytest.raises(ZeroDivisionError):
        learn_all(on_index("up", library), wanted)
