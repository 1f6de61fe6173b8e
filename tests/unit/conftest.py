"""Packs made for a test, children of a clean Python, and an environment without settings."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from patchkit.runtime.imports.finder import BodyFinder
from patchkit.settings import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# How fast a machine is, is for benchmarks to say.
settings.register_profile(
    "patchkit",
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patchkit")

REPOSITORY = Path(__file__).resolve().parents[2]
# A shell has what runs in its background ignore Ctrl-C, and so would children of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

_STARTED: list[str] = []  # how this process has started others


def _note_start(event: str, _: object) -> None:
    if event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}:
        _STARTED.append(event)


sys.addaudithook(_note_start)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name holds a path of this machine: a copy of the tree would lack it."""
    for item in items:
        if str(REPOSITORY) in item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid}: found the repository's path in a test's name, expected an id"
            )


def pytest_collection_finish() -> None:
    """Let the garbage collector look no more at thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start every test without patchkit's variables, and without a width, in the environment."""
    for name in (*VARIABLES, "COLUMNS"):  # xdist sets one
        monkeypatch.delenv(name, raising=False)
    # No body arms this process.
    monkeypatch.setattr(BodyFinder, "importing", lambda *_: None)


@pytest.fixture(autouse=True)
def _no_finders_left() -> Iterator[None]:
    """Forget the folders of a test: each would be asked again whenever caches are invalidated."""
    before = set(sys.path_importer_cache)
    yield
    for folder in sys.path_importer_cache.keys() - before:
        del sys.path_importer_cache[folder]


@pytest.fixture(autouse=True)
def _no_process_unasked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test start a process without saying so: `make test-unit` is to stay quick."""
    before = len(_STARTED)
    yield
    marked = map(request.node.get_closest_marker, ("processes", "integration"))
    if not any(marked):
        assert _STARTED[before:] == [], "it starts processes: mark it with `processes`"


@pytest.fixture(autouse=True)
def _no_looks_left() -> Iterator[None]:
    """Fail a test that leaves a thread that verifies its patches."""
    yield
    assert "patchkit-verify" not in [thread.name for thread in threading.enumerate()]


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what patchkit caches out of the user's home, that of children too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_bytecode_of_tests() -> Iterator[None]:
    """Write no bytecode: it would be loaded for a file that a test has rewritten since."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        # What is written in one second looks the same.
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield


@pytest.fixture
def write_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Path]]:
    """Write a package that can be imported until the test ends; returns its folder."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, source: str, bodies: tuple[str, ...] = ("patch_a",)) -> Path:
        folder = tmp_path.joinpath(*name.split("."))
        folder.mkdir(parents=True)
        for outer in folder.relative_to(tmp_path).parents[:-1]:
            (tmp_path / outer / "__init__.py").touch()
        (folder / "__init__.py").write_text(source)
        for body in bodies:
            (folder / f"{body}.py").write_text(
                "raise AssertionError('a body was imported')\n"
            )
        loaded = [
            module for module in sys.modules if f"{module}.".startswith(f"{name}.")
        ]
        for module in loaded:
            # The tests have an `upstream` of their own.
            monkeypatch.delitem(sys.modules, module)
        importlib.invalidate_caches()
        return folder

    yield write
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a Python of its own, which finds patchkit and what the test has written."""

    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        env = {name: text for name, text in os.environ.items() if name not in VARIABLES}
        env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(REPOSITORY)])
        return subprocess.run(
            [sys.executable, *words],
            env={**env, **environ},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
