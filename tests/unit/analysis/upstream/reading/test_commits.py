"""Commits of a real git repository, read as releases."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.upstream.reading.commits import CommitSource, commits, first_day
from patchkit.analysis.upstream.reading.tree import open_tree
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

AUTHOR = (
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@x.example",
    "-c",
    "commit.gpgsign=false",
)


def git(repository: Path, *arguments: str) -> None:
    """Run git in a repository, with an author of the tests' own."""
    subprocess.run(
        ["git", *AUTHOR, *arguments], cwd=repository, check=True, capture_output=True
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
    """Commits come oldest first; each has the version of the last version tag, and 0 before any."""
    listed = commits(repository)
    titles = [commit.title for commit in listed]
    assert titles == ["One", "Two | 2 (owner/name#12)", "Three"]
    assert [commit.version for commit in listed] == ["0", "1.2rc1", "1.2rc1"]
    for commit in listed:
        assert len(commit.hash) == 40
        assert commit.day.count("-") == 2


def test_a_commit_is_read_without_a_checkout(repository: Path) -> None:
    """Files are read as they were committed, not as checked out; equal files have equal marks."""
    (repository / "src" / "up" / "mod.py").write_text("not committed\n")
    listed = commits(repository)
    first, second, third = (CommitSource(repository, commit, "up") for commit in listed)
    assert first.read("up/mod.py") == b"1\n"
    assert second.read("up/mod.py") == b"2\n"
    assert first.paths() == {"up/__init__.py", "up/mod.py"}
    assert not third.has("up/mod.py")
    assert third.read("up/mod.py") is None
    assert first.mark("up/__init__.py") is not None
    assert first.mark("up/__init__.py") == second.mark("up/__init__.py")
    assert first.mark("up/mod.py") != second.mark("up/mod.py")
    assert third.mark("up/mod.py") is None
    assert CommitSource(repository, listed[0], "other").paths() == frozenset()


def test_no_program_that_a_repository_names_is_run(
    repository: Path, tmp_path: Path
) -> None:
    """Reading commits runs no program of the repository's settings, which may be a stranger's."""
    program = tmp_path / "evil"
    trace = tmp_path / "trace"
    program.write_text(f"#!/bin/sh\ntouch {trace}\ncat $1\n")
    program.chmod(0o755)
    settings = {
        "log.showSignature": "true",
        "gpg.program": str(program),
        "core.fsmonitor": str(program),
        "diff.evil.textconv": str(program),
        "diff.external": str(program),
        "core.pager": str(program),
    }
    for name, value in settings.items():
        git(repository, "config", name, value)
    (repository / ".git" / "info" / "attributes").write_text("*.py diff=evil\n")
    listed = commits(repository)
    CommitSource(repository, listed[0], "up").read("up/mod.py")
    assert first_day(repository / "src" / "up" / "mod.py", "2") == listed[1].day
    assert not trace.exists()
    shown = ["git", "log", "-p", "--ext-diff", "-1", "--", "src/up/mod.py"]
    subprocess.run(shown, cwd=repository, check=False, capture_output=True)
    assert trace.exists(), "the settings name a program that git runs otherwise"


def test_a_missing_object_is_fetched_from_nowhere(
    repository: Path, tmp_path: Path
) -> None:
    """The remote of a partial clone names a program, which would fetch what is missing."""
    trace = tmp_path / "trace"
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(repository),
        "remote.origin.uploadpack": f"touch {trace}; git-upload-pack",
    }
    for name, value in settings.items():
        git(repository, "config", name, value)
    command = ["git", "rev-parse", "HEAD~1:src/up/mod.py"]
    done = subprocess.run(command, cwd=repository, check=True, capture_output=True)
    blob = done.stdout.decode().strip()
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    source = CommitSource(repository, commits(repository)[1], "up")
    with pytest.raises(UpstreamError):
        source.read("up/mod.py")
    assert not trace.exists()
    shown = ["git", "cat-file", "blob", blob]
    subprocess.run(shown, cwd=repository, check=False, capture_output=True)
    assert trace.exists(), "the settings name a program that git runs otherwise"


def test_a_title_may_have_any_characters(repository: Path) -> None:
    """Those that end a line elsewhere end none in what git prints. A URL may be no text."""
    title = "Two\u2028lines\x85 and\x0cmore"
    git(repository, "commit", "-q", "--allow-empty", "-m", title)
    config = repository / ".git" / "config"
    config.write_bytes(config.read_bytes().replace(b"git@host", b"git\xff@host"))
    assert [commit.title for commit in commits(repository)][-1] == title


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("i18n.logOutputEncoding", "UTF-16"),
        ("i18n.logOutputEncoding", "GBK"),
        ("log.excludeDecoration", "refs/tags/*"),
        ("log.decorate", "full"),
        ("color.ui", "always"),
    ],
)
def test_no_setting_changes_what_is_read(
    repository: Path, name: str, value: str
) -> None:
    """Neither the encoding nor the tags that git prints are up to the repository."""
    git(repository, "commit", "-q", "--allow-empty", "-m", "修复 (#3)")
    git(repository, "config", name, value)
    listed = commits(repository)
    assert [commit.version for commit in listed] == ["0", "1.2rc1", "1.2rc1", "1.2rc1"]
    assert listed[-1].title == "修复 (owner/name#3)"
    assert first_day(repository / "src" / "up" / "mod.py") == listed[0].day


def test_output_that_is_no_list_of_commits_is_one_clear_error(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a git that a wrapper replaces."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\necho git: hello\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(UpstreamError, match="found 'git: hello' in what git log"):
        commits(repository)


def test_no_repository_or_no_git_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is no repository, and a machine without git, are errors that say so."""
    with pytest.raises(UpstreamError, match=r"git log: .*not a git repository"):
        commits(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UpstreamError, match="git cannot be run: No such file"):
        commits(tmp_path)


def test_a_package_is_in_one_folder_of_the_repository(repository: Path) -> None:
    """It is the one that a tree on disk would be read from; others of its name are no package."""
    for folder, text in (("up", "TOP = 1\n"), ("python/up", "PYTHON = 1\n")):
        package = repository / folder
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(text)
        (package / f"{package.parent.name}_only.py").write_text("")
    native = repository / "src" / "down"
    native.mkdir()
    (native / "generated.py").write_text("")
    (repository / "python" / "down").mkdir()
    (repository / "python" / "down" / "__init__.py").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "Four")
    newest = commits(repository)[-1]
    source = CommitSource(repository, newest, "up", "down")
    assert source.read("up/__init__.py") == b"TOP = 1\n"
    assert source.read("up/__init__.py") == open_tree(repository, "up").read(
        "up/__init__.py"
    )
    top_only = f"up/{repository.name}_only.py"
    assert source.paths() == {"up/__init__.py", top_only, "down/__init__.py"}
