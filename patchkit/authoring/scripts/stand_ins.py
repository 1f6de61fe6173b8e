"""Writes the programs that stand for others while scripts run: `python`, `pip`, `sudo`, …"""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from patchkit.authoring.scripts import lookups, python_runner
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
EDITORS = ("sed", "perl", "patch")
"""Programs that edit files, which are run, and watched."""
_OTHER_VARIABLES = ("PATCHKIT", "PYTHON")
"""How the variables begin that scripts do not get from here."""
_PYTHON = ("python", "python3", *(f"python3.{minor}" for minor in MINORS))

# The texts of the programs: `_write_program` fills in the names in braces. A command that is not
# run is written to the file `log`.
_RUN_PYTHON = """#!/bin/sh
if [ "$1" = -m ] && [ "$2" = pip ]; then
    shift 2
    exec pip "$@"
fi
exec {python} "$@"
"""
_RUN_PIP = """#!/bin/sh
case "$1" in
    show) shift; exec {python} {show} "$@" ;;
    list | freeze | -V | --version) exec {python} -m pip "$@" ;;
esac
echo {name} "$@" >> {log}
"""
_RUN_UV = """#!/bin/sh
case "$1" in
    pip) shift; exec pip "$@" ;;
    run) shift; exec "$@" ;;
esac
echo {name} "$@" >> {log}
"""
_RUN_NOTHING = """#!/bin/sh
echo {name} "$@" >> {log}
"""
_RUN_AS_IT_IS = """#!/bin/sh
while :; do
    case "$1" in
        -u | -g) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
exec env "$@"
"""
# It notes an edit that failed, or that left a file as it was. Whether a script goes on after it is
# the script's to say; a person has to know either way. A trial, such as `patch --dry-run`, is none.
_RUN_EDITOR = """#!/bin/sh
sums() {{
    for argument in "$@"; do
        [ -f "$argument" ] && cksum "$argument"
    done
}}
edits=
for argument in "$@"; do
    case "{name} $argument" in
        "patch --dry-run") exec {editor} "$@" ;;
        "patch "*) ;;
        *" --in-place"* | *" -i"* | *" -"[0-9Eacnlprsuz]*i*) edits=1 ;;
    esac
done
before=$(sums "$@")
{editor} "$@"
code=$?
reason=
if [ $code != 0 ]; then
    reason="it ended with $code"
elif [ "$edits" ] && [ "$before" ] && [ "$before" = "$(sums "$@")" ]; then
    reason="it changed nothing"
fi
if [ "$reason" ]; then
    text=$(printf '%s ' {name} "$@" | tr '\\n\\t' '  ')
    printf '%s\\t%s\\n' "$reason" "${{text% }}" >> {edits_log}
fi
exit $code
"""
_SHOW = """import importlib.metadata, sys
for name in sys.argv[1:]:
    if name.startswith("-"):
        continue
    found = importlib.metadata.distribution(name)
    print("Name:", found.metadata["Name"])
    print("Version:", found.version)
    print("Location:", found.locate_file(""))
    if "-f" in sys.argv or "--files" in sys.argv:
        print("Files:")
        for file in found.files or ():
            print(" ", file)
"""


class IdleEdit(NamedTuple):
    """A command that was to edit files and has not.

    Args:
        reason: Whether it failed or changed nothing.
        command: The command, on one line.
    """

    reason: str
    command: str


class StandIns:
    """The programs that stand for others, in a folder of the workspace.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._log = workspace.tools / "left_out"
        self._edits_log = workspace.tools / "idle_edits"

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
        show = workspace.tools / "show.py"
        show.write_text(_SHOW, "utf-8")
        self._log.touch()
        self._edits_log.touch()
        for name in EDITORS:
            editor = shutil.which(name)
            if editor:  # else the shell says that there is none
                self._write_program(name, _RUN_EDITOR, editor)
        for name in _PYTHON:
            self._write_program(name, _RUN_PYTHON)
        for name in PIP:
            self._write_program(name, _RUN_PIP)
        for name in INSTALLERS:
            self._write_program(name, _RUN_NOTHING)
        self._write_program("uv", _RUN_UV)
        self._write_program("sudo", _RUN_AS_IT_IS)

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
        lines = self._log.read_text("utf-8", errors="replace").splitlines()
        self._log.write_text("", "utf-8")
        return lines

    def take_idle_edits(self) -> list[IdleEdit]:
        """Return the edits that failed or changed nothing since this was called last."""
        lines = self._edits_log.read_text("utf-8", errors="replace").splitlines()
        self._edits_log.write_text("", "utf-8")
        idle_edits = list[IdleEdit]()
        for line in lines:
            reason, _, command = line.partition("\t")
            idle_edits.append(IdleEdit(reason, command))
        return idle_edits

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
            "show": shlex.quote(str(self._workspace.tools / "show.py")),
            "log": shlex.quote(str(self._log)),
        }
        file = self.programs / name
        file.write_text(text.format(**values), "utf-8")
        file.chmod(0o755)


def _copy(module_file: str | None, file: Path) -> None:
    """Copy a module of patchkit to a file."""
    assert module_file is not None
    file.write_bytes(Path(module_file).read_bytes())
