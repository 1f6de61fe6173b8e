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

    from runtime.imports.conftest import Lab, Recorder


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
    """The provider of the test's finder."""
    return Provider()


@pytest.fixture
def finder(recorder: Recorder, provider: Provider) -> Iterator[Finder]:
    """A finder with the provider, installed until the test ends."""
    finder = Finder(recorder, provider)
    finder.install()
    yield finder
    finder.uninstall()


def load(name: str) -> Any:
    """Import a module."""
    return importlib.import_module(name)


def test_what_nobody_finds_is_provided(finder: Finder, recorder: Recorder) -> None:
    """A module that no other finder has is made from the provider's spec, and told of."""
    finder.watch(["lab_made"])
    assert load("lab_made").provided
    assert recorder.events == [("importing", "lab_made"), ("imported", "lab_made")]


def test_what_somebody_finds_is_not_asked_for(
    lab: Lab, finder: Finder, provider: Provider, recorder: Recorder
) -> None:
    """The provider is not asked for a module that another finder has, even the last one."""
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


def test_provider_is_asked_for_watched_names_only(
    finder: Finder, provider: Provider
) -> None:
    """The provider is asked for watched names only, and for none after the finder has gone."""
    finder.watch(["lab_made"])
    with pytest.raises(ModuleNotFoundError):
        load("lab_made_other")
    finder.uninstall()
    with pytest.raises(ModuleNotFoundError):
        load("lab_made")
    assert finder.find_spec("lab_made") is None
    assert provider.asked == []


def test_nothing_provided_is_not_found(finder: Finder, provider: Provider) -> None:
    """Without a spec from the provider the import fails, and the next one asks again."""
    finder.watch(["lab_gone"])
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="No module named 'lab_gone'"):
            load("lab_gone")
    assert provider.asked == ["lab_gone"] * 2


def test_provider_that_searches_itself(finder: Finder, provider: Provider) -> None:
    """A provider that searches for the name it is asked for finds what there is without it."""
    specs = []
    provider.then = lambda: specs.append(importlib.util.find_spec("lab_made"))
    finder.watch(["lab_made"])
    assert load("lab_made").provided
    assert specs == [None]
    assert provider.asked == ["lab_made"]


def test_provider_that_raises(finder: Finder, provider: Provider) -> None:
    """An error that the provider raises comes out of the import; a later import succeeds."""

    def fail() -> None:
        raise ValueError("no")

    provider.then = fail
    finder.watch(["lab_made"])
    with pytest.raises(ValueError, match="no"):
        load("lab_made")
    provider.then = None
    assert load("lab_made").provided
