"""Finds the releases that a requirement allows, and opens each where it lies."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit.analysis.upstream.reading.archive import Archived, Reader, SdistReader
from patchkit.analysis.upstream.reading.cache import Cache, default_directory
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.index import (
    Index,
    Link,
    local_path,
    parse_filename,
)
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.analysis.upstream.reading.web import Web
from patchkit.analysis.upstream.reading.wheel import LocalContent, WheelReader
from patchkit.core.versions.requirements import (
    canonical,
    parse_requirement,
    parse_version,
    satisfies,
)
from patchkit.errors import UpstreamError, VersionError

if TYPE_CHECKING:
    from patchkit.core.versions.requirements import ReleaseVersion


class Library(contextlib.AbstractContextManager["Library"]):
    """Where releases come from: pip's settings, the web and the cache.

    Args:
        settings: pip's settings; None for those that pip would read.
        cache: The cache; None for the user's.
        offline: Whether only the cache is read.
        notice: Called with a sentence about each trouble that stops nothing.
    """

    def __init__(
        self,
        settings: PipSettings | None = None,
        cache: Cache | None = None,
        *,
        offline: bool = False,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self.offline = offline
        self._notices: set[str] = set()
        self._notice = notice
        self._lock = threading.Lock()
        self.cache = cache or Cache(default_directory(), self.notice)

    @functools.cached_property
    def settings(self) -> PipSettings:
        """Where pip would look; reading it raises what `PipSettings.read` does."""
        return self._settings or PipSettings.read()

    @functools.cached_property
    def web(self) -> Web:
        """What the index and its files are fetched with."""
        from patchkit.analysis.upstream.reading.web import Web  # noqa: PLC0415 - urllib3 takes its time

        return Web(self.settings, offline=self.offline)

    @functools.cached_property
    def index(self) -> Index:
        """What lists a project's files."""
        return Index(self.settings, self.web, self.cache, self.notice)

    def __exit__(self, *error: object) -> None:
        if "web" in vars(self):
            self.web.close()
        self.cache.close()

    def notice(self, text: str) -> None:
        """Pass a `text` on to the caller's `notice`, once."""
        with self._lock:
            if text in self._notices:
                return
            self._notices.add(text)
        self._notice(text)


@dataclass(eq=False)
class Release:
    """One release of a project, read from one of its files.

    Args:
        project: Its name, canonicalized.
        version: As released, without a local part.
        link: The file that stands for it.
        library: Where that comes from.
    """

    project: str
    version: str
    link: Link
    library: Library

    @property
    def name(self) -> str:
        """What messages call it: `vllm 0.32.0`."""
        return f"{self.project} {self.version}"

    @functools.cached_property
    def source(self) -> ReleaseSource:
        """Its files, opened once."""
        return self.opened()

    def opened(self) -> ReleaseSource:
        """Open its files; nothing is fetched before one is asked for.

        Returns:
            The source, which is the caller's alone.
        """
        url = self.link.url
        filename = self.link.filename
        file = local_path(url)
        if file:
            return Archived(self.name, self.version, filename, _reader(file))
        reader: Reader = SdistReader(self._download)
        if filename.endswith(".whl"):
            reader = WheelReader(self.library.web.content(url), self._download)
        sha256 = self.link.sha256
        # Without a hash, nothing says that a URL still has the bytes that it had.
        cache = self.library.cache if sha256 else Cache(None)
        key = f"sha256:{sha256}"
        return Archived(
            self.name, self.version, filename, reader, cache, key, self.project
        )

    def _download(
        self, reason: Exception | None = None
    ) -> AbstractContextManager[Path]:
        if reason:
            self.library.notice(f"{reason}; fetching {self.link.filename} whole")
        return self.library.web.download(self.link.url, self.link.sha256)


def open_archive(file: Path) -> ReleaseSource:
    """Open a wheel or a source distribution.

    Args:
        file: The file, which has the name that packaging tools give it.

    Returns:
        The source; nothing is read yet.

    Raises:
        UpstreamError: Its name is that of neither.
    """
    project_and_version = parse_filename(file.name)
    if project_and_version is None:
        raise UpstreamError(
            f"found {str(file)!r}, expected a wheel such as vllm-0.32.0-py3-none-any.whl, "
            "or a source distribution such as vllm-0.32.0.tar.gz"
        )
    _, version = project_and_version
    kind = "wheel" if file.name.endswith(".whl") else "sdist"
    return Archived(f"{kind} {file.name}", version, str(file), _reader(file))


def _reader(file: Path) -> Reader:
    if file.name.endswith(".whl"):
        return WheelReader(LocalContent(file))
    return SdistReader(lambda: contextlib.nullcontext(file))


def find_releases(spec: str, library: Library) -> list[Release]:
    """Find the releases that a requirement allows.

    A pre-release counts as its release, and is taken only where the requirement names one; a
    release that its author has taken back only where the requirement names exactly that.

    Args:
        spec: The requirement, such as `vllm>=0.20,<0.34`.
        library: Where the releases come from.

    Returns:
        The releases, the oldest first.

    Raises:
        RequirementError: The requirement cannot be read.
        UpstreamError: No index knows the project, or none can be asked.
    """
    requirement = parse_requirement(spec)
    files: dict[ReleaseVersion, list[Link]] = {}
    for link in library.index.links(requirement.name):
        version = parse_version(link.version)
        if version and _allows(requirement.specifier, version, link):
            files.setdefault(version, []).append(link)
    project = canonical(requirement.name)
    releases = []
    for version in sorted(files):
        best = max(files[version], key=_rank)
        releases.append(Release(project, version.public, best, library))
    return releases


def _allows(specifier: Any, version: ReleaseVersion, link: Link) -> bool:
    if not _is_offered(specifier, version, link):
        return False
    try:
        return satisfies(link.version, str(specifier))
    except VersionError:
        return False  # it does not say which release it is


def _is_offered(specifier: Any, version: ReleaseVersion, link: Link) -> bool:
    """Whether a yanked file or a pre-release is one that the clauses of a requirement ask for."""
    exact = [clause for clause in specifier if clause.operator in ("==", "===")]
    named = [parse_version(clause.version) for clause in exact or specifier]
    if exact and version in named:
        return True
    if link.is_yanked:
        return False
    if not version.is_prerelease:
        return True
    return not exact and any(
        bound is not None and bound.is_prerelease for bound in named
    )


def _rank(link: Link) -> tuple[bool, bool, bool, bool, str]:
    """Rank the files of a release; the highest is read, which is the same on every machine."""
    is_plain = "+" not in link.version and not link.is_yanked
    is_wheel = link.filename.endswith(".whl")
    is_pure = link.filename.endswith("-none-any.whl")
    is_usual = "x86_64" in link.filename
    name = re.sub(r"\d+", lambda digits: digits[0].zfill(9), link.filename)
    return is_plain, is_wheel, is_pure, is_usual, name
