"""Finders of other tools, before and behind ours: each module is told of once, by them and us."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import wrapt

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.runtime.imports.finder import Finder
    from runtime.imports.conftest import Lab, Recorder

PathFinder = importlib.machinery.PathFinder


class Answering:
    """A finder in front that answers by itself, as those of editable installs do."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        self.asked.append(name)
        return (
            PathFinder.find_spec(name, path, target)
            if name.startswith("lab_")
            else None
        )


class Insisting(Answering):
    """A finder that puts itself first whenever it is asked."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if sys.meta_path[0] is not self:
            sys.meta_path.remove(self)  # type: ignore[arg-type]
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        self.asked.append(name)


class StepsAside(Answering):
    """A finder that leaves the list while it asks importlib who else has the module."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        self.asked.append(name)
        position = sys.meta_path.index(self)  # type: ignore[arg-type]
        del sys.meta_path[position]
        try:
            return importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(position, self)  # type: ignore[arg-type]


class Walks(Answering):
    """A finder that asks the others in the list itself, and does not expect to be asked by one."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        neighbours = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(name, path, target) for finder in neighbours)
        return next((spec for spec in specs if spec is not None), None)


class SimulatedWatchdog:
    """A simulation of ddtrace's ModuleWatchdog: walks the list, and wraps every loader it finds."""

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.finding: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in self.finding:
            return None
        self.finding.add(name)
        try:
            neighbours = [finder for finder in sys.meta_path if finder is not self]
            specs = (finder.find_spec(name, path, target) for finder in neighbours)
            spec = next((spec for spec in specs if spec is not None), None)
            if spec is not None and not isinstance(
                spec.loader, SimulatedWatchdogLoader
            ):
                spec.loader = SimulatedWatchdogLoader(spec.loader, self.loaded)  # type: ignore[assignment]
            return spec
        finally:
            self.finding.remove(name)


class SimulatedWatchdogLoader:
    """The loader that the simulated watchdog puts around another's."""

    def __init__(self, loader: Any, loaded: list[str]) -> None:
        self.loader = loader
        self.loaded = loaded
        self.exec_module = self._exec_module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def _exec_module(self, module: Any) -> None:
        self.loader.exec_module(module)
        module.__loader__ = self.loader
        self.loaded.append(module.__name__)


def test_answering_finder_is_overtaken(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """Our finder overtakes one in front that answers by itself at the next search of any module."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    stranger = Answering()
    sys.meta_path.insert(0, stranger)  # type: ignore[arg-type]
    importlib.util.find_spec("no_such_module")
    assert sys.meta_path[:3] == [finder, stranger, finder]
    importlib.import_module("lab_mod")
    assert recorder.imports == ["lab_mod"]
    assert stranger.asked == ["no_such_module", "lab_mod"]


def test_insisting_finder(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A finder that always moves to the front keeps its place, and ours moves no more."""
    stranger = Insisting()
    sys.meta_path.insert(0, stranger)  # type: ignore[arg-type]
    for number in range(5):
        lab.write(f"lab_{number}.py")
        finder.watch([f"lab_{number}"])
        importlib.import_module(f"lab_{number}")
    assert recorder.imports == [f"lab_{number}" for number in range(5)]
    assert sys.meta_path[0] is stranger
    assert stranger.asked.count("lab_4") == 1
    assert len([entry for entry in sys.meta_path if entry is finder]) == 2
    finder.uninstall()
    assert finder not in sys.meta_path


@pytest.mark.parametrize("front", [True, False])
@pytest.mark.parametrize("kind", [StepsAside, Walks, SimulatedWatchdog])
def test_delegating_finder(
    lab: Lab, finder: Finder, recorder: Recorder, kind: type[Any], front: bool
) -> None:
    """Each execution is told once where a finder before or behind ours asks the others itself."""
    lab.write("lab_pkg/__init__.py")
    lab.write("lab_pkg/sub.py")
    finder.watch(["lab_pkg", "lab_pkg.sub"])
    stranger = kind()
    sys.meta_path.insert(0 if front else 1, stranger)
    module = importlib.import_module("lab_pkg.sub")
    importlib.reload(module)
    assert recorder.imports == ["lab_pkg", "lab_pkg.sub", "lab_pkg.sub"]
    assert lab.executions == recorder.imports
    if kind is SimulatedWatchdog:
        assert stranger.loaded == recorder.imports


@pytest.mark.parametrize("front", [True, False])
def test_finder_of_wrapt(
    lab: Lab, finder: Finder, recorder: Recorder, front: bool
) -> None:
    """With wrapt's finder before or behind ours and hooks on one module, each fires once."""
    lab.write("lab_mod.py")
    calls: list[Any] = []
    stranger = wrapt.importer.ImportHookFinder()
    sys.meta_path.insert(0 if front else 1, stranger)
    _hook_with_wrapt(calls.append, "lab_mod")
    finder.watch(["lab_mod"])
    module = importlib.import_module("lab_mod")
    assert calls == [module]
    assert recorder.modules == [module]
    assert isinstance(module.__loader__, importlib.machinery.SourceFileLoader)
    assert module.__loader__.get_source("lab_mod") is not None
    importlib.reload(module)
    assert recorder.modules == [module, module]


def _hook_with_wrapt(hook: Callable[[Any], None], name: str) -> None:
    """Register a hook without wrapt's own installation, which would stay for other tests."""
    wrapt.importer._post_import_hooks[name] = [hook]


@pytest.mark.filterwarnings("ignore::ImportWarning", "ignore::DeprecationWarning")
def test_finder_without_find_spec(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A finder of the old kind, which importlib knew up to Python 3.11, is left to importlib."""
    file = lab.write("lab_mod.py")

    class Old:
        def find_module(self, name: str, path: Any = None) -> Any:
            if name == "lab_mod":
                return importlib.machinery.SourceFileLoader(name, str(file))
            return None

    sys.path.remove(str(lab.folder))
    sys.meta_path.append(Old())  # type: ignore[arg-type]
    finder.watch(["lab_mod"])
    if sys.version_info < (3, 12):
        importlib.import_module("lab_mod")
        assert recorder.imports == []
        assert finder.is_whole("lab_mod")
    else:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("lab_mod")


def test_failing_finder(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """What another finder raises comes out of the import, and the next import is told."""
    lab.write("lab_mod.py")

    class Failing:
        def find_spec(self, *args: Any) -> Any:
            raise OSError("no disk")

    sys.meta_path.insert(1, Failing())  # type: ignore[arg-type]
    finder.watch(["lab_mod"])
    with pytest.raises(OSError, match="no disk"):
        importlib.import_module("lab_mod")
    del sys.meta_path[1]
    importlib.import_module("lab_mod")
    assert recorder.imports == ["lab_mod"]


def test_asked_by_two_threads(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """Threads that look for one name at once each get its instrumented spec."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    together = threading.Barrier(2, timeout=10)

    class Meeting:
        def find_spec(self, name: str, *args: Any) -> Any:
            if name == "lab_mod":
                together.wait()

    sys.meta_path.insert(1, Meeting())  # type: ignore[arg-type]
    specs: list[Any] = []
    threads = [
        threading.Thread(target=lambda: specs.append(finder.find_spec("lab_mod")))
        for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [spec is not None for spec in specs] == [True, True]
