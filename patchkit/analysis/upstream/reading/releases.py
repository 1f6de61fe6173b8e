"""Finds the releases that a requirement allows, and opens their files."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from patchkit.analysis.upstream.reading.archive import Archived, Reader, SdistReader
from patchkit.analysis.upstream.reading.cache import Cache, default_directory
from patchkit.analysis.upstream.reading.file_choice import choose_file, foreign_files
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
from patchkit.core.versions.wheel_tags import Machine
from patchkit.errors import UpstreamError, VersionError

if TYPE_CHECKING:
    from patchkit.core.versions.requirements import ReleaseVersion


class Library(contextlib.AbstractContextManager["Library"]):
    """Where releases come from: pip's settings, the web and the cache.

    Args:
        settings: pip's settings; None for those that pip would read.
        cache: The cache; None for the user's.
        offline: Whether only the cache is read.
        machine: The machine and the Python whose files are read; None for this machine.
        notice: Called with a sentence for the user about each problem that stops nothing.
    """

    def __init__(
        self,
        settings: PipSettings | None = None,
        cache: Cache | None = None,
        *,
        offline: bool = False,
        machine: Machine | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self.offline = offline
        self.machine = machine or Machine()
        self._notices: set[str] = set()
        self._notice = notice
        self._lock = threading.Lock()
        self.cache = cache or Cache(default_directory(), self.notice)

    @functools.cached_property
    def settings(self) -> PipSettings:
        """Where pip would look for packages; reading this raises what `PipSettings.read` does."""
        return self._settings or PipSettings.read()

    @functools.cached_property
    def web(self) -> Web:
        """Fetches the pages of the index and the files that they list."""
        from patchkit.analysis.upstream.reading.web import Web  # noqa: PLC0415 - urllib3 takes its time

        return Web(self.settings, offline=self.offline)

    @functools.cached_property
    def index(self) -> Index:
        """Lists the files of a project."""
        return Index(self.settings, self.web, self.cache, self.notice)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        is_interrupted = kind is not None and not issubclass(kind, Exception)
        if "web" in vars(self):  # it is made when it is first used
            self.web.close(at_once=is_interrupted)
        self.cache.close()

    def notice(self, text: str) -> None:
        """Pass a `text` on to the `notice` of the constructor, but each text only once."""
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
        link: The file from which it is read.
        library: Where the file comes from.
    """

    project: str
    version: str
    link: Link
    library: Library

    @property
    def name(self) -> str:
        """Its name in messages: `vllm 0.32.0`."""
        return f"{self.project} {self.version}"

    @functools.cached_property
    def source(self) -> ReleaseSource:
        """Its files; the same object each time."""
        return self.opened()

    def opened(self) -> ReleaseSource:
        """Open its files; nothing is fetched before one of them is read.

        Returns:
            A new source at each call; `source` is one that is shared.
        """
        file = local_path(self.link.url)
        reader = _reader(file) if file else self._remote_reader()
        archive = Archived(self.name, self.version, self.link.filename, reader)
        # A file on this machine needs no cache. What is at a URL may change, so that the cache is
        # used only if the hash of the file is known.
        if not file and self.link.sha256:
            archive.cache = self.library.cache
            archive.key = f"sha256:{self.link.sha256}"
            archive.project = self.project
        return archive

    def _remote_reader(self) -> Reader:
        """Return the reader for its file on the web, by the format of the file."""
        if self.link.filename.endswith(".whl"):
            content = self.library.web.content(self.link.url)
            return WheelReader(content, self._download)
        return SdistReader(self._download)

    def _download(
        self, reason: Exception | None = None
    ) -> AbstractContextManager[Path]:
        """Fetch its whole file, until the context ends.

        Args:
            reason: Why a wheel cannot be read in parts, to tell the user; None for a source
                distribution, which is always read whole.
        """
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
    """Return the reader for a file on this machine, by its format."""
    if file.name.endswith(".whl"):
        return WheelReader(LocalContent(file))
    return SdistReader(lambda: contextlib.nullcontext(file))


def find_releases(
    spec: str, library: Library, *, telling: bool = True
) -> list[Release]:
    """Find the releases that a requirement allows.

    A pre-release is compared as its release would be, and taken only if the requirement names a
    pre-release. A yanked release is taken only if the requirement is for exactly that (`==`).

    Each is read from the file that pip would install; a notice tells where it would install none.

    Args:
        spec: The requirement, such as `vllm>=0.20,<0.34`.
        library: Where the releases come from.
        telling: Whether the notice is given; not for releases of which only some will be read.

    Returns:
        The releases, the oldest first.

    Raises:
        RequirementError: The requirement cannot be read.
        UpstreamError: No index knows the project, or none can be asked.
    """
    files = _files_by_version(spec, library)
    project = canonical(parse_requirement(spec).name)
    releases = []
    chosen = []
    for version in sorted(files):
        file = choose_file(files[version], library.machine)
        chosen.append((version.public, file))
        releases.append(Release(project, version.public, file.link, library))
    text = foreign_files(project, chosen, library.machine)
    if text and telling:
        library.notice(text)
    return releases


def find_versions(project: str, library: Library) -> list[str]:
    """List the versions of the releases of a project, of which none is to be read.

    Args:
        project: The name of the project.
        library: Where the releases come from.

    Returns:
        The versions, the oldest first, without pre-releases and without yanked ones.

    Raises:
        UpstreamError: No index knows the project, or none can be asked.
    """
    return [version.public for version in sorted(_files_by_version(project, library))]


def _files_by_version(spec: str, library: Library) -> dict[ReleaseVersion, list[Link]]:
    """Group the files on the index by version, for the versions that a requirement allows."""
    requirement = parse_requirement(spec)
    files: dict[ReleaseVersion, list[Link]] = {}
    for link in library.index.links(requirement.name):
        version = parse_version(link.version)
        if version and _allows(requirement.specifier, version, link):
            files.setdefault(version, []).append(link)
    return files


def _allows(specifier: Any, version: ReleaseVersion, link: Link) -> bool:
    """Whether the specifiers of a requirement, such as `>=0.20,<0.34`, allow a file."""
    if not _is_offered(specifier, version, link):
        return False
    try:
        return satisfies(link.version, str(specifier))
    except VersionError:
        return False  # the version does not say which release it is


def _is_offered(specifier: Any, version: ReleaseVersion, link: Link) -> bool:
    """Whether a file may be taken for a requirement; yanked ones and pre-releases often may not."""
    exact = [clause for clause in specifier if clause.operator in ("==", "===")]
    # The versions of the `==` clauses; without any, those of all clauses.
    bounds = [parse_version(clause.version) for clause in exact or specifier]
    # `==1.0rc1` is for exactly this version, which may be a pre-release, or yanked.
    if exact and version in bounds:
        return True
    if link.is_yanked:
        return False
    if not version.is_prerelease:
        return True
    # `>=1.0rc1` allows pre-releases, `>=1.0` and `==1.0` do not.
    return not exact and any(
        bound is not None and bound.is_prerelease for bound in bounds
    )
