"""A spec that whoever made the finder provides, where no other finder has one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.imports.finder import Finder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from tests.unit.imports.conftest import Lab, Recorder


class Loader:
    """Makes a module with one attribute."""

    def create_module(self, spec: ModuleSpec) -> None: ...

    def exec_module(self, module: ModuleType) -> None:
        module.provided = True  # type: ignore[attr-defined]


class Provider:
    """Notes what it is asked for; `then` runs before it answers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.then: Any = None

    def __call__(self, name: str) -> ModuleSpec | None:
        self.asked.append(name)
        if self.then is not None:
            self.then()
        return ModuleSpec(name, Loader()) if "made" in name else None


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def finder(recorder: Recorder, provider: Provider) -> Iterator[Finder]:
    finder = Finder(recorder, provider)
    finder.install()
    yield finder
    finder.uninstall()


def load(name: str) -> Any:
    return importlib.import_module(name)


def test_what_nobody_finds_is_provided(finder: Finder, recorder: Recorder) -> None:
    """Its execution is told like any other's."""
    finder.watch(["lab_made"])
    assert load("lab_made").provided
    assert recorder.events == [("importing", "lab_made"), ("imported", "lab_made")]


def test_what_somebody_finds_is_not_asked_for(
    lab: Lab, finder: Finder, provider: Provider, recorder: Recorder
) -> None:
    """Whoever has the module comes first, also a finder that lies last."""
    lab.write("lab_made.py")

    class Last:
        def find_spec(
            self, name: str, path: object, target: object = None
        ) -> ModuleSpec | None:
            return ModuleSpec(name, Loader()) if name == "lab_made_last" else None

    sys.meta_path.append(Last())
    finder.watch(["lab_made", "lab_made_last"])
    assert not hasattr(load("lab_made"), "provided")
    load("lab_made_last")
    assert provider.asked == []
    assert recorder.imports == ["lab_made", "lab_made_last"]


def test_only_of_watched_names(finder: Finder, provider: Provider) -> None:
    """Nobody is asked for any other name, nor after the finder has gone."""
    finder.watch(["lab_made"])
    with pytest.raises(ModuleNotFoundError):
        load("lab_made_other")
    finder.uninstall()
    with pytest.raises(ModuleNotFoundError):
        load("lab_made")
    assert finder.find_spec("lab_made") is None
    assert provider.asked == []


def test_nothing_provided_is_not_found(finder: Finder, provider: Provider) -> None:
    """Without a spec the import fails as ever, and the next one asks again."""
    finder.watch(["lab_gone"])
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="No module named 'lab_gone'"):
            load("lab_gone")
    assert provider.asked == ["lab_gone"] * 2


def test_whoever_is_asked_may_look_itself(finder: Finder, provider: Provider) -> None:
    """While it is asked, the name is not provided: it sees what there is without it."""
    specs = []
    provider.then = lambda: specs.append(importlib.util.find_spec("lab_made"))
    finder.watch(["lab_made"])
    assert load("lab_made").provided
    assert specs == [None]
    assert provider.asked == ["lab_made"]


def test_what_it_raises_comes_out(finder: Finder, provider: Provider) -> None:
    """An error of the provider's is the import's."""

    def fail() -> None:
        raise ValueError("no")

    provider.then = fail
    finder.watch(["lab_made"])
    with pytest.raises(ValueError, match="no"):
        load("lab_made")
    provider.then = None
    assert load("lab_made").provided
