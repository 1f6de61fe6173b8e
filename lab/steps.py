"""Steps that take long: one progress line for each, and the error of one that failed."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class EnvironmentsError(Exception):
    """An environment could not be made; the message names the step that failed."""


def say(text: str) -> None:
    """Write one progress line to standard error; standard output is for results."""
    print(f"environments: {text}", file=sys.stderr, flush=True)


def step(title: str, command: Sequence[str]) -> str:
    """Run a command, show when it begins and ends, and return its output.

    Raises:
        EnvironmentsError: the command failed; the message holds the end of its output.
    """
    say(f"{title} …")
    began = time.monotonic()
    result = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        tail = "\n".join(result.stdout.splitlines()[-30:])
        raise EnvironmentsError(f"{title}: exit {result.returncode}\n{tail}")
    say(f"{title}: {time.monotonic() - began:.0f} s")
    return result.stdout
