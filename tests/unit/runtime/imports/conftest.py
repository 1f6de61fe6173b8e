"""A laboratory of generated modules, and a finder that is installed for one test."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.imports.finder import Finder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[4]


class Recorder:
    """A watcher that notes what it is told; `on_importing` and `on_imported` may raise."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.modules: list[Any] = []
        self.on_importing: Callable[[str], object] | None = None
        self.on_imported: Callable[[str, Any], object] | None = None

    def importing(self, name: str) -> None:
        self.events.append(("importing", name))
        if self.on_importing:
            self.on_importing(name)

    def imported(self, name: str, module: Any) -> None:
        self.events.append(("imported", name))
        self.modules.append(module)
        if self.on_imported:
            self.on_imported(name, module)

    def main_unreachable(self, name: str, reason: str) -> None:
        self.events.append(("unreachable", name))

    @property
    def imports(self) -> list[str]:
        """The names of the modules that were imported, in order."""
        return [name for event, name in self.events if event == "imported"]


class Lab:
    """Writes modules that log their executions in `lab_log.executions`, and imports them."""

    def __init__(self, folder: Path, log: Any) -> None:
        self.folder = folder
        self.log = log

    def write(self, path: str, code: str = "") -> Path:
        """Write a module whose first lines log its execution; return its file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        begin = "import lab_log\nlab_log.executions.append(__name__)\n"
        file.write_text(begin + textwrap.dedent(code))
        importlib.invalidate_caches()
        return file

    @property
    def executions(self) -> list[str]:
        """The names of the modules that were executed, in order."""
        executions: list[str] = self.log.executions
        return executions


@pytest.fixture(autouse=True)
def _restored_imports() -> Iterator[None]:
    """Begin without finders of ours, and undo what a test does to the import system."""
    modules = dict(sys.modules)
    path = sys.path[:]
    meta_path = sys.meta_path[:]
    hook = importlib.util.spec_from_file_location
    for finder in meta_path:
        if isinstance(finder, Finder):
            finder.uninstall()
    yield
    sys.path[:] = path
    sys.meta_path[:] = meta_path
    importlib.util.spec_from_file_location = hook
    for finder in meta_path:
        if isinstance(finder, Finder):
            finder.install()
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]
    sys.modules.update(modules)
    importlib.invalidate_caches()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An empty laboratory, whose folder is first on `sys.path`."""
    log: Any = types.ModuleType("lab_log")
    log.executions = []
    sys.modules["lab_log"] = log
    folder = tmp_path / "lab"
    folder.mkdir()
    sys.path.insert(0, str(folder))
    return Lab(folder, log)


@pytest.fixture
def recorder() -> Recorder:
    """The watcher of the test's finder."""
    return Recorder()


@pytest.fixture
def finder(recorder: Recorder) -> Iterator[Finder]:
    """A finder that tells the recorder, installed until the test ends."""
    finder = Finder(recorder)
    finder.install()
    yield finder
    finder.uninstall()


@pytest.fixture
def run_child(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a fresh interpreter that finds patchkit; a hang is an error after a time."""

    def run(
        script: str, *args: str, limit: float = 20.0
    ) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "child.py"
        file.write_text(
            f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n" + textwrap.dedent(script)
        )
        command = [sys.executable, *args, str(file)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            cwd=tmp_path,
        )

    return run
