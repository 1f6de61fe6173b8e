"""Folders that commands are run in: a scenario's files, wheels and repositories.

Three kinds of path stand for something else:

    wheels/up-1.0-py3-none-any.whl/up/mod.py    a file of that wheel
    up.git/2/up/mod.py                          a file of the commit of day 2 in that repository
    journal/….jsonl                             `@now-60@` in it is the time a minute ago
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import zipfile
from collections import defaultdict
from pathlib import Path

_WHEEL = ".whl/"
_REPOSITORY = ".git/"
_NOW = re.compile(r"@now-(\d+)@")
_OLD_DATE = (2020, 1, 1, 0, 0, 0)
_GIT = {
    "GIT_AUTHOR_NAME": "author",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "author",
    "GIT_COMMITTER_EMAIL": "author@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def write_world(folder: Path, files: dict[str, str]) -> None:
    """Write a scenario's files.

    Args:
        folder: an empty one.
        files: texts by path.
    """
    wheels: dict[str, dict[str, str]] = defaultdict(dict)
    repositories: dict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        if _WHEEL in path:
            wheel, _, inner = path.partition(_WHEEL)
            wheels[f"{wheel}.whl"][inner] = text
        elif _REPOSITORY in path:
            repository, _, inner = path.partition(_REPOSITORY)
            repositories[f"{repository}.git"][inner] = text
        else:
            _write(folder / path, text)
    for wheel, contents in wheels.items():
        _write_wheel(folder / wheel, contents)
    for repository, contents in repositories.items():
        _make_repository(folder / repository, contents)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    now = time.time()
    timed = _NOW.sub(lambda match: f"{now - int(match[1]):.3f}", text)
    file.write_text(timed, encoding="utf-8")


def _write_wheel(file: Path, contents: dict[str, str]) -> None:
    """Write a wheel, with the metadata that its name has and packages around its modules."""
    file.parent.mkdir(parents=True, exist_ok=True)
    name, version, *_ = file.name.split("-")
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    complete = {f"{name}-{version}.dist-info/METADATA": metadata}
    for path in contents:
        for parent in list(Path(path).parents)[:-1]:
            if parent.suffix != ".dist-info":
                complete[f"{parent}/__init__.py"] = ""
    complete.update(contents)
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in complete.items():
            archive.writestr(zipfile.ZipInfo(path, _OLD_DATE), text)


def _make_repository(folder: Path, contents: dict[str, str]) -> None:
    """Make a git repository: a commit a day, each with the files below its number and no others."""
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet", "--initial-branch=main", day=1)
    commits: dict[int, dict[str, str]] = defaultdict(dict)
    for path, text in contents.items():
        number, _, inner = path.partition("/")
        commits[int(number)][inner] = text
    for day, files in sorted(commits.items()):
        for entry in folder.iterdir():
            if entry.name != ".git":
                _remove(entry)
        for path, text in files.items():
            _write(folder / path, text)
        _git(folder, "add", "--all", day=day)
        _git(
            folder,
            "commit",
            "--quiet",
            "--allow-empty",
            f"--message=Commit {day}",
            day=day,
        )


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry)
    else:
        entry.unlink()


def _git(folder: Path, *arguments: str, day: int) -> None:
    """Run git, as an author who has no settings and commits on one day of a month."""
    date = f"2024-03-{day:02}T12:00:00+00:00"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    environment = {**os.environ, **_GIT, **dates}
    subprocess.run(["git", "-C", str(folder), *arguments], env=environment, check=True)
