"""Writes the programs that stand for others while scripts run: `python`, `pip`, `sudo`, …"""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from patchkit.authoring.scripts import (
    edit_watch,
    lookups,
    python_runner,
    stand_in_programs,
    watched_files,
)
from patchkit.authoring.scripts.workspace import MINORS, Workspace

INSTALLERS = (
    "apt",
    "apt-get",
    "apk",
    "conda",
    "dnf",
    "mamba",
    "micromamba",
    "npm",
    "poetry",
    "yum",
)
"""Programs that install things, of which nothing is run."""
PIP = ("pip", "pip3")
EDITORS = ("awk", "ed", "ex", "gawk", "mawk", "patch", "perl", "sed")
"""Programs that edit files, which are run, and watched."""
_OTHER_VARIABLES = ("PATCHKIT", "PYTHON")
"""How the variables begin that scripts do not get from here."""
_PYTHON = ("python", "python3", *(f"python3.{minor}" for minor in MINORS))


class WatchedEdit(NamedTuple):
    """A command that was to edit files.

    Args:
        reason: Whether it failed or changed nothing; '' if it has done neither.
        command: The command, on one line.
    """

    reason: str
    command: str


class IdleText(NamedTuple):
    """An edit of a text in a Python program that changed nothing.

    Args:
        file: The file of the program; '' where it is in none.
        line: The line in it.
        code: The edit, for people; where a file was written as it was, the path of it.
        text: What the edit looks for; '' where a file was written as it was.
    """

    file: str
    line: int
    code: str
    text: str


class StandIns:
    """The programs that stand for others, in a folder of the workspace.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._log = workspace.tools / "left_out"
        self._edits_log = workspace.tools / "edits"
        self._texts_log = workspace.tools / "idle_texts"

    @property
    def programs(self) -> Path:
        """The folder of the programs, which has to be the first on PATH."""
        return self._workspace.tools / "bin"

    @property
    def modules(self) -> Path:
        """The folder of Python's `sitecustomize`, which has to be the first on PYTHONPATH."""
        return self._workspace.tools / "modules"

    @property
    def runner(self) -> Path:
        """The program that runs a Python script whose paths were changed."""
        return self._workspace.tools / "python_runner.py"

    def write(self) -> None:
        """Write the programs, and the `sitecustomize` that every Python loads as it starts."""
        workspace = self._workspace
        self.programs.mkdir()
        self.modules.mkdir()
        answers = {
            "package": workspace.package,
            "version": workspace.version,
            "prefix": str(workspace.prefix),
            "site": str(workspace.site),
        }
        (self.modules / "answers.json").write_text(json.dumps(answers), "utf-8")
        _copy(lookups.__file__, self.modules / "sitecustomize.py")
        _copy(python_runner.__file__, self.runner)
        for module in (edit_watch, watched_files):
            name = module.__name__.rpartition(".")[2]
            _copy(module.__file__, workspace.tools / f"{name}.py")
        show = workspace.tools / "show.py"
        show.write_text(stand_in_programs.SHOW, "utf-8")
        for log in (self._log, self._edits_log, self._texts_log):
            log.touch()
        for name in EDITORS:
            self._write_editor(name, stand_in_programs.RUN_EDITOR)
        self._write_editor("git", stand_in_programs.RUN_GIT)
        for name in _PYTHON:
            self._write_program(name, stand_in_programs.RUN_PYTHON)
        for name in PIP:
            self._write_program(name, stand_in_programs.RUN_PIP)
        for name in INSTALLERS:
            self._write_program(name, stand_in_programs.RUN_NOTHING)
        self._write_program("uv", stand_in_programs.RUN_UV)
        self._write_program("sudo", stand_in_programs.RUN_AS_IT_IS)

    def environ(self) -> dict[str, str]:
        """Return the environment of a script, in which it finds the copy and these programs.

        Of this process's own variables, those of Python and patchkit are left out: they would
        lead scripts to other modules, or patch them.
        """
        workspace = self._workspace
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_OTHER_VARIABLES)
        }
        programs = [str(self.programs), os.environ.get("PATH", os.defpath)]
        modules = [str(self.modules), str(workspace.site)]
        prefix = str(workspace.prefix)
        own = {
            "CONDA_PREFIX": prefix,
            "GIT_CEILING_DIRECTORIES": str(workspace.folder),
            "HOME": str(workspace.home),
            "PATCHKIT": "0",
            "PATH": os.pathsep.join(programs),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(modules),
            "TMPDIR": str(workspace.temporary),
            "VIRTUAL_ENV": prefix,
        }
        return environ | own

    def take_left_out(self) -> list[str]:
        """Return the commands that were not run since this was called last."""
        return _take_lines(self._log)

    def take_edits(self) -> list[WatchedEdit]:
        """Return the commands that were to edit files since this was called last."""
        edits = list[WatchedEdit]()
        for line in _take_lines(self._edits_log):
            reason, _, command = line.partition("\t")
            edits.append(WatchedEdit(reason, command))
        return edits

    def take_idle_texts(self) -> list[IdleText]:
        """Return the edits of texts that changed nothing since this was called last."""
        return [IdleText(**json.loads(line)) for line in _take_lines(self._texts_log)]

    def _write_editor(self, name: str, text: str) -> None:
        """Write a program that runs an editor and watches it; none where there is no such editor.

        Args:
            name: The name of the editor.
            text: The text of the program.
        """
        editor = shutil.which(name)
        if editor:  # else the shell says that there is none
            self._write_program(name, text, editor)

    def _write_program(self, name: str, text: str, editor: str = "") -> None:
        """Write one program.

        Args:
            name: Its name.
            text: Its text, which may name itself, Python, and the files that it writes to.
            editor: The program that it runs, where it is one that edits files.
        """
        values = {
            "editor": shlex.quote(editor),
            "edits_log": shlex.quote(str(self._edits_log)),
            "name": name,
            "python": shlex.quote(sys.executable),
            "runner": shlex.quote(str(self.runner)),
            "show": shlex.quote(str(self._workspace.tools / "show.py")),
            "log": shlex.quote(str(self._log)),
            "workspace": shlex.quote(str(self._workspace.folder)),
        }
        file = self.programs / name
        file.write_text(text.format(**values), "utf-8")
        file.chmod(0o755)


def _copy(module_file: str | None, file: Path) -> None:
    """Copy a module of patchkit to a file."""
    assert module_file is not None
    file.write_bytes(Path(module_file).read_bytes())


def _take_lines(log: Path) -> list[str]:
    """Return the lines of a log, and empty it."""
    lines = log.read_text("utf-8", errors="replace").splitlines()
    log.write_text("", "utf-8")
    return lines
