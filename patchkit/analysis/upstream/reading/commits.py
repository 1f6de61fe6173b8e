"""Reads the commits of a git repository as releases; nothing is checked out."""

import os
import re
import subprocess
from collections.abc import Collection, Iterable
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
"""Finds `owner/name` at the end of a remote's URL."""
_TAG = "tag: "
_SAFE_SETTINGS = (
    "log.showSignature=false",
    "core.fsmonitor=false",
    "protocol.allow=never",
    "log.mailmap=false",
    "i18n.logOutputEncoding=UTF-8",
)
"""Switch off settings by which a repository names programs that git would run, or files to read.

The last one is for one by which git would print text that is no UTF-8.
"""
_NO_FETCHING = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Variables by which git fetches nothing: the remote of a partial clone may name a program, too."""
_PARTS = 4
"""How many parts `commits` lets git print of each commit."""
_SECONDS = 300
"""How long git may take: the settings of a repository may include a pipe."""


class Commit(NamedTuple):
    """A commit of the first-parent history, in which a merge stands for what it merged.

    Args:
        hash: Its full hash.
        day: When it was committed, such as `2026-07-16`.
        title: The first line of its message; the number of a pull request at its end is written
            with the repository: `Fix it (owner/name#123)`.
        version: The version of the last tag up to it; `0` before the first tag.
    """

    hash: str
    day: str
    title: str
    version: str


class _Blob(NamedTuple):
    """The content of a file in a commit: its hash in git, and the mark made of that."""

    name: str
    mark: ContentMark


class CommitSource:
    """A `ReleaseSource`: the import packages of one commit.

    Args:
        repository: The directory of the repository.
        commit: The commit.
        packages: The names of the import packages.
    """

    def __init__(self, repository: Path, commit: Commit, *packages: str) -> None:
        self.name = f"{repository} at {commit.hash[:12]}"
        self.version = commit.version
        self._repository = repository
        self._hash = commit.hash
        self._packages = packages

    @cached_property
    def _blobs(self) -> dict[str, _Blob]:
        """The content of each Python file and extension module, by its path when installed."""
        folders = [f"{root}{package}" for root in ROOTS for package in self._packages]
        command = ("ls-tree", "-r", "-l", "-z", self._hash, "--", *folders)
        entries = (
            _git(self._repository, *command)
            .decode(errors="surrogateescape")
            .split("\0")
        )
        blobs_in_tree: dict[str, _Blob] = {}
        for entry in entries:
            if not entry:
                continue
            # `100644 blob HASH SIZE`, a tab, and the path
            columns, _, path_in_tree = entry.partition("\t")
            mode, _, name, size = columns.split()
            if size == "BAD":
                raise UpstreamError(
                    f"{self.name}: the object of {path_in_tree} is missing"
                )
            # no link, no submodule
            if is_listed(path_in_tree) and mode.startswith("100"):
                mark = ContentMark(int(size), int(name, 16))
                blobs_in_tree[path_in_tree] = _Blob(name, mark)
        blobs: dict[str, _Blob] = {}
        for package in self._packages:
            root = _root_of(package, blobs_in_tree)
            for path_in_tree, blob in blobs_in_tree.items():
                if path_in_tree.startswith(f"{root}{package}/"):
                    blobs[path_in_tree.removeprefix(root)] = blob
        return blobs

    def read(self, path: str) -> bytes | None:
        """Read the Python file at `path`; return None where there is none.

        Raises:
            UpstreamError: The file is too large, or git cannot read it.
        """
        if not is_python(path) or path not in self._blobs:
            return None
        blob = self._blobs[path]
        check_size(path, blob.mark.size)
        return _git(self._repository, "cat-file", "blob", blob.name)

    def has(self, path: str) -> bool:
        """Whether there is a file at `path`."""
        return path in self._blobs

    def paths(self) -> frozenset[str]:
        """Return the paths of all Python files and extension modules of the packages."""
        return frozenset(self._blobs)

    def mark(self, path: str) -> ContentMark | None:
        """Return the mark of the file at `path`, made of its hash in git; None for no file."""
        blob = self._blobs.get(path)
        if blob is None:
            return None
        return blob.mark

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: the objects of all `paths` are on this machine."""


def _root_of(package: str, paths: Collection[str]) -> str:
    """Return the folder that a package lies in, as `open_tree` would: `src/` for `src/vllm`.

    A package without an `__init__.py` is in the first folder that has anything of it.
    """
    for root in ROOTS:
        if f"{root}{package}/__init__.py" in paths:
            return root
    for root in ROOTS:
        if any(path.startswith(f"{root}{package}/") for path in paths):
            return root
    return ""


def commits(repository: Path) -> list[Commit]:
    """List the first-parent history of the commit that is checked out.

    Args:
        repository: The directory of the repository.

    Returns:
        The commits, the oldest first.

    Raises:
        UpstreamError: There is no repository, or git cannot be run.
    """
    # Without a remote git exits with an error, unless --default gives it a value.
    remote = _git(
        repository, "config", "--default", "", "--get", "remote.origin.url"
    ).decode(errors="replace")
    slug = _SLUG.search(remote.strip())  # `owner/name`
    # Hash, day, tags and branches, and title, with NUL between them.
    form = "--format=%H%x00%cs%x00%D%x00%s"
    # The pattern of tags that count prevails over `log.excludeDecoration` of the repository.
    decorations = ("--decorate=short", "--decorate-refs=refs/tags/*")
    text = _git(repository, "log", "--first-parent", "--reverse", *decorations, form)
    version = "0"
    history = []
    # Not `splitlines`: a title may have other characters that end a line.
    for line in filter(None, text.decode(errors="replace").split("\n")):
        parts = line.split("\0", 3)
        if len(parts) < _PARTS:
            raise UpstreamError(
                f"{repository}: found {line[:80]!r} in what git log prints, expected a commit's "
                "hash, day, tags and title"
            )
        commit_hash, day, references, title = parts
        version = _tagged_version(references) or version
        if slug:  # `Fix it (#123)` is `Fix it (owner/name#123)`
            title = re.sub(r"\((#\d+)\)$", rf"({slug[1]}\1)", title)
        history.append(Commit(commit_hash, day, title, version.removeprefix("v")))
    return history


def _tagged_version(references: str) -> str | None:
    """Return the first tag of a commit that is a version; None if it has none.

    Args:
        references: As `git log` prints them: `tag: nightly, tag: v0.32.0`.
    """
    for reference in references.split(", "):
        if reference.startswith(_TAG):
            tag = reference.removeprefix(_TAG)
            if parse_version(tag):
                return tag
    return None


def _git(repository: Path, *arguments: str) -> bytes:
    """Run git in a repository and return what it prints; raise UpstreamError if it fails."""
    command = ["git", "-C", str(repository)]
    for setting in _SAFE_SETTINGS:
        command += ["-c", setting]
    command += arguments
    try:
        result = subprocess.run(  # noqa: S603 - no shell
            command,
            check=False,
            capture_output=True,
            env={**os.environ, **_NO_FETCHING},
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise UpstreamError(
            f"{repository}: git {arguments[0]} has not ended in {_SECONDS} seconds"
        ) from error
    except OSError as error:
        raise UpstreamError(f"git cannot be run: {error.strerror or error}") from error
    if result.returncode:
        first_line = result.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UpstreamError(f"{repository}: git {arguments[0]}: {first_line}")
    return result.stdout


def first_day(file: Path, text: str = "") -> str:
    """Find the day of the commit that first wrote a text into a file.

    Args:
        file: A file in a repository.
        text: What was written; `''` for the file itself.

    Returns:
        The day, such as `2026-07-16`; `''` where git finds none.
    """
    search = []
    # -S: only commits that change how often the file contains the text. The other options keep git
    # from running programs that the repository names.
    if text:
        search = ["-S", text, "--no-textconv", "--no-ext-diff"]
    try:
        log = _git(file.parent, "log", "--format=%cs", *search, "--", file.name)
    except UpstreamError:
        return ""
    days = log.decode(errors="replace").split()  # the latest first
    if not days:
        return ""
    return days[-1]
