"""A requirement's releases, each to be read where it lies."""

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
from patchkit.analysis.upstream.reading.index import Index, Link, local_path, parse_filename
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
    """Where releases come from: pip's settings, the web and the cache; offline, the cache."""

    def __init__(
        self,
        settings: PipSettings | None = None,  # read where they are not given
        cache: Cache | None = None,  # the user's where none is given
        *,
        offline: bool = False,
        notice: Callable[[str], None] = lambda _: None,  # told what stops nothing
    ) -> None:
        self._settings = settings
        self.offline = offline
        self._notices: set[str] = set()
        self._notice = notice
        self._lock = threading.Lock()
        self.cache = cache or Cache(default_directory(), self.notice)

    @functools.cached_property
    def settings(self) -> PipSettings:
        """Where pip would look; raises what `PipSettings.read` does."""
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
        """Pass on what has not been said before."""
        with self._lock:
            if text in self._notices:
                return
            self._notices.add(text)
        self._notice(text)


@dataclass(eq=False)
class Release:
    """One release, the file that stands for it, and the library where that comes from."""

    project: str  # as the requirement names it, canonicalized
    version: str  # as released, without a local part
    link: Link
    library: Library

    @property
    def name(self) -> str:
        """For messages: `vllm 0.32.0`."""
        return f"{self.project} {self.version}"

    @functools.cached_property
    def source(self) -> ReleaseSource:
        """Its files."""
        return self.opened()

    def opened(self) -> ReleaseSource:
        """Open its files; nothing is fetched before one is asked for."""
        named = (self.name, self.version, self.link.filename)
        if local := local_path(self.link.url):
            return Archived(*named, _reader(local))
        sha256 = self.link.sha256
        # Without a hash, nothing says that a URL still has the bytes that it had.
        cache = self.library.cache if sha256 else Cache(None)
        reader: Reader = SdistReader(self._downloaded)
        if self.link.filename.endswith(".whl"):
            reader = WheelReader(self.library.web.content(self.link.url), self._downloaded)
        return Archived(*named, reader, cache, f"sha256:{sha256}", self.project)

    def _downloaded(self, reason: Exception | None = None) -> AbstractContextManager[Path]:
        if reason:
            self.library.notice(f"{reason}; fetching {self.link.filename} whole")
        return self.library.web.download(self.link.url, self.link.sha256)


def open_archive(file: Path) -> ReleaseSource:
    """Open a wheel or a source distribution; raises UpstreamError where its name is neither's."""
    parsed = parse_filename(file.name)
    if parsed is None:
        raise UpstreamError(
            f"found {str(file)!r}, expected a wheel such as vllm-0.32.0-py3-none-any.whl, "
            "or a source distribution such as vllm-0.32.0.tar.gz"
        )
    kind = "wheel" if file.name.endswith(".whl") else "sdist"
    return Archived(f"{kind} {file.name}", parsed[1], str(file), _reader(file))


def _reader(file: Path) -> Reader:
    if file.name.endswith(".whl"):
        return WheelReader(LocalContent(file))
    return SdistReader(lambda: contextlib.nullcontext(file))


def find_releases(spec: str, library: Library) -> list[Release]:
    """Find the releases that a requirement such as `vllm>=0.20,<0.34` allows, the oldest first.

    A pre-release counts as its release, and is taken only where the requirement names one; a
    release that its author has taken back only where the requirement names exactly that. Raises
    RequirementError, and UpstreamError where no place knows the project, or none can be asked.
    """
    requirement = parse_requirement(spec)
    files: dict[ReleaseVersion, list[Link]] = {}
    for link in library.index.links(requirement.name):
        version = parse_version(link.version)
        if version and _allows(requirement.specifier, version, link):
            files.setdefault(version, []).append(link)
    project = canonical(requirement.name)
    return [
        Release(project, version.public, max(files[version], key=_rank), library)
        for version in sorted(files)
    ]


def _allows(specifier: Any, version: ReleaseVersion, link: Link) -> bool:
    exact = [clause for clause in specifier if clause.operator in ("==", "===")]
    named = [parse_version(clause.version) for clause in exact or specifier]
    if not (exact and version in named):
        wants_previews = not exact and any(one and one.is_prerelease for one in named)
        if link.is_yanked or (version.is_prerelease and not wants_previews):
            return False
    try:
        return satisfies(link.version, str(specifier))
    except VersionError:
        return False  # it does not say which release it is


def _rank(link: Link) -> tuple[bool, bool, bool, bool, str]:
    """Which of a release's files is read, the one with the highest rank: the same everywhere."""
    plain = "+" not in link.version and not link.is_yanked
    pure = link.filename.endswith("-none-any.whl")
    name = re.sub(r"\d+", lambda digits: digits[0].zfill(9), link.filename)
    return (plain, link.filename.endswith(".whl"), pure, "x86_64" in link.filename, name)
