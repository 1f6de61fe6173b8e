"""What scripts find by Python and pip: the copy, and the release that it is of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import Memory

from authoring.scripts.workplaces import workspace_in
from patchkit.authoring.isolation.commands import run_isolated
from patchkit.authoring.scripts.stand_ins import StandIns

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.authoring.scripts.workspace import Workspace

pytestmark = pytest.mark.processes

FILES = {
    "up/__init__.py": "raise SystemExit('executed')\n",
    "up/core/__init__.py": "raise SystemExit('executed')\n",
    "up/core/lib.py": "raise SystemExit('executed')\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A copy of `up` 1.0 whose modules say so if they are executed."""
    made = workspace_in(tmp_path)
    made.unpack(Memory("up 1.0", "1.0", FILES))
    return made


def output_of(workspace: Workspace, *command: str, code: int = 0) -> str:
    """Run a command as a step runs it, and return what it prints."""
    environ = StandIns(workspace).environ()
    done = run_isolated(command, timeout=60, environ=environ, cwd=workspace.folder)
    assert done.code == code, done.output
    return done.output.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import up; print(up.__path__[0] + '/core/lib.py')",
        "import os, up; print(os.path.dirname(up.__file__) + '/core/lib.py')",
        "import up.core.lib as lib; print(lib.__file__)",
        "from up.core import lib; print(lib.__file__)",
        "import inspect; from up.core import lib; print(inspect.getsourcefile(lib))",
        "from importlib.util import find_spec; print(find_spec('up.core.lib').origin)",
        "import pkgutil; print(pkgutil.get_loader('up.core.lib').path)",
        "import site; print(site.getsitepackages()[0] + '/up/core/lib.py')",
        "import site; print(site.getusersitepackages() + '/up/core/lib.py')",
        "import sysconfig; print(sysconfig.get_path('purelib') + '/up/core/lib.py')",
        "import sysconfig as s; print(s.get_paths()['platlib'] + '/up/core/lib.py')",
        "from importlib.metadata import distribution as d; "
        "print(d('up').locate_file('up/core/lib.py'))",
        "from importlib.metadata import files; "
        "print([f for f in files('up') if f.name == 'lib.py'][0].locate())",
        "import importlib.resources as r; print(r.files('up') / 'core' / 'lib.py')",
        "import sys; print(next(p for p in sys.path if 'site-packages' in p)"
        " + '/up/core/lib.py')",
        "import os, sys; v = 'python%d.%d' % sys.version_info[:2]; print(os.path.join("
        "sys.prefix, 'lib', v, 'site-packages', 'up', 'core', 'lib.py'))",
    ],
)
def test_python_finds_the_files_of_the_copy(workspace: Workspace, code: str) -> None:
    """In each way in which scripts ask; nothing of the package is executed."""
    found = output_of(workspace, "python3", "-W", "ignore", "-c", code)
    assert found == str(workspace.site / "up" / "core" / "lib.py")


def test_the_folder_of_another_python_is_that_of_the_copy(workspace: Workspace) -> None:
    """Scripts for an image name the Python of the image."""
    code = "import os, sys; print(os.listdir(sys.prefix + '/lib/python3.9/site-packages/up'))"
    assert "'core'" in output_of(workspace, "python3.12", "-c", code)


@pytest.mark.parametrize(
    "code",
    [
        "import up; print(up.__version__)",
        "from up.core.lib import __version__; print(__version__)",
        "from importlib.metadata import version; print(version('up'))",
    ],
)
def test_python_finds_the_version_of_the_copy(workspace: Workspace, code: str) -> None:
    assert output_of(workspace, "python", "-c", code) == "1.0"


def test_the_error_for_code_of_the_copy_says_why(workspace: Workspace) -> None:
    code = "import up.core.lib; up.core.lib.f"
    output = output_of(workspace, "python3", "-c", code, code=1)
    assert output.endswith(
        "up.core.lib: found no 'f', as the copy is not executed; expected what its files say"
    )


@pytest.mark.parametrize(
    "command",
    ["pip show up", "pip3 show -f up", "python3 -m pip show up", "uv pip show up"],
)
def test_pip_shows_the_copy(workspace: Workspace, command: str) -> None:
    lines = output_of(workspace, *command.split()).splitlines()
    assert lines[:2] == ["Name: up", "Version: 1.0"]
    (location,) = (line for line in lines if line.startswith("Location: "))
    assert location.removeprefix("Location: ").rstrip("/") == str(workspace.site)


def test_installers_are_left_out(workspace: Workspace) -> None:
    """They succeed, and what they were to do is known."""
    script = (
        "set -e; pip install a; apt-get update -y; sudo -E apt install 'b c'; "
        "python3 -m pip install d; uv pip install e; sudo touch done"
    )
    output_of(workspace, "sh", "-c", script)
    assert (workspace.folder / "done").exists()
    stand_ins = StandIns(workspace)
    assert stand_ins.take_left_out() == [
        "pip install a",
        "apt-get update -y",
        "apt install b c",
        "pip install d",
        "pip install e",
    ]
    assert stand_ins.take_left_out() == []


def test_the_environment_leads_into_the_copy(workspace: Workspace) -> None:
    """The home folder, that of temporary files, and the one of a virtual environment."""
    script = 'echo "$HOME $TMPDIR $VIRTUAL_ENV $PATCHKIT"'
    assert output_of(workspace, "sh", "-c", script).split() == [
        str(workspace.home),
        str(workspace.temporary),
        str(workspace.prefix),
        "0",
    ]
    assert os.environ["HOME"] != str(workspace.home)
