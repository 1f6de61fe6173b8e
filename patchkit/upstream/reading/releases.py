"""A requirement's releases, each to be read where it lies."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from patchkit.errors import UnreachableError, UpstreamError, VersionError
from patchkit.upstream.reading.archived import Archived, MemoryShelf
from patchkit.upstream.reading.cache import Cache, default_directory
from patchkit.upstream.reading.connections import CONNECTIONS
from patchkit.upstream.reading.content import LocalContent
from patchkit.upstream.reading.index import Index
from patchkit.upstream.reading.remote import RemoteContent
from patchkit.upstream.reading.sdist import SdistReader
from patchkit.upstream.reading.settings import PipSettings, without_secrets
from patchkit.upstream.reading.web import Web
from patchkit.upstream.reading.wheel import WheelReader
from patchkit.versions.requirements import canonical, parse_requirement, parse_version, satisfies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from patchkit.upstream.reading.archived import Reader, Shelf
    from patchkit.upstream.reading.index import Link
    from patchkit.upstream.reading.source import Source
    from patchkit.versions.requirements import Listed

T = TypeVar("T")


class Named(Protocol):
    """What messages call by a name, such as a release."""

    @property
    def name(self) -> str:
        """For messages."""


Item = TypeVar("Item", bound=Named)
_STATES = "state-of-url"


class Progress(Protocol):
    """Told how far long work has come; called in the thread that asked for the work."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Take note that `done` of `total` are done, the last of which is `label`."""


class Library:
    """
    Where releases come from: pip's settings, the web and the cache.

    Args:
        settings: pip's, read where they are not given.
        cache: keeps what was read; the user's where none is given.
        offline: True uses only what is kept.
        notice: told what the user should know and what stops nothing.

    """

    def __init__(
        self,
        settings: PipSettings | None = None,
        cache: Cache | None = None,
        *,
        offline: bool = False,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        settings = settings or PipSettings.read()
        self._notices: set[str] = set()
        self._notice = notice
        self._lock = threading.Lock()
        self.cache = cache or Cache(default_directory(), self.notice)
        self.web = Web(settings, offline=offline)
        self.index = Index(settings, self.web, self.cache, self.notice)

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and the cache."""
        self.web.close()
        self.cache.close()

    def notice(self, text: str) -> None:
        """Pass on what has not been said before."""
        with self._lock:
            is_new = text not in self._notices
            self._notices.add(text)
        if is_new:
            self._notice(text)


class Release:
    """
    One release, and the file that stands for it.

    Args:
        project: as the requirement names it, canonicalized.
        version: as released, without a local part.
        link: the file.
        library: where the file comes from.

    """

    def __init__(self, project: str, version: str, link: Link, library: Library) -> None:
        self.project = project
        self.version = version
        self.link = link
        self._library = library

    def __repr__(self) -> str:
        return f"<{self.name}: {self.link.filename}>"

    @property
    def name(self) -> str:
        """For messages: `vllm 0.32.0`."""
        return f"{self.project} {self.version}"

    @functools.cached_property
    def source(self) -> Source:
        """
        Its files; nothing is fetched before one is asked for.

        Raises:
            UpstreamError: it cannot be said which bytes the file has.

        """
        reader, shelf = self._local(self.link.local) if self.link.local else self._remote()
        return Archived(self.name, self.version, self.link.filename, reader, shelf)

    def _local(self, file: Path) -> tuple[Reader, Shelf]:
        if self.link.is_wheel:
            return WheelReader(LocalContent(file)), MemoryShelf()
        reader = SdistReader(lambda: contextlib.nullcontext(file))
        return reader, self._library.cache.shelf(self._named(lambda: _state_of(file)))

    def _remote(self) -> tuple[Reader, Shelf]:
        web, url, sha256 = self._library.web, self.link.url, self.link.sha256
        key = f"sha256:{sha256}" if sha256 else self._named(lambda: web.state(url))
        shelf = self._library.cache.shelf(f"with extension modules: {key}")
        if self.link.is_wheel:
            return WheelReader(RemoteContent(web, url, sha256, self._library.notice)), shelf
        return SdistReader(lambda: web.download(url, sha256)), shelf

    def _named(self, state: Callable[[], str]) -> str:
        """Name the bytes that a URL has now; those that it had where nobody says."""
        cache, url = self._library.cache, without_secrets(self.link.url)
        try:
            key = f"{url} {state()}"
        except UnreachableError as error:
            kept = cache.note(_STATES, url)
            if kept is None:
                raise self._failed(error) from error
            return kept.decode()
        except UpstreamError as error:
            raise self._failed(error) from error
        if cache.note(_STATES, url) != key.encode():
            cache.keep_notes(_STATES, {url: key.encode()})
        return key

    def _failed(self, error: UpstreamError) -> UpstreamError:
        return UpstreamError(f"{self.name}: {self.link.filename}: {error}")


def _state_of(file: Path) -> str:
    try:
        state = file.stat()
    except OSError as error:
        raise UpstreamError(error.strerror or str(error)) from error
    return f"{state.st_size} {state.st_mtime_ns}"


def find_releases(spec: str, library: Library) -> list[Release]:
    """
    Find the releases that a requirement allows, the oldest first.

    A pre-release counts as its release, and is taken only where the requirement names one; a
    release that its author has taken back only where the requirement names exactly that.

    Args:
        spec: such as `vllm>=0.20,<0.34`.
        library: where they come from.

    Raises:
        RequirementError: spec is no requirement.
        UpstreamError: no place knows the project, or none can be asked.

    """
    requirement = parse_requirement(spec)
    bounds = [(clause.operator, clause.version) for clause in requirement.specifier]
    written = str(requirement.specifier)
    choice = _Choice(tuple(bounds))
    files: dict[Listed, list[Link]] = {}
    for link in library.index.links(requirement.name):
        version = parse_version(link.version)
        if version and choice.allows(version, link) and _satisfies(link, written):
            files.setdefault(version, []).append(link)
    project = canonical(requirement.name)
    return [
        Release(project, version.public, max(files[version], key=_rank), library)
        for version in sorted(files)
    ]


def _satisfies(link: Link, bounds: str) -> bool:
    try:
        return satisfies(link.version, bounds)
    except VersionError:
        return False  # it does not say which release it is


@dataclass(frozen=True)
class _Choice:
    """What a requirement says of pre-releases and of what was taken back."""

    bounds: tuple[tuple[str, str], ...]

    def allows(self, version: Listed, link: Link) -> bool:
        if link.is_yanked and not self._names(version):
            return False
        return not version.is_prerelease or self._wants_prerelease(version)

    def _names(self, version: Listed) -> bool:
        exact = (text for operator, text in self.bounds if operator in ("==", "==="))
        return any(parse_version(text) == version for text in exact)

    def _wants_prerelease(self, version: Listed) -> bool:
        if any(operator in ("==", "===") for operator, _ in self.bounds):
            return self._names(version)
        named = (parse_version(text) for _, text in self.bounds)
        return any(bound and bound.is_prerelease for bound in named)


def _rank(link: Link) -> tuple[bool, bool, bool, bool, str]:
    """
    Which of a release's files to read, by their Python: the same one on every machine.

    A wheel before a source distribution, one for every machine before others, then x86-64 and the
    newest Python.
    """
    plain = "+" not in link.version and not link.is_yanked
    pure = link.filename.endswith("-none-any.whl")
    name = re.sub(r"\d+", lambda digits: digits[0].zfill(9), link.filename)
    return (plain, link.is_wheel, pure, "x86_64" in link.filename, name)


def for_each(
    items: Sequence[Item],
    work: Callable[[Item], T],
    progress: Progress | None = None,
) -> list[T | UpstreamError]:
    """
    Do the same with every release, or with what reads one, several at a time.

    Args:
        items: what to work on.
        work: is called in other threads.
        progress: told of each that is done.

    Returns:
        For each item, in their order, what came of it, or why it could not be read.

    """
    results: dict[int, T | UpstreamError] = {}
    with ThreadPoolExecutor(CONNECTIONS, "patchkit-releases") as workers:
        tasks = {workers.submit(_tried, work, one): at for at, one in enumerate(items)}
        try:
            for task in as_completed(tasks):
                results[tasks[task]] = task.result()
                if progress:
                    progress(len(results), len(tasks), items[tasks[task]].name)
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise
    return [results[at] for at in range(len(items))]


def _tried(work: Callable[[Item], T], item: Item) -> T | UpstreamError:
    try:
        return work(item)
    except UpstreamError as error:
        return error
