"""Caches on this machine what was fetched from indexes and archives.

Each entry is a file of its own below `$XDG_CACHE_HOME/patchkit/upstream/`. The name of the file is
the hash of the entry's name. The file begins with the hash of the entry's name and content; an
entry for which it is wrong is deleted, and fetched again. Files are written whole or not at all,
so that several processes may use the cache at once. If the directory cannot be written, entries
are kept in memory.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.core.plain_files import read_plain
from patchkit.errors import UpstreamError

MAX_BYTES = 1 << 30
"""If all files have more, those not used for longest are deleted, until half of it is left."""

_FOLDER = "releases-2"
"""The folder of the files; a new format of them takes the next number."""
_DIGEST_SIZE = 32
_MAX_ENTRY = 256 << 20
"""Bytes that an entry may have, packed and unpacked; the largest are index pages."""
_DAY = 86_400.0
"""Seconds; the time of last use is written at most once a day."""


class IndexPage(NamedTuple):
    """A page of an index, as it was fetched.

    Args:
        url: Its URL after redirects, to which its links are relative.
        kind: Its media type.
        etag: Its ETag, by which the server tells whether it has changed; '' where there is none.
        fetched: When it was fetched, in seconds since the epoch.
        body: Its content.
    """

    url: str
    kind: str
    etag: str = ""
    fetched: float = 0.0
    body: bytes = b""

    def changed(
        self, change: Callable[[bytes, Sequence[str]], bytes], tokens: Sequence[str]
    ) -> "IndexPage":
        """Return the page with another URL and body.

        Args:
            change: Returns the new text for an old one and the tokens.
            tokens: What the function is given.
        """
        url = change(self.url.encode("utf-8", "surrogateescape"), tokens)
        body = change(self.body, tokens)
        return self._replace(url=url.decode("utf-8", "surrogateescape"), body=body)


def default_directory() -> Path | None:
    """Return the directory of the user's cache; None for a user without a home.

    Containers often run as a user who is in no `/etc/passwd`, and has no `HOME`.
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache)
    if not cache.startswith("/"):  # the XDG specification says to ignore relative paths
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            return None
    return base / "patchkit" / "upstream"


class Cache:
    """The cache; safe for threads and processes.

    Args:
        directory: Where its files lie; None to store everything in memory.
        notice: Called once, with a sentence for the user, if the directory cannot be written.
        limit: How many bytes all files may have.
    """

    def __init__(
        self,
        directory: Path | None,
        notice: Callable[[str], None] = lambda _: None,
        limit: int = MAX_BYTES,
    ) -> None:
        self.directory = directory
        self._folder = None
        if directory:
            self._folder = directory / _FOLDER
        self.notice = notice
        self._limit = limit
        self._takes_files = directory is not None  # False once a file cannot be written
        self._has_grown = False  # whether a file was written
        self._memory: dict[str, bytes] = {}

    def close(self) -> None:
        """Delete the files that were not used for longest, if they are too many."""
        if self._folder and self._has_grown:
            _shrink(self._folder, self._limit)

    def page(self, url: str) -> IndexPage | None:
        """Return the page at `url` as it was last fetched; None where it never was."""
        entry = self.get(f"page {url}")
        if entry is None:
            return None
        head, _, body = entry.partition(b"\n")  # as `keep_page` has joined them
        try:
            final_url, kind, etag, fetched = json.loads(head)
        except (ValueError, TypeError):
            return None  # nothing that `keep_page` has written
        return IndexPage(final_url, kind, etag, fetched, body)

    def keep_page(self, url: str, page: IndexPage) -> None:
        """Store a page in place of an older one.

        Args:
            url: The URL that was asked for it.
            page: The page.
        """
        head = json.dumps(page[:-1]).encode()  # all but the body, on one line
        self.put(f"page {url}", head + b"\n" + page.body)

    def forget_page(self, url: str) -> None:
        """Delete a page, if it is there.

        Args:
            url: The URL that was asked for it.
        """
        name = f"page {url}"
        self._memory.pop(name, None)
        file = self._file(name)
        if file:
            with contextlib.suppress(OSError):
                file.unlink()

    def get(self, name: str) -> bytes | None:
        """Return the content of the entry `name`; None where there is none, or it is damaged."""
        file = self._file(name)
        if file is None:  # there is no directory
            return self._memory.get(name)
        if name in self._memory:  # it could not be written
            return self._memory[name]
        try:
            data = read_plain(file, _MAX_ENTRY)
        except OSError:
            return None
        except UpstreamError as error:
            self.notice(f"the file {file} of the cache is not used: {error}")
            data = b""
        # Its time is that of its last use, by which `_shrink` chooses what to delete. A file of
        # another user cannot be marked so, and is used all the same.
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _DAY:
                os.utime(file)
        with contextlib.suppress(zlib.error):
            content = zlib.decompressobj().decompress(data[_DIGEST_SIZE:], _MAX_ENTRY)
            if _digest(name, content) == data[:_DIGEST_SIZE]:
                return content
        with contextlib.suppress(OSError):  # it is damaged
            file.unlink()
        return None

    def has(self, name: str) -> bool:
        """Whether there is an entry `name`."""
        file = self._file(name)
        if name in self._memory:
            return True
        # `os.path`: unlike a `Path`, it raises no error for a folder that may not be read.
        return file is not None and os.path.isfile(file)  # noqa: PTH113 - a Path may raise

    def put(self, name: str, content: bytes) -> None:
        """Store an entry; in memory if it cannot be written.

        Args:
            name: Its name.
            content: Its content.
        """
        file = self._file(name)
        if file and self._takes_files:
            try:
                # Level 1 compresses fast rather than small.
                _write(file, _digest(name, content) + zlib.compress(content, 1))
            except OSError as error:
                self._takes_files = False
                self.notice(
                    f"the cache {self._folder} cannot be used ({error}); nothing is kept"
                )
            else:
                self._has_grown = True
                return
        self._memory[name] = content

    def _file(self, name: str) -> Path | None:
        """Return the file of an entry, whether it exists or not; None without a directory."""
        if self._folder is None:
            return None
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / digest[:2] / digest[2:]


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(
        name.encode("utf-8", "surrogatepass") + b"\0" + content
    ).digest()


def _write(file: Path, data: bytes) -> None:
    """Write a file whole or not at all: write another one, and rename it."""
    if not file.parent.is_dir():
        # Two calls, as `mode` does not count for the parents that `parents=True` makes.
        file.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.parent.mkdir(mode=0o700, exist_ok=True)
    # mkstemp makes a file that only its owner can read.
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix="draft-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _shrink(folder: Path, limit: int) -> None:
    """Delete files down to half of the limit, if they have more bytes than it allows."""
    files = []
    for file in folder.glob("*/*"):
        with contextlib.suppress(OSError):  # another process has deleted it
            state = file.stat()
            files.append((state.st_mtime, state.st_size, file))
    files.sort(reverse=True)  # the one not used for longest is the last
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    while total > limit // 2:
        _, size, file = files.pop()
        total -= size
        with contextlib.suppress(OSError):
            file.unlink()
