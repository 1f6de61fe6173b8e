"""What is to be run of scripts, as a person is told before: steps, and what is left out."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from patchkit.authoring.scripts.paths import PathRules

_MOST_BYTES = 64 << 20
_MOST_FILES = 5_000
_TEXT_BYTES = 1 << 20
_SCRIPTS = (".py", ".sh", ".bash")
_NOT_COPIED = ("__pycache__", ".git")


class FileCopy(NamedTuple):
    """A file or a folder that is copied into the workspace.

    Args:
        source: Where it lies.
        target: Where its copy will lie.
    """

    source: Path
    target: Path

    def make(self, rules: PathRules | None) -> None:
        """Copy it, and lead the paths in copied scripts into the workspace.

        Args:
            rules: The rules for the paths in copied scripts; None to leave them as they are.
        """
        self.target.parent.mkdir(parents=True, exist_ok=True)
        if not self.source.is_dir():
            shutil.copy(self.source, self.target)
        else:
            ignored = shutil.ignore_patterns(*_NOT_COPIED)
            shutil.copytree(
                self.source, self.target, ignore=ignored, dirs_exist_ok=True
            )
        if rules is None:
            return
        for file in files_below(self.target):
            if file.suffix in _SCRIPTS:
                text = file.read_text("utf-8", errors="surrogateescape")
                changed = rules.relocated(text)
                file.write_text(changed, "utf-8", errors="surrogateescape")
                # A Dockerfile often makes it a program, by an option or by `chmod`.
                file.chmod(file.stat().st_mode | 0o111)


class Step(NamedTuple):
    """A part of a script that is run at once, and succeeds or fails as a whole.

    Args:
        file: The script, as the command line names it.
        line: The line of it.
        text: What is run, for people; '' for copies that edit nothing.
        folder: The working directory.
        command: The program and its arguments; () where files are only copied.
        copies: What is copied before.
        rules: The rules for the paths in what is copied; None to leave them as they are.
        variables: Environment variables that the script sets for it.
    """

    file: str
    line: int
    text: str
    folder: Path
    command: Sequence[str] = ()
    copies: Sequence[FileCopy] = ()
    rules: PathRules | None = None
    variables: Mapping[str, str] | None = None

    @property
    def first_line(self) -> str:
        """The first line of what is run."""
        return self.text.partition("\n")[0]


class LeftOutStep(NamedTuple):
    """A part of a script that is not run.

    Args:
        file: The script.
        line: The line of it; 0 where unknown.
        text: The command.
    """

    file: str
    line: int
    text: str


@dataclass
class ScriptPlan:
    """What is run of scripts, and what is not.

    Args:
        steps: The steps, in their order.
        left_out: What is not run, such as installations.
        missing: What cannot be run, as it copies files that are not there.
    """

    steps: list[Step] = field(default_factory=list)
    left_out: list[LeftOutStep] = field(default_factory=list)
    missing: list[LeftOutStep] = field(default_factory=list)

    @property
    def told(self) -> list[Step]:
        """The steps of which a person is told: all but copies that edit nothing."""
        return [step for step in self.steps if step.text]


def files_below(path: Path) -> list[Path]:
    """Return the files of a folder, in their order; the file itself if it is one.

    Args:
        path: The file or folder.
    """
    if path.is_file():
        return [path]
    files = []
    for file in sorted(path.rglob("*")):
        is_ignored = not set(_NOT_COPIED).isdisjoint(file.parts)
        if file.is_file() and not is_ignored:
            files.append(file)
    return files


def is_small(path: Path) -> bool:
    """Whether a file or folder is small enough to be copied.

    Args:
        path: The file or folder.
    """
    files = files_below(path)
    size = sum(file.stat().st_size for file in files)
    return len(files) <= _MOST_FILES and size <= _MOST_BYTES


def mentions(path: Path, package: str) -> bool:
    """Whether a file names a package, or one in a folder does.

    Args:
        path: The file or folder.
        package: The name of the package.
    """
    pattern = re.compile(rf"\b{re.escape(package)}\b".encode())
    for file in files_below(path):
        is_text = file.stat().st_size <= _TEXT_BYTES
        if is_text and pattern.search(file.read_bytes()):
            return True
    return False
