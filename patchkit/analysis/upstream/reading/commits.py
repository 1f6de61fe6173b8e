"""The commits of a git repository, each read as a release: nothing is checked out."""

import re
import subprocess
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.upstream.reading.files import (
    ROOTS,
    ContentMark,
    check_size,
    is_listed,
    is_python,
)
from patchkit.core.versions.requirements import parse_version
from patchkit.errors import UpstreamError

_SLUG = re.compile(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?$")


class Commit(NamedTuple):
    """A commit of the first-parent history; its version is that of the last tag before it."""

    hash: str
    day: str  # `2026-07-16`
    title: str  # a pull request at its end with its repository: `Fix it (owner/name#123)`
    version: str


class CommitSource:
    """The import packages of one commit, as a ReleaseSource."""

    def __init__(self, repository: Path, commit: Commit, *packages: str) -> None:
        self.name = f"{repository} at {commit.hash[:12]}"
        self.version = commit.version
        self._repository, self._hash, self._packages = repository, commit.hash, packages

    @cached_property
    def _files(self) -> dict[str, tuple[str, ContentMark]]:
        """The blob of each path, by the first root that holds its package."""
        places = [f"{root}{package}" for root in ROOTS for package in self._packages]
        text = _git(self._repository, "ls-tree", "-r", "-l", "-z", self._hash, "--", *places)
        found: dict[str, tuple[str, ContentMark]] = {}
        for entry in filter(None, text.decode(errors="surrogateescape").split("\0")):
            facts, _, place = entry.partition("\t")
            mode, _, blob, size = facts.split()
            path = next(place[len(one) :] for one in reversed(ROOTS) if place.startswith(one))
            if is_listed(path) and mode.startswith("100"):  # no link, no submodule
                found.setdefault(path, (blob, ContentMark(int(size), int(blob, 16))))
        return found

    def read(self, path: str) -> bytes | None:
        """One Python file; None where there is no such file."""
        if not is_python(path) or path not in self._files:
            return None
        blob, mark = self._files[path]
        check_size(path, mark.size)
        return _git(self._repository, "cat-file", "blob", blob)

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files

    def paths(self) -> frozenset[str]:
        """Every path of the packages that an import may lead to."""
        return frozenset(self._files)

    def mark(self, path: str) -> ContentMark | None:
        """Tell a file's content by what git calls it."""
        return self._files[path][1] if path in self._files else None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: objects are here."""


def commits(repository: Path) -> list[Commit]:
    """List the commits that led to the one checked out, merges as one; the oldest first.

    Raises UpstreamError where that is no repository, or git is not there.
    """
    # Without a remote, git says so by its exit code, and --default makes it none.
    remote = _git(repository, "config", "--default", "", "--get", "remote.origin.url").decode()
    slug, version, found = _SLUG.search(remote.strip()), "0", []
    form = "--format=%H%x00%cs%x00%D%x00%s"
    text = _git(repository, "log", "--first-parent", "--reverse", "--decorate=short", form)
    for line in text.decode(errors="replace").splitlines():
        commit, day, names, title = line.split("\0")
        tags = (one[5:] for one in names.split(", ") if one.startswith("tag: "))
        version = next(filter(parse_version, tags), version)
        if slug:
            title = re.sub(r"\((#\d+)\)$", rf"({slug[1]}\1)", title)
        found.append(Commit(commit, day, title, version.removeprefix("v")))
    return found


def _git(repository: Path, *words: str) -> bytes:
    # A repository's own settings name programs; none of these is run.
    own = ("-c", "log.showSignature=false", "-c", "core.fsmonitor=false")
    command = ["git", "-C", str(repository), *own, *words]
    try:
        done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - no shell
    except OSError as error:
        raise UpstreamError(f"git cannot be run: {error.strerror or error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UpstreamError(f"{repository}: git {words[0]}: {said}")
    return done.stdout


def first_day(file: Path, words: str = "") -> str:
    """Find the day of the commit that first wrote words into a file; '' where git tells none."""
    search = ["-S", words, "--no-textconv", "--no-ext-diff"] if words else []
    try:
        text = _git(file.parent, "log", "--format=%cs", *search, "--", file.name)
    except UpstreamError:
        return ""
    return ["", *text.decode().split()][-1]
