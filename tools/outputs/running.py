"""Running the commands of scenarios with the patchkit of an environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from outputs.normalising import normalised
from outputs.worlds import write_world

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from outputs.scenarios import Command, Scenario

TIMEOUT_SECONDS = 600.0

_ASK = """
import json, sys, sysconfig, patchkit
version = "python{}.{}".format(*sys.version_info)
print(json.dumps([sys._base_executable, version, sysconfig.get_path("purelib"), patchkit.__file__]))
"""
# What commands import: compiled once, not by each of them.
_COMPILED = (
    "click",
    "packaging",
    "rich",
    "pygments",
    "markdown_it",
    "mdurl",
    "urllib3",
)
# What says where the index is, and how it is reached.
_INDEX = re.compile(
    r"HOME$|XDG_CONFIG_|PIP_|REQUESTS_|CURL_|SSL_|(?:https?|all|no)_proxy$",
    re.IGNORECASE,
)
_OFFLINE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "wheels",
}


@dataclass(frozen=True)
class Interpreter:
    """The environment whose patchkit is run.

    Paths in outputs are to have the same length whatever checkout is run, as tables are laid out
    by it. So each scenario has an environment of its own, which finds the packages of this one
    through links in the working folder.

    Args:
        base: the executable that the environment was made from.
        version: the name of its folder of packages, such as `python3.11`.
        packages: its site-packages.
        checkout: the folder that has the package `patchkit`.
    """

    base: Path
    version: str
    packages: Path
    checkout: Path

    @classmethod
    def of(cls, python: str) -> Interpreter:
        """Ask an interpreter.

        Raises:
            subprocess.CalledProcessError: it does not run, or has no patchkit.
        """
        python = os.path.abspath(python) if os.sep in python else python  # noqa: PTH100
        done = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, check=True, cwd="/"
        )
        base, version, packages, package = json.loads(done.stdout)
        checkout = Path(package).parents[1]
        folders = [
            checkout / "patchkit",
            *(Path(packages) / name for name in _COMPILED),
        ]
        present = [str(folder) for folder in folders if folder.exists()]
        subprocess.run([python, "-m", "compileall", "-q", *present], check=True)
        return cls(Path(base), version, Path(packages), checkout)

    def link(self, work: Path) -> None:
        """Make the links in the working folder."""
        (work / "checkout").symlink_to(self.checkout)
        (work / "packages").symlink_to(self.packages)

    def make_environment(self, work: Path, folder: Path) -> None:
        """Make an environment that finds this one's packages through the links."""
        site = folder / "lib" / self.version / "site-packages"
        site.mkdir(parents=True)
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(self.base)
        (folder / "pyvenv.cfg").write_text(f"home = {self.base.parent}\n")
        (site / "links.pth").write_text(f"{work / 'packages'}\n{work / 'checkout'}\n")


@dataclass(frozen=True)
class Room:
    """The folders of one scenario while its commands run."""

    folder: Path

    @property
    def template(self) -> Path:
        """What every command starts from."""
        return self.folder / "template"

    @property
    def here(self) -> Path:
        """Where commands run."""
        return self.folder / "here"

    @property
    def environment(self) -> Path:
        """Its Python."""
        return self.folder / "env"


@dataclass(frozen=True)
class Runner:
    """Runs scenarios.

    Args:
        interpreter: whose patchkit is run.
        work: a folder that is empty but for its lock; the same one in each run.
        into: where results are written.
    """

    interpreter: Interpreter
    work: Path
    into: Path

    def run_all(self, scenarios: Iterable[Scenario], jobs: int) -> int:
        """Run scenarios, several at a time, and return how many results were written."""
        self.interpreter.link(self.work)
        with ThreadPoolExecutor(jobs) as pool:
            return sum(pool.map(self.run, scenarios))

    def run(self, scenario: Scenario) -> int:
        """Run the commands of a scenario one after the other, and return how many there are."""
        room = Room(self.work / scenario.name.replace("/", "-"))
        for folder in (room.template, room.folder / "tmp", room.folder / "home"):
            folder.mkdir(parents=True)
        self.interpreter.make_environment(self.work, room.environment)
        write_world(room.template, scenario.files)
        target = self.into / scenario.name
        target.mkdir(parents=True)
        for name, command in scenario.named_commands().items():
            text = self._result(scenario, command, room)
            (target / f"{name}.txt").write_text(
                text, encoding="utf-8", errors="surrogateescape"
            )
        return len(scenario.commands)

    def _result(self, scenario: Scenario, command: Command, room: Room) -> str:
        """Run one command, and write down how it ended, what it printed and what it wrote."""
        if room.here.exists():
            shutil.rmtree(room.here)
        shutil.copytree(room.template, room.here, symlinks=True)
        before = _contents(room.here)
        done = self._done(scenario, command, room)
        after = _contents(room.here)
        if command.is_setup:
            shutil.rmtree(room.template)
            shutil.copytree(room.here, room.template, symlinks=True)
        text = "".join(
            (
                _heading(command, done.returncode),
                _section("stdout", done.stdout),
                _section("stderr", done.stderr),
                *_changes(before, after),
            )
        )
        return normalised(text, self._names())

    def _done(
        self, scenario: Scenario, command: Command, room: Room
    ) -> subprocess.CompletedProcess[bytes]:
        stdin = b""
        if command.stdin:
            stdin = (room.here / command.stdin).read_bytes()
        return subprocess.run(
            [room.environment / "bin" / "python", "-m", "patchkit", *command.arguments],
            cwd=room.here,
            env=self._environment(scenario, command, room),
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def _environment(
        self, scenario: Scenario, command: Command, room: Room
    ) -> dict[str, str]:
        """Nothing of the caller's but what finds programs, and the index where it is asked for."""
        environment = {**_OFFLINE, "HOME": str(room.folder / "home")}
        if scenario.needs_index:
            environment = {
                name: os.environ[name] for name in os.environ if _INDEX.match(name)
            }
        environment.update(
            PATH=os.pathsep.join([str(room.environment / "bin"), os.environ["PATH"]]),
            TMPDIR=str(room.folder / "tmp"),
            XDG_CACHE_HOME=str(room.folder / "cache"),
            COLUMNS=str(command.columns),
            LANG="C.UTF-8",
            TZ="UTC",
            GIT_CONFIG_NOSYSTEM="1",
            PYTHONDONTWRITEBYTECODE="1",
            PYTHONHASHSEED="0",
        )
        environment.update(command.variables)
        return environment

    def _names(self) -> dict[str, str]:
        """What stands for paths of this machine, and for its host."""
        return {
            str(self.work): "WORK",
            str(self.interpreter.checkout): "CHECKOUT",
            str(self.interpreter.packages): "PACKAGES",
            str(self.interpreter.base): "PYTHON",
            socket.gethostname(): "HOST",
        }


def _contents(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder, but for what git keeps for itself."""
    contents = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if ".git" in path.parts or file.is_dir():
            continue
        if file.is_symlink():
            contents[path.as_posix()] = bytes(file.readlink())
        else:
            contents[path.as_posix()] = file.read_bytes()
    return contents


def _heading(command: Command, exit_code: int) -> str:
    """Write which command it was, and how it ended."""
    settings = [f"{name}={value}" for name, value in command.variables]
    circumstances = "  ".join([f"{command.columns} columns", *settings])
    return f"$ {command.title}\n{circumstances}\nexit code {exit_code}\n"


def _section(title: str, data: bytes) -> str:
    """Write what a command printed, or a file that it wrote, under a title; nothing of nothing."""
    if not data:
        return ""
    text = data.decode("utf-8", "surrogateescape")
    if not text.endswith("\n"):
        text = f"{text}\n(no newline at the end)\n"
    return f"== {title}\n{text}"


def _changes(before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[str]:
    """Write which files a command has written or removed, and what is in them."""
    for path, data in after.items():
        if data != before.get(path):
            yield _section(f"file {path}", data) or f"== empty file {path}\n"
    for path in before:
        if path not in after:
            yield f"== removed {path}\n"
