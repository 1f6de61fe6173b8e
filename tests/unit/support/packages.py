"""Upstream packages and packs that a test writes, and sessions and processes that use them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import patchkit
from patchkit.core.rows.selection import Selection
from patchkit.core.versions.installed import Versions
from patchkit.registry import Registry, read_pack
from patchkit.runtime.drift import Drift
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.session import Session
from patchkit.settings import VARIABLES, Settings
from support.undoing import disarm

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[3]
TIMEOUT = 30


def module_of(source: str, name: str = "upstream") -> Any:
    """A module that lives in memory only."""
    module = ModuleType(name)
    exec(dedent(source), vars(module))
    return module


def row(name: str, body: str | None, *changes: str, **fields: str) -> str:
    """Source of a row; the fields are source too, by default for main and for every version."""
    texts = {"requires": "('up>=1',)", "roles": "{Role.MAIN}", **fields}
    arguments = ", ".join(f"{key}={text}" for key, text in texts.items())
    return f"Patch(name={name!r}, body={body!r}, changes=({', '.join(changes)},), {arguments})"


class World:
    """A folder on the path: modules, packs, and children that find them.

    Args:
        folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal"

    def module(self, name: str, source: str = "") -> Path:
        """Write a module, with empty packages around it where there are none."""
        *outer, last = name.split(".")
        place = self.folder
        for part in outer:
            place /= part
            place.mkdir(exist_ok=True)
            if not (place / "__init__.py").exists():
                self._make_package(place)
        file = place / f"{last}.py"
        file.write_text(dedent(source))
        importlib.invalidate_caches()
        return file

    def _make_package(self, place: Path) -> None:
        flat = place.with_suffix(".py")
        source = flat.read_text() if flat.exists() else ""
        flat.unlink(missing_ok=True)
        (place / "__init__.py").write_text(source)

    def pack(self, *rows: str, name: str = "pack", **bodies: str) -> None:
        """Write a pack: its rows, and its bodies by name."""
        for body, source in bodies.items():
            self.module(f"{name}.{body}", source)
        lines = [
            f"from patchkit import {', '.join(patchkit.__all__)}",
            f"PATCHES = ({''.join(f'{text}, ' for text in rows)})",
        ]
        (self.folder / name / "__init__.py").write_text("\n".join(lines) + "\n")
        importlib.invalidate_caches()

    def environ(self, **more: str) -> dict[str, str]:
        """What a child's environment holds, with a pack named 'pack' where there is one."""
        kept = {
            name: text for name, text in os.environ.items() if name not in VARIABLES
        }
        own = {
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(REPOSITORY)]),
            "PATCHKIT_JOURNAL": str(self.journal),
            "PATCHKIT_VERSIONS": "up=1.0",
        }
        if (self.folder / "pack").exists():
            own["PATCHKIT_PATCHES"] = "pack"
        return {**kept, **own, **more}

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run this Python with these arguments; one that hangs fails the test."""
        return subprocess.run(
            [sys.executable, *words],
            env=self.environ(**environ),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def answer(self, code: str, *, ends: int = 0, **environ: str) -> Any:
        """Run code that prints one line of JSON last, and return what it says."""
        done = self.run("-c", dedent(code), **environ)
        assert done.returncode == ends, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def script(self, code: str, **environ: str) -> Any:
        """Do the same with a script, which a spawned child imports as `__mp_main__`."""
        file = self.folder / "script.py"
        file.write_text(dedent(code))
        done = self.run(str(file), **environ)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def entries(self) -> list[dict[str, Any]]:
        """Everything that the children wrote to their journals, one process after another."""
        files = sorted(self.journal.glob("*.jsonl"))
        return [
            json.loads(line) for file in files for line in file.read_text().splitlines()
        ]

    def session(
        self, *packs: str, versions: str | None = "1.0", **settings: Any
    ) -> Session:
        """Make a session over packs of this world, not armed yet."""
        rows = (row for name in packs or ("pack",) for row in read_pack(name))
        chosen = Settings(versions=(("up", versions),) if versions else (), **settings)
        selection = Selection(chosen, Versions.of(chosen), Drift(chosen.lock))
        return Session(Registry(rows), selection, Journal())


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world on this process's own path; its modules are forgotten and its sessions disarmed."""
    before = dict(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[Session] = []
    world = World(tmp_path)
    make = world.session

    def session(*packs: str, **settings: Any) -> Session:
        made.append(make(*packs, **settings))
        return made[-1]

    monkeypatch.setattr(world, "session", session)
    yield world
    for made_session in reversed(made):
        disarm(made_session)
    for name in set(sys.modules) - set(before):
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
