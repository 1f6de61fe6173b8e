"""Commits of a real git repository, read as releases."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.upstream.reading.commits import CommitSource, commits, first_day
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

WHO = (
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@x.example",
    "-c",
    "commit.gpgsign=false",
)


def git(repository: Path, *words: str) -> None:
    subprocess.run(
        ["git", *WHO, *words], cwd=repository, check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three commits, a tag at the second; a link, and a file that is no module."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "remote", "add", "origin", "git@host.example:owner/name.git")
    package = tmp_path / "src" / "up"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("ONE = 1\n")
    (package / "link.py").symlink_to("__init__.py")
    (package / "data.txt").write_text("no module")
    for title, text in (("One", "1\n"), ("Two | 2 (#12)", "2\n"), ("Three", None)):
        if text:
            (package / "mod.py").write_text(text)
        else:
            (package / "mod.py").unlink()
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", title)
        if text == "2\n":
            git(tmp_path, "tag", "nightly")
            git(tmp_path, "tag", "v1.2rc1")
    return tmp_path


def test_commits_have_titles_and_the_version_of_the_tag_before(
    repository: Path,
) -> None:
    """The oldest first; before any tag, the version is 0; what is no version is no tag."""
    found = commits(repository)
    assert [one.title for one in found] == ["One", "Two | 2 (owner/name#12)", "Three"]
    assert [one.version for one in found] == ["0", "1.2rc1", "1.2rc1"]
    assert all(len(one.hash) == 40 and one.day.count("-") == 2 for one in found)


def test_a_commit_is_read_without_a_checkout(repository: Path) -> None:
    """Of what is checked out now, nothing is seen; equal files have equal marks."""
    (repository / "src" / "up" / "mod.py").write_text("not committed\n")
    one, two, three = (
        CommitSource(repository, each, "up") for each in commits(repository)
    )
    assert (one.read("up/mod.py"), two.read("up/mod.py")) == (b"1\n", b"2\n")
    assert one.paths() == {"up/__init__.py", "up/mod.py"}
    assert not three.has("up/mod.py")
    assert three.read("up/mod.py") is None
    assert one.mark("up/__init__.py") == two.mark("up/__init__.py") is not None
    assert one.mark("up/mod.py") != two.mark("up/mod.py")
    assert three.mark("up/mod.py") is None
    assert (
        CommitSource(repository, commits(repository)[0], "other").paths() == frozenset()
    )


def test_no_program_that_a_repository_names_is_run(
    repository: Path, tmp_path: Path
) -> None:
    """Its settings may be a stranger's."""
    evil, sign = tmp_path / "evil", tmp_path / "sign"
    evil.write_text(f"#!/bin/sh\ntouch {sign}\ncat $1\n")
    evil.chmod(0o755)
    settings = {
        "log.showSignature": "true",
        "gpg.program": str(evil),
        "core.fsmonitor": str(evil),
        "diff.evil.textconv": str(evil),
        "diff.external": str(evil),
        "core.pager": str(evil),
    }
    for name, value in settings.items():
        git(repository, "config", name, value)
    (repository / ".git" / "info" / "attributes").write_text("*.py diff=evil\n")
    found = commits(repository)
    CommitSource(repository, found[0], "up").read("up/mod.py")
    assert first_day(repository / "src" / "up" / "mod.py", "2") == found[1].day
    assert not sign.exists()
    shown = ["git", "log", "-p", "--ext-diff", "-1", "--", "src/up/mod.py"]
    subprocess.run(shown, cwd=repository, check=False, capture_output=True)
    assert sign.exists(), "the settings name a program that git runs otherwise"


def test_what_is_no_repository_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As is a machine without git."""
    with pytest.raises(UpstreamError, match=r"git log: .*not a git repository"):
        commits(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UpstreamError, match="git cannot be run: No such file"):
        commits(tmp_path)
