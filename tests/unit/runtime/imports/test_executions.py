"""Every execution of a watched module is told once, and only executions are."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from patchkit.runtime.imports.finder import Finder
    from runtime.imports.conftest import Lab, Recorder


def test_import_is_told_before_and_after(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """A watcher hears of a module before its first line has run and after its last has."""
    lab.write("lab_mod.py", "value = 1")
    reports: list[object] = []
    recorder.on_importing = lambda name: reports.append(list(lab.executions))
    recorder.on_imported = lambda name, module: reports.append(module.value)
    finder.watch({"lab_mod"})
    module = importlib.import_module("lab_mod")
    assert recorder.events == [("importing", "lab_mod"), ("imported", "lab_mod")]
    assert reports == [[], 1]
    assert recorder.modules == [module]


def test_unwatched_module(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """Of other modules nothing is told, and their specs are not touched."""
    lab.write("lab_mod.py")
    finder.watch({"lab_other"})
    assert finder.find_spec("lab_mod") is None
    importlib.import_module("lab_mod")
    assert recorder.events == []


def test_watched_and_installed_thrice(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """However often a name is watched and the finder installed, an execution is told once."""
    lab.write("lab_mod.py")
    for _ in range(3):
        finder.watch(["lab_mod"])
        finder.install()
    importlib.import_module("lab_mod")
    assert recorder.imports == ["lab_mod"]
    assert [entry for entry in sys.meta_path if entry is finder] == [finder]


def test_submodule(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A submodule is watched by its full name, in a package that is not watched."""
    lab.write("lab_pkg/__init__.py")
    lab.write("lab_pkg/sub.py")
    finder.watch(["lab_pkg.sub"])
    importlib.import_module("lab_pkg.sub")
    assert lab.executions == ["lab_pkg", "lab_pkg.sub"]
    assert recorder.imports == ["lab_pkg.sub"]


def test_module_that_raises(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A module that raises is not told of as imported; the retry that succeeds is."""
    lab.write(
        "lab_mod.py", "if len(lab_log.executions) == 1: raise OSError('first time')"
    )
    finder.watch(["lab_mod"])
    with pytest.raises(OSError, match="first time"):
        importlib.import_module("lab_mod")
    assert recorder.imports == []
    importlib.import_module("lab_mod")
    assert recorder.imports == ["lab_mod"]


@pytest.mark.parametrize("moment", ["on_importing", "on_imported"])
def test_watcher_that_raises(
    lab: Lab, finder: Finder, recorder: Recorder, moment: str
) -> None:
    """What the watcher raises comes out of the import; the next import tells again."""
    lab.write("lab_mod.py")
    error = LookupError("the watcher's own")

    def refuse(*args: object) -> None:
        raise error

    setattr(recorder, moment, refuse)
    finder.watch(["lab_mod"])
    with pytest.raises(LookupError) as caught:
        importlib.import_module("lab_mod")
    assert caught.value is error
    assert error.__cause__ is None
    assert "lab_mod" not in sys.modules
    recorder.events.clear()
    setattr(recorder, moment, None)
    importlib.import_module("lab_mod")
    assert recorder.events == [("importing", "lab_mod"), ("imported", "lab_mod")]


def test_reload(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A reload is told like an import, with the same module."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    module = importlib.import_module("lab_mod")
    importlib.reload(module)
    assert recorder.events == [("importing", "lab_mod"), ("imported", "lab_mod")] * 2
    assert recorder.modules == [module, module]


def test_reload_of_module_imported_before(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """A module that was imported before anybody watched it is told of when it is reloaded."""
    lab.write("lab_mod.py")
    module = importlib.import_module("lab_mod")
    finder.watch(["lab_mod"])
    importlib.reload(module)
    assert recorder.imports == ["lab_mod"]


def test_eviction(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A module that is imported again after its eviction is told of again, as the new one."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    first = importlib.import_module("lab_mod")
    del sys.modules["lab_mod"]
    second = importlib.import_module("lab_mod")
    assert recorder.modules == [first, second]
    assert first is not second


def test_module_replaces_itself(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """Where a module puts another object in its place, the watcher gets that object."""
    lab.write(
        "lab_mod.py",
        "import sys, types\nsys.modules[__name__] = types.SimpleNamespace(new=1)",
    )
    finder.watch(["lab_mod"])
    assert importlib.import_module("lab_mod").new == 1
    assert [module.new for module in recorder.modules] == [1]


def test_module_executes_itself_again(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """A module that executes itself once more is told of once: when it is whole."""
    lab.write(
        "lab_mod.py",
        """
        again = len(lab_log.executions) == 1
        if again:
            __spec__.loader.exec_module(__import__("sys").modules[__name__])
        """,
    )
    finder.watch(["lab_mod"])
    importlib.import_module("lab_mod")
    assert lab.executions == ["lab_mod", "lab_mod"]
    assert recorder.imports == ["lab_mod"]


def test_circular_import(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """Modules that import each other are told of once each, the inner one first."""
    lab.write("lab_one.py", "import lab_two")
    lab.write("lab_two.py", "import lab_one")
    finder.watch(["lab_one", "lab_two"])
    importlib.import_module("lab_one")
    assert recorder.imports == ["lab_two", "lab_one"]


def test_watcher_imports(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A watcher may import, watched modules too, while it is told."""
    lab.write("lab_one.py")
    lab.write("lab_two.py")
    recorder.on_importing = lambda name: importlib.import_module("lab_two")
    finder.watch(["lab_one", "lab_two"])
    importlib.import_module("lab_one")
    assert recorder.imports == ["lab_two", "lab_one"]


def test_missing_module(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A watched module that does not exist is missing as ever, and told of once it does."""
    finder.watch(["lab_mod"])
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("lab_mod")
    assert caught.value.name == "lab_mod"
    lab.write("lab_mod.py")
    importlib.import_module("lab_mod")
    assert recorder.imports == ["lab_mod"]


STEPS = (
    "import lab_pkg",
    "import lab_pkg.sub",
    "evict",
    "evict sub",
    "reload",
    "fail",
    "succeed",
)


@given(steps=st.lists(st.sampled_from(STEPS), max_size=12))
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_told_equals_executed(
    lab: Lab, finder: Finder, recorder: Recorder, steps: list[str]
) -> None:
    """Law: the watcher is told of exactly the executions that the modules themselves counted."""
    code = "if lab_log.fail: raise OSError(__name__)\nlab_log.done.append(__name__)"
    if not (lab.folder / "lab_pkg").exists():
        lab.write("lab_pkg/__init__.py", code)
        lab.write("lab_pkg/sub.py", code)
    lab.log.fail = False
    lab.log.done = []
    recorder.events.clear()
    finder.watch(["lab_pkg", "lab_pkg.sub"])
    for step in ("evict", *steps):
        _take(step, lab)
    assert recorder.imports == lab.log.done


def _take(step: str, lab: Lab) -> None:
    """Take one step of the law, and let an import fail only where it is to."""
    verb, _, name = step.partition(" ")
    if verb in {"fail", "succeed"}:
        lab.log.fail = verb == "fail"
    elif verb == "evict":
        sys.modules.pop("lab_pkg.sub", None)
        if not name:
            sys.modules.pop("lab_pkg", None)
    else:
        try:
            if verb == "import":
                importlib.import_module(name)
            elif "lab_pkg" in sys.modules:
                importlib.reload(sys.modules["lab_pkg"])
        except OSError:
            assert lab.log.fail
