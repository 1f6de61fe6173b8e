"""Virtual environments of a test's own, with the bootstrap or without."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path
from typing import Any

import click
import packaging
import pytest

from support.packages import REPOSITORY, TIMEOUT, World

DEPENDENCIES = tuple(
    {str(Path(str(module.__file__)).parents[1]) for module in (click, packaging)}
)

ARMED = """
import json, sys
process = sys.modules.get("patchkit.runtime.reach.arming")
session = process and process.current()
print(json.dumps(session and sorted(session.roles)))
"""
"""Prints the roles of the process, or null where it is not armed."""


class Venv:
    """A virtual environment whose only packages are those that its `zz.pth` names.

    Args:
        home: where to make it.
        world: whose modules and packs its processes find, and whose journal they write.
    """

    def __init__(self, home: Path, world: World) -> None:
        venv.create(home, symlinks=True)
        self.python = str(home / "bin" / "python")
        (self.folder,) = (home / "lib").glob("python*/site-packages")
        self.world = world
        self.finds(str(world.folder), str(REPOSITORY), *DEPENDENCIES)

    def finds(self, *folders: str) -> None:
        """Name the folders on its path; in a file that comes after the bootstrap's."""
        (self.folder / "zz.pth").write_text(
            "".join(f"{folder}\n" for folder in folders)
        )

    def environ(self, **more: str) -> dict[str, str]:
        """The world's, without what would help Python to find anything."""
        environ = self.world.environ()
        kept = {
            key: text for key, text in environ.items() if not key.startswith("PYTHON")
        }
        return {**kept, **more}

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run its Python; one that hangs fails the test."""
        return subprocess.run(
            [self.python, *words],
            env=self.environ(**environ),
            cwd=self.world.folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def answer(self, *words: str, **environ: str) -> Any:
        """Run it and return what its last line, of JSON, says; stderr must be empty."""
        done = self.run(*words, **environ)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout.splitlines()[-1])

    def files(self) -> dict[str, bytes]:
        """Everything in site-packages, folders included, with what it holds."""
        contents = {}
        for path in self.folder.rglob("*"):
            content = b"" if path.is_dir() else path.read_bytes()
            contents[str(path.relative_to(self.folder))] = content
        return contents


@pytest.fixture
def environment(world: World, tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """A virtual environment that finds patchkit, what it needs, and the test's world."""
    return Venv(tmp_path_factory.mktemp("venv"), world)
