"""Whatever loads a module: it is told of, and the loader keeps its type and abilities."""

from __future__ import annotations

import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.resources
import importlib.util
import inspect
import linecache
import pickle
import sys
import types
import warnings
import zipfile
import zipimport
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.runtime.imports.finder import Finder
    from runtime.imports.conftest import Lab, Recorder


class _OneModuleFinder:
    """A finder that serves one module with a loader made for the test."""

    def __init__(self, name: str, loader: Any) -> None:
        self.name = name
        self.loader = loader

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return (
            importlib.util.spec_from_loader(name, self.loader)
            if name == self.name
            else None
        )


def test_source_loader(lab: Lab, finder: Finder) -> None:
    """A module from a file keeps a true SourceFileLoader, and tools find its source."""
    file = lab.write("lab_mod.py", "def double(x):\n    return 2 * x\n")
    finder.watch(["lab_mod"])
    module = importlib.import_module("lab_mod")
    loader = module.__loader__
    assert type(loader) is importlib.machinery.SourceFileLoader
    assert module.__spec__.loader is loader
    assert loader.get_source("lab_mod") == file.read_text()
    assert loader.get_data(str(file)) == file.read_bytes()
    assert inspect.getsource(module.double).startswith("def double")
    linecache.clearcache()
    assert linecache.getline(module.__file__, 3, vars(module)) == "def double(x):\n"
    assert pickle.loads(pickle.dumps(module.double)) is module.double


def test_module_attributes(lab: Lab, finder: Finder) -> None:
    """A watched module has the attributes and the spec that it would have unwatched."""
    lab.write("lab_pkg/__init__.py")
    plain = importlib.import_module("lab_pkg")
    del sys.modules["lab_pkg"]
    finder.watch(["lab_pkg"])
    watched = importlib.import_module("lab_pkg")
    assert vars(watched).keys() == vars(plain).keys()
    for name in ("__name__", "__package__", "__path__", "__file__", "__cached__"):
        assert getattr(watched, name) == getattr(plain, name)
    assert repr(watched) == repr(plain)
    assert type(watched.__spec__) is type(plain.__spec__)


def test_specs_stay_equal(lab: Lab, finder: Finder) -> None:
    """Two specs of one watched module are equal, as they are for an unwatched one."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    first, second = (importlib.util.find_spec("lab_mod") for _ in range(2))
    assert first == second
    assert first is not None
    assert second is not None
    assert hash(first.loader) == hash(second.loader)


def test_copies_of_loaders(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A shallow copy of a loader tells like it; a deep or pickled one is a plain loader."""
    lab.write("lab_mod.py")
    finder.watch(["lab_mod"])
    spec = importlib.util.find_spec("lab_mod")
    assert spec is not None
    copy.copy(spec.loader).exec_module(types.ModuleType("lab_mod"))  # type: ignore[union-attr]
    assert recorder.imports == ["lab_mod"]
    for travelled in (
        pickle.loads(pickle.dumps(spec.loader)),
        copy.deepcopy(spec.loader),
    ):
        travelled.exec_module(types.ModuleType("lab_mod"))
    assert len(lab.executions) == 3
    assert recorder.imports == ["lab_mod"]


def test_zip(lab: Lab, finder: Finder, recorder: Recorder, tmp_path: Path) -> None:
    """From a zip file only the watched modules are told of, and data in it can be read."""
    archive = tmp_path / "lab.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zip_one.py", "value = 1")
        file.writestr("zip_two.py", "value = 2")
        file.writestr("zip_pkg/__init__.py", "")
        file.writestr("zip_pkg/data.txt", "in a zip")
    sys.path.insert(0, str(archive))
    finder.watch(["zip_one", "zip_pkg"])
    modules = [
        importlib.import_module(name) for name in ("zip_one", "zip_two", "zip_pkg")
    ]
    assert recorder.imports == ["zip_one", "zip_pkg"]
    assert {type(module.__loader__) for module in modules} == {zipimport.zipimporter}
    assert (
        importlib.resources.files("zip_pkg").joinpath("data.txt").read_text()
        == "in a zip"
    )
    assert modules[0].__loader__.get_source("zip_one") == "value = 1"


def test_resources_in_folder(lab: Lab, finder: Finder) -> None:
    """Data beside a watched package, and in a namespace package, is found as ever."""
    lab.write("lab_pkg/__init__.py")
    for name in ("lab_pkg", "lab_space"):
        (lab.folder / name).mkdir(exist_ok=True)
        (lab.folder / name / "data.txt").write_text(f"in {name}")
    finder.watch(["lab_pkg", "lab_space"])
    for name in ("lab_pkg", "lab_space"):
        resource = importlib.resources.files(name).joinpath("data.txt")
        assert resource.read_text() == f"in {name}"
        with importlib.resources.as_file(resource) as path:
            assert path == lab.folder / name / "data.txt"


def test_namespace_package(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A namespace package is told of, looks like an unwatched one, and grows as ever."""
    lab.write("one/space/sub_one.py")
    lab.write("two/space/sub_two.py")
    lab.write("one/plain/sub.py")
    sys.path.insert(0, str(lab.folder / "one"))
    finder.watch(["space"])
    module = importlib.import_module("space")
    plain = importlib.import_module("plain")
    assert recorder.events == [("importing", "space"), ("imported", "space")]
    assert vars(module).keys() == vars(plain).keys()
    assert module.__file__ is plain.__file__ is None
    assert type(module.__loader__) is type(plain.__loader__)
    assert type(module.__path__) is type(plain.__path__)
    assert repr(module).partition("space")[0] == repr(plain).partition("plain")[0]
    sys.path.append(str(lab.folder / "two"))
    importlib.import_module("space.sub_one")
    importlib.import_module("space.sub_two")
    importlib.reload(module)
    assert recorder.imports == ["space", "space"]


@pytest.mark.parametrize("name", ["_heapq", "_json", "_datetime"])
def test_extension(finder: Finder, recorder: Recorder, name: str) -> None:
    """A module in C, built in or from a library, is told of each time it is imported afresh."""
    importlib.import_module(name)
    del sys.modules[name]
    finder.watch([name])
    module = importlib.import_module(name)
    assert recorder.events == [("importing", name), ("imported", name)]
    assert recorder.modules == [module]


def test_built_in_module(finder: Finder, recorder: Recorder) -> None:
    """A built-in module is told of, and its loader is still a kind of BuiltinImporter."""
    sys.modules.pop("_symtable", None)
    untouched = vars(importlib.machinery.BuiltinImporter)["exec_module"]
    finder.watch(["_symtable"])
    module = importlib.import_module("_symtable")
    assert recorder.imports == ["_symtable"]
    assert issubclass(module.__loader__, importlib.machinery.BuiltinImporter)
    assert module.__loader__.is_package("_symtable") is False
    assert repr(module) == "<module '_symtable' (built-in)>"
    assert module.__loader__ is not importlib.machinery.BuiltinImporter
    assert vars(importlib.machinery.BuiltinImporter)["exec_module"] is untouched


def test_frozen_module(finder: Finder, recorder: Recorder) -> None:
    """A frozen module is told of, and its loader is still a kind of FrozenImporter."""
    finder.watch(["__phello__"])
    sys.modules.pop("__phello__", None)
    module = importlib.import_module("__phello__")
    assert recorder.imports == ["__phello__"]
    assert issubclass(module.__loader__, importlib.machinery.FrozenImporter)
    assert module.__loader__.get_code("__phello__") is not None
    importlib.reload(module)
    assert recorder.imports == ["__phello__"] * 2


def test_lazy_loader(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A lazy module is told of when it loads in truth, not when its shell is made."""
    lab.write("lab_mod.py", "value = 1")
    finder.watch(["lab_mod"])
    spec: Any = importlib.util.find_spec("lab_mod")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules["lab_mod"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert recorder.events == []
    assert lab.executions == []
    assert module.value == 1
    assert recorder.events == [("importing", "lab_mod"), ("imported", "lab_mod")]


def test_lazy_finder(lab: Lab, finder: Finder, recorder: Recorder) -> None:
    """A module that a finder makes lazy is told of, and loads when the watcher reads it."""
    lab.write("lab_mod.py", "value = 1")
    sys.meta_path.append(_LazyFinder())  # type: ignore[arg-type]
    sys.meta_path.remove(importlib.machinery.PathFinder)
    recorder.on_imported = lambda name, module: setattr(
        module, "value", module.value + 1
    )
    finder.watch(["lab_mod"])
    module = importlib.import_module("lab_mod")
    assert recorder.events == [("importing", "lab_mod"), ("imported", "lab_mod")]
    assert module.value == 2
    assert lab.executions == ["lab_mod"]


class _LazyFinder:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and name == "lab_mod":
            spec.loader = importlib.util.LazyLoader(spec.loader)  # type: ignore[arg-type]
        return spec


class _OldLoader:
    """A loader of the old kind: nothing but load_module."""

    def load_module(self, name: str) -> Any:
        module = sys.modules.setdefault(name, types.ModuleType(name))
        module.value = 1  # type: ignore[attr-defined]
        return module


@pytest.mark.filterwarnings("ignore::ImportWarning", "ignore::DeprecationWarning")
@pytest.mark.skipif(
    sys.version_info >= (3, 15), reason="Python 3.15 knows no load_module"
)
def test_old_loader(finder: Finder, recorder: Recorder) -> None:
    """A loader that has only load_module is left alone; its module counts as whole."""
    loader: Any = _OldLoader()
    sys.meta_path.append(_OneModuleFinder("lab_old", loader))  # type: ignore[arg-type]
    finder.watch(["lab_old"])
    module = importlib.import_module("lab_old")
    assert module.value == 1
    assert recorder.imports == []
    assert module.__loader__ is loader
    assert finder.is_whole("lab_old")


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: Any) -> Any:
        self.made = types.ModuleType(spec.name)
        return self.made

    def exec_module(self, module: Any) -> None:
        module.is_the_made_one = self.made is module


class _UncopiableLoader(_Loader):
    def __copy__(self) -> Any:
        raise NotImplementedError("not to be copied")


class _SelfCopyingLoader(_Loader):
    def __copy__(self) -> Any:
        return self


class _SlottedLoader:
    __slots__ = ("made",)
    create_module = _Loader.create_module
    exec_module = _Loader.exec_module


class _DelegatingLoader:
    def __init__(self) -> None:
        self.inner = _Loader()

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "inner"), name)


class _UsurpingLoader(_DelegatingLoader):
    """Puts itself back into the spec, as ddtrace's does for a namespace package."""

    def __init__(self) -> None:
        super().__init__()
        self.create_module = self._create_module

    def _create_module(self, spec: Any) -> Any:
        spec.loader = self
        return self.inner.create_module(spec)


LOADERS = [
    _UsurpingLoader,
    _Loader,
    _UncopiableLoader,
    _SelfCopyingLoader,
    _SlottedLoader,
    _DelegatingLoader,
]


@pytest.mark.parametrize("kind", LOADERS)
def test_loader_with_state(finder: Finder, recorder: Recorder, kind: type[Any]) -> None:
    """A loader that keeps state or cannot be copied works, is told of, and keeps its type."""
    loader = kind()
    sys.meta_path.append(_OneModuleFinder("lab_odd", loader))  # type: ignore[arg-type]
    finder.watch(["lab_odd"])
    module = importlib.import_module("lab_odd")
    assert module.is_the_made_one
    assert recorder.modules == [module]
    assert isinstance(module.__loader__, kind)
    assert "exec_module" not in getattr(loader, "__dict__", {})


def test_finder_that_remembers_its_spec(finder: Finder, recorder: Recorder) -> None:
    """The spec of a finder that returns the same one each time is instrumented once."""
    remembered = importlib.util.spec_from_loader("lab_odd", _Loader())
    stranger = _OneModuleFinder("lab_odd", None)
    stranger.find_spec = lambda name, *_: remembered if name == "lab_odd" else None  # type: ignore[method-assign]
    sys.meta_path.append(stranger)  # type: ignore[arg-type]
    finder.watch(["lab_odd"])
    loaders = [importlib.util.find_spec("lab_odd").loader for _ in range(3)]  # type: ignore[union-attr]
    assert loaders[0] is loaders[1] is loaders[2]
    importlib.import_module("lab_odd")
    assert recorder.imports == ["lab_odd"]


def test_warning_blames_the_importer(lab: Lab, finder: Finder) -> None:
    """A module that warns of itself blames the file that imports it, as if it were unwatched."""
    lab.write(
        "lab_mod.py",
        "import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)",
    )
    finder.watch(["lab_mod"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import lab_mod  # type: ignore[import-not-found]  # noqa: F401
    assert [warning.filename for warning in caught] == [__file__]
