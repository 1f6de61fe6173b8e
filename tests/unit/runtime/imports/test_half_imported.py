"""Waiting for the end of an import that had begun before anybody watched."""

from __future__ import annotations

import copy
import importlib
import importlib.machinery
import importlib.util
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.imports.finder import Finder
from patchkit.runtime.imports.half_imported import is_half_imported

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.imports.conftest import Lab, Recorder

NAME = "lab_mod"


class Half:
    """Imports a module whose first line calls back, so that a test can act on the half."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def import_with(
        self, act: Callable[[Any], object], statements: str = "value = 1"
    ) -> Any:
        """Import a module that calls `act` with itself, and then executes the statements."""
        self.lab.log.act = lambda: act(sys.modules[NAME])
        self.lab.write(f"{NAME}.py", f"lab_log.act()\n{statements}")
        return importlib.import_module(NAME)


@pytest.fixture
def half(lab: Lab) -> Half:
    return Half(lab)


def test_watcher_is_told_at_the_end_of_the_import(
    half: Half, finder: Finder, recorder: Recorder
) -> None:
    """The watcher is told when the import ends, with the whole module; its spec is plain again."""
    answers: list[object] = []
    recorder.on_imported = lambda name, module: answers.append(module.value)

    def act(module: Any) -> None:
        answers.extend([is_half_imported(module), finder.await_import(NAME, module)])

    module = half.import_with(act)
    assert answers == [True, True, 1]
    assert recorder.events == [("imported", NAME)]
    assert type(module.__spec__) is importlib.machinery.ModuleSpec
    assert not any("patchkit" in key for key in vars(module.__spec__))
    assert not is_half_imported(module)
    assert not finder.await_import(NAME, module)


def test_awaited_several_times(half: Half, finder: Finder, recorder: Recorder) -> None:
    """A module that is awaited several times is told of once, and once by another finder."""
    second_recorder = type(recorder)()
    second = Finder(second_recorder)
    second.install()

    def act(module: Any) -> None:
        for watching in (finder, second, finder, second):
            assert watching.await_import(NAME, module)

    half.import_with(act)
    assert recorder.imports == second_recorder.imports == [NAME]
    second.uninstall()


def test_import_that_fails(half: Half, finder: Finder, recorder: Recorder) -> None:
    """An import that fails is not told of; the next one is no longer awaited."""

    def act(module: Any) -> None:
        finder.await_import(NAME, module)

    with pytest.raises(OSError, match="late"):
        half.import_with(act, statements="raise OSError('late')")
    assert recorder.events == []
    half.import_with(lambda module: None)
    assert recorder.events == []


def test_watcher_that_raises(half: Half, finder: Finder, recorder: Recorder) -> None:
    """What the watcher raises comes out of the import, which has failed then."""
    error = LookupError("no")

    def refuse(name: str, module: Any) -> None:
        raise error

    recorder.on_imported = refuse
    with pytest.raises(LookupError) as caught:
        half.import_with(lambda module: finder.await_import(NAME, module))
    assert caught.value is error
    assert NAME not in sys.modules


def test_module_replaces_itself(half: Half, finder: Finder, recorder: Recorder) -> None:
    """Where the module puts another object in its place, the watcher gets that object."""
    statements = (
        "import sys, types\nsys.modules[__name__] = types.SimpleNamespace(new=1)"
    )
    half.import_with(lambda module: finder.await_import(NAME, module), statements)
    assert [module.new for module in recorder.modules] == [1]


def test_watched_already(half: Half, finder: Finder, recorder: Recorder) -> None:
    """A module that is watched and half imported is told of once, though it is awaited too."""
    finder.watch([NAME])
    answers: list[bool] = []
    half.import_with(lambda module: answers.append(finder.await_import(NAME, module)))
    assert answers == [True]
    assert recorder.events == [("importing", NAME), ("imported", NAME)]


def test_asked_while_told(half: Half, finder: Finder, recorder: Recorder) -> None:
    """While the watcher is told of a module the module is whole: there is nothing to await."""
    finder.watch([NAME])
    answers: list[bool] = []
    recorder.on_imported = lambda name, module: answers.append(
        finder.await_import(name, module)
    )
    half.import_with(lambda module: None)
    assert answers == [False]
    assert recorder.imports == [NAME]


def test_asked_during_reload(half: Half, finder: Finder, recorder: Recorder) -> None:
    """A module that is being reloaded under watch will be told of."""
    module = half.import_with(lambda module: None)
    answers: list[bool] = []
    half.lab.log.act = lambda: answers.append(finder.await_import(NAME, module))
    finder.watch([NAME])
    importlib.reload(module)
    assert answers == [True]
    assert recorder.imports == [NAME]


def test_uninstalled_meanwhile(half: Half, finder: Finder, recorder: Recorder) -> None:
    """A finder that has been uninstalled tells nothing at the end."""

    def act(module: Any) -> None:
        assert finder.await_import(NAME, module)
        finder.uninstall()

    half.import_with(act)
    assert recorder.events == []


def test_spec_while_it_is_awaited(
    half: Half, finder: Finder, recorder: Recorder
) -> None:
    """A spec that is awaited compares, prints and reads as before."""

    def act(module: Any) -> None:
        spec = module.__spec__
        spec_before = copy.copy(spec)
        spec_repr = repr(spec)
        module_text = str(module)
        assert finder.await_import(NAME, module)
        assert repr(spec) == spec_repr
        assert str(module) == module_text
        assert spec_before == spec
        assert isinstance(spec, importlib.machinery.ModuleSpec)
        assert type(spec).__module__ == type(spec_before).__module__
        assert type(spec).__qualname__ == type(spec_before).__qualname__
        spec._initializing = True
        assert spec._initializing is True
        assert spec.parent == ""
        spec.cached = spec.cached
        assert importlib.import_module(NAME) is module
        with pytest.raises(AttributeError, match="partially initialized"):
            _ = module.not_yet
        assert recorder.events == []

    half.import_with(act)
    assert recorder.imports == [NAME]


class SpecOfAnotherKind(importlib.machinery.ModuleSpec):
    pass


class SlottedSpec(importlib.machinery.ModuleSpec):
    __slots__ = ("more",)


class FinalSpec(importlib.machinery.ModuleSpec):
    def __init_subclass__(cls) -> None:
        raise TypeError("nothing derives from this")


@pytest.mark.parametrize(
    ("kind", "is_awaitable"),
    [(SpecOfAnotherKind, True), (SlottedSpec, True), (FinalSpec, False)],
)
def test_spec_of_another_kind(
    lab: Lab, finder: Finder, recorder: Recorder, kind: type[Any], is_awaitable: bool
) -> None:
    """A spec of a derived class is awaited, unless nothing can derive from that class."""
    module = types.ModuleType(NAME)
    module.__spec__ = spec = kind(NAME, None)
    sys.modules[NAME] = module
    spec._initializing = True
    assert finder.await_import(NAME, module) is is_awaitable
    spec._initializing = False
    assert recorder.imports == ([NAME] if is_awaitable else [])
    assert type(spec) is kind
    assert not any("patchkit" in key for key in vars(spec))


@pytest.mark.parametrize(
    "odd", [types.ModuleType("odd"), types.SimpleNamespace(), object(), None]
)
def test_objects_that_are_no_modules(finder: Finder, odd: Any) -> None:
    """What is no module, or has no spec, is not half imported and cannot be awaited."""
    assert not is_half_imported(odd)
    assert not finder.await_import("odd", odd)


def test_lazy_shell(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """The shell of a lazy module counts as a module that is there; asking does not load it."""
    file = lab.write(f"{NAME}.py", "value = 1")
    spec: Any = importlib.util.spec_from_file_location(NAME, file)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not is_half_imported(module)
    assert finder.is_whole(NAME)
    assert lab.executions == []
    assert module.value == 1


def test_lazy_module_that_loads(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A lazy module that is loading already, unwatched, cannot be awaited."""
    answers: list[bool] = []
    lab.log.act = lambda: answers.append(finder.await_import(NAME, module))
    file = lab.write(f"{NAME}.py", "lab_log.act()\nvalue = 1")
    spec: Any = importlib.util.spec_from_file_location(NAME, file)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.value == 1
    assert answers == [False]


def test_threads_that_ask_while_an_import_ends(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """Law: the watcher is told of an import exactly if any thread was promised it as it ended."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(500):
            _race_with_the_end(finder, recorder)
    finally:
        sys.setswitchinterval(interval)


def _race_with_the_end(finder: Finder, recorder: Recorder) -> None:
    """Let three threads await an import that ends at the same time."""
    recorder.events.clear()
    module = sys.modules[NAME] = types.ModuleType(NAME)
    module.__spec__ = spec = importlib.machinery.ModuleSpec(NAME, None)
    spec._initializing = True  # type: ignore[attr-defined]
    together = threading.Barrier(4, timeout=10)
    answers: list[bool] = []

    def ask() -> None:
        together.wait()
        answers.append(finder.await_import(NAME, module))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    together.wait()
    spec._initializing = False  # type: ignore[attr-defined]
    for thread in threads:
        thread.join(10)
    assert bool(recorder.imports) == any(answers)
    assert type(spec) is importlib.machinery.ModuleSpec
    assert not any("patchkit" in key for key in vars(spec))


class StagedSpec(importlib.machinery.ModuleSpec):
    """Stops whoever reads or stores `_initializing`, for a test to interleave the two."""

    on_read: Callable[[], object] = staticmethod(lambda: None)
    on_have_read: Callable[[], object] = staticmethod(lambda: None)
    on_stored: Callable[[], object] = staticmethod(lambda: None)
    value = True

    @property
    def _initializing(self) -> bool:
        self.on_read()
        value = self.value
        self.on_have_read()
        return value

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        self.value = value
        self.on_stored()


def test_asked_too_late(finder: Finder, recorder: Recorder) -> None:
    """Who asks too late takes back its own request, never the promise made to another."""
    module = sys.modules[NAME] = types.ModuleType(NAME)
    module.__spec__ = spec = StagedSpec(NAME, None)
    assert finder.await_import(NAME, module)
    reads: list[bool] = []
    is_asked = threading.Event()
    stored = threading.Event()
    answers: list[bool] = []
    late = threading.Thread(
        target=lambda: answers.append(finder.await_import(NAME, module))
    )

    def before_second_read() -> None:
        if threading.current_thread() is late:
            reads.append(True)
            if len(reads) == 2:
                is_asked.set()
                assert stored.wait(10)

    def meanwhile() -> None:
        stored.set()
        late.join(10)

    spec.on_read = before_second_read
    spec.on_stored = meanwhile
    late.start()
    assert is_asked.wait(10)
    spec._initializing = False
    assert answers == [False]
    assert recorder.imports == [NAME]


def test_asked_while_the_import_ends(finder: Finder, recorder: Recorder) -> None:
    """Who asks while the import ends unnoticed is refused, and the spec stays plain."""
    module = sys.modules[NAME] = types.ModuleType(NAME)
    module.__spec__ = spec = StagedSpec(NAME, None)

    def end() -> None:
        spec.on_have_read = lambda: None
        spec._initializing = False

    spec.on_have_read = end
    assert not finder.await_import(NAME, module)
    assert type(spec) is StagedSpec
    assert recorder.events == []
