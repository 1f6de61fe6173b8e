"""The programs that the lab installs with: uv and unearth, in an environment of their own.

They come from the package index on first use. uv does not read pip's settings, so the index and
the find-links that a user has set there are passed to it as options.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import folders
from stamps import read_stamp, write_stamp
from steps import step

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ("uv>=0.7", "unearth>=0.17")


def program(name: str) -> Path:
    """Return a program of the tools' environment, which is made if it is missing.

    Raises:
        EnvironmentsError: the environment could not be made.
    """
    environment = folders.ENVIRONMENTS / "tools"
    with folders.locked(environment):
        if read_stamp(environment) != [*TOOLS]:
            create = [sys.executable, "-m", "venv", "--clear", str(environment)]
            step("tools: a virtual environment", create)
            python = str(folders.python_of(environment))
            install = [python, "-m", "pip", "install", "--quiet", *TOOLS]
            step(f"tools: installing {', '.join(TOOLS)}", install)
            write_stamp(environment, TOOLS)
    return environment / "bin" / name


def uv(*arguments: str) -> list[str]:
    """Return a uv command."""
    return [str(program("uv")), *arguments]


def index_options() -> list[str]:
    """Return uv's options for the index and the find-links of pip's settings."""
    links = pip_setting("PIP_FIND_LINKS", "find-links")
    options = [part for link in links for part in ("--find-links", link)]
    return options + [part for url in pip_index() for part in ("--default-index", url)]


def pip_index() -> list[str]:
    """Return the index of pip's settings; empty where they name none."""
    return pip_setting("PIP_INDEX_URL", "index-url")[:1]


def pip_setting(variable: str, name: str) -> list[str]:
    """Return a setting of pip's: its variable, else its configuration files."""
    if variable in os.environ:
        return os.environ[variable].split()
    for section in ("install", "global"):
        command = [
            str(program("python")),
            "-m",
            "pip",
            "config",
            "get",
            f"{section}.{name}",
        ]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return answer.stdout.split()
    return []
