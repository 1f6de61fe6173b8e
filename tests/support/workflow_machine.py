"""What simulated jobs run on: a Python with pip, an index, and git; all of them real."""

from __future__ import annotations

import os
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

from workflow_runner import path_with

REPOSITORY = Path(__file__).parents[2]
UNREACHABLE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
}
"""Nobody listens there."""


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=300
    )


def commit(folder: Path) -> None:
    """Commit all that is there."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "as it is")


def plain_environ() -> dict[str, str]:
    """The environment without what tells Python, patchkit, vLLM or git anything."""
    ours = ("PYTHON", "PATCHKIT", "VLLM_", "GIT_", "GITHUB_", "RUNNER_")
    return {
        name: text for name, text in os.environ.items() if not name.startswith(ours)
    }


@dataclass
class Machine:
    """What the jobs run on.

    Args:
        bin: of the Python that `setup-python` gives.
        environ: of every step.
    """

    bin: Path
    environ: dict[str, str]

    @classmethod
    def make(cls, home: Path) -> Machine:
        """Make a Python with pip and nothing else, and a wheel of patchkit beside the index."""
        venv.create(home / "python", with_pip=True, symlinks=True)
        environ = plain_environ()
        links = f"{environ.get('PIP_FIND_LINKS', '')} {home / 'dist'}".strip()
        one = cls(home / "python" / "bin", {**environ, "PIP_FIND_LINKS": links})
        words = (
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            "dist",
            str(REPOSITORY),
        )
        one.called(*words, cwd=home)
        return one

    def called(self, *words: str, cwd: Path, **more: str) -> str:
        """Run a command of that Python's environment."""
        environ = {**self.environ, "PATH": path_with(self.bin, self.environ), **more}
        return subprocess.run(
            words,
            cwd=cwd,
            env=environ,
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        ).stdout
