"""How many modules of patchkit a process loads, counted in real processes.

A pack with a Wrap, a Replace and an Edit of a small module is armed; then that module is imported,
and all three apply. The same is done with a lock, with which their targets are compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_PACK = """
from patchkit import Edit, Patch, Replace, Role, Wrap


def _row(name, change):
    return Patch(
        name=name,
        body="patch_module",
        requires=("upstream_of_pack>=1",),
        roles={Role.MAIN},
        changes=(change,),
        why="It counts what is loaded.",
        upstream="none: an example",
        sunset="never",
    )


PATCHES = (
    _row("wrap", Wrap("upstream_of_pack.module:wrapped", by="around")),
    _row("replace", Replace("upstream_of_pack.module:replaced", by="replacement")),
    _row("edit", Edit("upstream_of_pack.module:edited", old="'old'", new="'new'")),
)
"""
_BODY = """
def around(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs).replace("old", "new")


def replacement():
    return "new"
"""
_UPSTREAM = """
def wrapped():
    return 'old'


def replaced():
    return 'old'


def edited():
    return 'old'
"""
_PROGRAM = """
import json
import sys

import patchkit.auto


def count():
    return sum(name.partition(".")[0] == "patchkit" for name in sys.modules)


armed = count()
from upstream_of_pack import module

results = {module.wrapped(), module.replaced(), module.edited()}
json.dump({"armed": armed, "applied": count(), "results": sorted(results)}, sys.stdout)
"""
_FILES = {
    "pack_of_three/__init__.py": _PACK,
    "pack_of_three/patch_module.py": _BODY,
    "upstream_of_pack/__init__.py": "",
    "upstream_of_pack/module.py": _UPSTREAM,
    "program.py": _PROGRAM,
}


@dataclass(frozen=True)
class Loaded:
    """How many modules of patchkit there are in a process, its packs included.

    Args:
        armed: After `import patchkit.auto`.
        applied: After a Wrap, a Replace and an Edit have been applied.
        locked: The same with a lock.
    """

    armed: int
    applied: int
    locked: int


def count_loaded(repository: Path) -> Loaded:
    """Arm and apply a pack in child processes, and count what they load.

    Args:
        repository: The folder that the package's own folder lies in.

    Returns:
        The three numbers.

    Raises:
        RuntimeError: A child ended with an error, or did not apply the pack.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in _FILES.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        unlocked = _run_program(repository, folder)
        _run(repository, folder, "-m", "patchkit", "lock", "wrap", "replace", "edit")
        locked = _run_program(repository, folder)
    return Loaded(unlocked["armed"], unlocked["applied"], locked["applied"])


def _run_program(repository: Path, folder: str) -> dict[str, int]:
    output = json.loads(_run(repository, folder, "program.py"))
    if output.pop("results") != ["new"]:
        raise RuntimeError("the pack was not applied, so what it loads is not known")
    counts: dict[str, int] = output
    return counts


def _run(repository: Path, folder: str, *arguments: str) -> str:
    """Run this Python with a pack to apply, and none of the caller's variables."""
    environment = {
        "PATCHKIT_PATCHES": "pack_of_three",
        "PATCHKIT_VERSIONS": "upstream_of_pack=1.0",
        "PYTHONPATH": f"{repository}:{folder}",
    }
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(
            f"{' '.join(arguments)} exited with {ended.returncode}: {ended.stderr}"
        )
    return ended.stdout
