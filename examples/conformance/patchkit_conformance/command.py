"""patchkit's own command line, asked for JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from patchkit_lab import processes

from patchkit_conformance.results import Failed

if TYPE_CHECKING:
    from collections.abc import Mapping


def answer(env: Mapping[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    """
    Run a command of patchkit with `--format json`; its exit code and what it said.

    Raises:
        Failed: it did not answer with JSON.

    """
    command = [sys.executable, "-m", "patchkit", *words, "--format", "json"]
    done = subprocess.run(
        command, env=processes.environment(env), capture_output=True, text=True, check=False
    )
    try:
        return done.returncode, dict(json.loads(done.stdout))
    except ValueError as error:
        said = done.stderr.strip() or done.stdout.strip()
        last = said.splitlines()[-1] if said else "nothing"
        title = f"patchkit {words[0]} ended with exit code {done.returncode}: {last}"
        raise Failed(title, processes.last_lines(said, 40)) from error
