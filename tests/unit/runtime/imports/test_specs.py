"""Ways to a module other than an import statement, and what installing leaves behind."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pickle
import pkgutil
import runpy
import sys
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.imports.finder import Finder

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.imports.conftest import Lab, Recorder


def test_search_without_import(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """Searching for a module's spec, as vLLM does for torch, tells nothing; its import is told."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    for _ in range(3):
        assert importlib.util.find_spec("lab_mod") is not None
    assert recorder.events == []
    assert finder in sys.meta_path
    importlib.import_module("lab_mod")
    assert recorder.imports == ["lab_mod"]


@pytest.mark.parametrize("how", ["from path", "from path, registered", "found"])
def test_loaded_by_hand(lab: Lab, finder: Finder, recorder: Recorder, how: str) -> None:
    """A module that is made from a spec and executed by hand is told of each time."""
    file = lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    if how == "found":
        spec = importlib.util.find_spec("lab_mod")
    else:
        spec = importlib.util.spec_from_file_location("lab_mod", file)
    assert spec is not None
    assert spec.loader is not None
    modules = []
    for _ in range(2):
        module = importlib.util.module_from_spec(spec)
        modules.append(module)
        if how.endswith("registered"):
            sys.modules["lab_mod"] = module
        spec.loader.exec_module(module)
    assert recorder.modules == modules


def test_second_copy_of_a_module(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A copy loaded by hand beside the imported module is told of to nobody."""
    file = lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    imported = importlib.import_module("lab_mod")
    spec: Any = importlib.util.spec_from_file_location("lab_mod", file)
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    assert lab.executions == ["lab_mod", "lab_mod"]
    assert recorder.events == [("importing", "lab_mod"), ("imported", "lab_mod")]
    assert recorder.modules == [imported]


def test_unwatched_module_from_a_path(
    lab: Lab, finder: Finder, recorder: Recorder
) -> None:
    """A module that is not watched is loaded from a path by a loader that is not touched."""
    file = lab.write("lab_mod.py")
    finder.watch(["lab_other"])
    spec: Any = importlib.util.spec_from_file_location("lab_mod", file)
    assert "exec_module" not in vars(spec.loader)
    assert importlib.util.spec_from_file_location("lab_mod", "lab_mod.unknown") is None


def test_spec_from_file_location_looks_as_ever(finder: Finder) -> None:
    """The function of importlib.util keeps its signature, and is pickled by reference."""
    function = importlib.util.spec_from_file_location
    assert list(inspect.signature(function).parameters)[:2] == ["name", "location"]
    assert pickle.loads(pickle.dumps(function)) is function
    assert function(name="lab_mod", location=__file__) is not None


def test_uninstall(lab: Lab, recorder: Recorder) -> None:
    """A finder that is uninstalled restores what it changed; what it instrumented tells nothing."""
    lab.write("lab_mod.py")
    before = sys.meta_path[:], importlib.util.spec_from_file_location
    finder = Finder(recorder)
    finder.install()
    finder.watch(["lab_mod"])
    spec: Any = importlib.util.find_spec("lab_mod")
    finder.uninstall()
    finder.uninstall()
    assert (sys.meta_path, importlib.util.spec_from_file_location) == before
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    importlib.import_module("lab_mod")
    assert len(lab.executions) == 2
    assert recorder.events == []
    finder.install()
    importlib.reload(sys.modules["lab_mod"])
    assert recorder.imports == ["lab_mod"]
    finder.uninstall()


def test_uninstall_under_another_hook(
    lab: Lab, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody put over our hook stays, and our hook beneath it changes nothing."""
    file = lab.write("lab_mod.py")
    original = importlib.util.spec_from_file_location
    finder = Finder(recorder)
    finder.install()
    finder.watch(["lab_mod"])
    over = functools.partial(importlib.util.spec_from_file_location)
    monkeypatch.setattr(importlib.util, "spec_from_file_location", over)
    finder.uninstall()
    assert importlib.util.spec_from_file_location is over
    spec: Any = importlib.util.spec_from_file_location("lab_mod", file)
    assert spec == original("lab_mod", file)


def test_several_finders(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """Two finders each tell their own watcher, keep their places, and leave no trace."""
    lab.write("lab_mod.py")
    file = lab.write("lab_path.py")
    hook = importlib.util.spec_from_file_location
    second_recorder = type(recorder)()
    second = Finder(second_recorder)
    second.install()
    assert importlib.util.spec_from_file_location is hook
    for watching in (finder, second):
        watching.watch(["lab_mod", "lab_path"])
    importlib.import_module("lab_mod")
    spec: Any = importlib.util.spec_from_file_location("lab_path", file)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert recorder.imports == second_recorder.imports == ["lab_mod", "lab_path"]
    assert [entry for entry in sys.meta_path if isinstance(entry, Finder)] == [
        second,
        finder,
    ]
    finder.uninstall()
    assert importlib.util.spec_from_file_location is hook
    second.uninstall()
    assert importlib.util.spec_from_file_location is not hook
    assert not any(isinstance(entry, Finder) for entry in sys.meta_path)


def test_uninstall_while_told(lab: Lab, recorder: Recorder) -> None:
    """A watcher may uninstall the finder when it is told; the import goes on."""
    lab.write("lab_mod.py")
    finder = Finder(recorder)
    finder.install()
    finder.watch(["lab_mod"])
    recorder.on_importing = lambda name: finder.uninstall()
    importlib.import_module("lab_mod")
    assert recorder.events == [("importing", "lab_mod")]


@pytest.mark.processes
def test_importlib_util_later(run_child: Callable[..., Any]) -> None:
    """Where importlib.util is not there yet it is not imported, and hooked when it comes."""
    child = run_child(
        """
        class Watcher:
            def importing(self, name): print("importing", name)
            def imported(self, name, module): print("imported", name)
        from patchkit.runtime.imports.finder import Finder
        assert "importlib.util" not in sys.modules
        finder = Finder(Watcher())
        finder.install()
        finder.watch(["child"])
        assert "importlib.util" not in sys.modules
        import importlib, importlib.util
        for _ in range(2):
            spec = importlib.util.spec_from_file_location("child", __file__)
            assert "exec_module" in vars(spec.loader)
            importlib.reload(importlib.util)
        for ours in [entry for entry in sys.meta_path if isinstance(entry, Finder)]:
            ours.uninstall()
        import importlib._bootstrap_external as external
        assert importlib.util.spec_from_file_location is external.spec_from_file_location
        assert finder not in sys.meta_path
        """,
        "-I",
        "-S",
    )
    assert (child.stdout, child.stderr) == ("", "")


def test_importlib_util_watched(finder: Finder, recorder: Recorder) -> None:
    """A watcher of importlib.util itself is told of its reload, and the hook is put on again."""
    finder.watch(["importlib.util"])
    importlib.reload(importlib.util)
    assert recorder.imports == ["importlib.util"]
    assert importlib.util.spec_from_file_location.__closure__ is not None


def test_walk_of_pkgutil(lab: Lab, finder: Finder) -> None:
    """Walking packages finds watched modules like others."""
    lab.write("lab_pkg/__init__.py")
    lab.write("lab_pkg/inner/__init__.py")
    lab.write("lab_pkg/inner/leaf.py")
    finder.watch(["lab_pkg", "lab_pkg.inner", "lab_pkg.inner.leaf"])
    package = importlib.import_module("lab_pkg")
    assert [info.name for info in pkgutil.iter_modules([str(lab.folder)])] == [
        "lab_pkg"
    ]
    names = [info.name for info in pkgutil.walk_packages(package.__path__, "lab_pkg.")]
    assert names == ["lab_pkg.inner", "lab_pkg.inner.leaf"]
    assert pkgutil.resolve_name("lab_pkg.inner.leaf:lab_log") is lab.log


def test_run_module(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """`runpy` runs watched modules and packages; what they import is told of."""
    lab.write("lab_pkg/__init__.py")
    lab.write("lab_pkg/__main__.py", "import lab_pkg.sub\nvalue = 1")
    lab.write("lab_pkg/sub.py")
    finder.watch(["lab_pkg", "lab_pkg.__main__", "lab_pkg.sub"])
    assert runpy.run_module("lab_pkg")["value"] == 1
    del sys.modules["lab_pkg.sub"]
    assert runpy.run_module("lab_pkg.sub")["__name__"] == "lab_pkg.sub"
    importlib.import_module("lab_pkg.sub")
    assert recorder.imports == ["lab_pkg", "lab_pkg.sub", "lab_pkg.sub"]


@pytest.mark.processes
def test_python_m(lab: Lab, run_child: Callable[..., Any]) -> None:
    """`python -m` imports a watched module under its own name, then runs its main part."""
    (lab.folder / "lab_log.py").write_text("executions = []")
    lab.write(
        "lab_main.py", "if __name__ == '__main__':\n    print(__name__, sys.argv[1:])"
    )
    child = run_child(
        f"""
        class Watcher:
            def importing(self, name): print("importing", name)
            def imported(self, name, module): print("imported", name)
        from patchkit.runtime.imports.finder import Finder
        finder = Finder(Watcher())
        finder.install()
        finder.watch(["lab_main"])
        sys.path.insert(0, {str(lab.folder)!r})
        import builtins, runpy
        builtins.sys = sys
        sys.argv = ["-m", "argument"]
        runpy._run_module_as_main("lab_main")
        """
    )
    lines = ["importing lab_main", "imported lab_main", "lab_main ['argument']"]
    assert (child.stdout.splitlines(), child.stderr) == (lines, "")
