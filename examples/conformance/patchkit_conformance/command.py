"""patchkit's own command line, asked for JSON."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit_lab import processes

from patchkit_conformance.results import Failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def answer(env: Mapping[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command of patchkit with `--format json`; its exit code and what it said.

    Raises:
        Failed: it did not answer with JSON.
    """
    command = [sys.executable, "-m", "patchkit", *words, "--format", "json"]
    around = processes.environment(env)
    with nowhere() as folder:
        done = subprocess.run(
            command, env=around, cwd=folder, capture_output=True, text=True, check=False
        )
    try:
        return done.returncode, dict(json.loads(done.stdout))
    except ValueError as error:
        said = done.stderr.strip() or done.stdout.strip()
        last = said.splitlines()[-1] if said else "nothing"
        title = f"patchkit {words[0]} ended with exit code {done.returncode}: {last}"
        raise Failed(title, processes.last_lines(said, 40)) from error


@contextlib.contextmanager
def nowhere() -> Iterator[Path]:
    """An empty folder: neither modules nor settings in the caller's decide what is answered."""
    with tempfile.TemporaryDirectory(prefix="conformance-empty-") as folder:
        yield Path(folder)


def installed(name: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def other_patchkit(here: str) -> str:
    """Where the installed patchkit lies, if the one that runs here is another; '' if it is that."""
    command = [sys.executable, "-I", "-c", "import patchkit; print(patchkit.__file__)"]
    with nowhere() as folder:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
    found = done.stdout.strip() or "nothing"
    return "" if Path(found).resolve() == Path(here).resolve() else found
