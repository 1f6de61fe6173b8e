"""What has been read of upstream, kept on this machine.

Each thing is a file of its own below `$XDG_CACHE_HOME/patchkit/upstream/`. The hash of what it is
called names it; the hash of that and of its content stands in it, and what does not agree is
forgotten and fetched again. Files are written whole or not at all, so several processes may use it
at once. A cache that cannot be written is done without.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MAX_BYTES = 1 << 30
"""When all files have more, those that were not used for longest go, to half of it."""

_FOLDER = "releases-2"
_DIGEST = 32
_DAY = 86_400.0


class IndexPage(NamedTuple):
    """A page of an index, as it was fetched."""

    url: str  # where it came from after redirects: what its links are relative to
    kind: str  # its media type
    etag: str  # what the server calls this state of it, empty where it does not
    fetched: float  # in seconds since the epoch
    body: bytes


def default_directory() -> Path:
    """Where the cache lies unless somebody says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    base = Path(home) if home.startswith("/") else Path.home() / ".cache"
    return base / "patchkit" / "upstream"


class Cache:
    """The cache; safe for threads and processes."""

    def __init__(
        self,
        directory: Path | None,  # None keeps everything in memory
        notice: Callable[[str], None] = lambda _: None,  # told, once, that it cannot be written
        limit: int = MAX_BYTES,
    ) -> None:
        self.directory = directory
        self._folder = directory / _FOLDER if directory else None
        self.notice = notice
        self._limit = limit
        self._takes_files = directory is not None
        self._has_grown = False
        self._memory: dict[str, bytes] = {}

    def close(self) -> None:
        """Drop what is too much."""
        if self._folder and self._has_grown:
            _shrink(self._folder, self._limit)

    def page(self, url: str) -> IndexPage | None:
        """Return a page as it was last fetched, None where it was not."""
        kept = self.get(f"page {url}")
        if kept is None:
            return None
        head, _, body = kept.partition(b"\n")
        final, kind, etag, fetched = json.loads(head)
        return IndexPage(final, kind, etag, fetched, body)

    def keep_page(self, asked: str, page: IndexPage) -> None:
        """Keep a page, by the URL that was asked for, in place of what was there."""
        self.put(f"page {asked}", json.dumps(page[:-1]).encode() + b"\n" + page.body)

    def get(self, name: str) -> bytes | None:
        """Return what is called so; None where nothing is, or what is there is damaged."""
        file = self._file(name)
        if name in self._memory or file is None:
            return self._memory.get(name)
        try:
            data = file.read_bytes()
            if time.time() - file.stat().st_mtime > _DAY:
                os.utime(file)
        except OSError:
            return None
        with contextlib.suppress(zlib.error):
            content = zlib.decompress(data[_DIGEST:])
            if _digest(name, content) == data[:_DIGEST]:
                return content
        with contextlib.suppress(OSError):
            file.unlink()
        return None

    def has(self, name: str) -> bool:
        """Whether something is called so."""
        file = self._file(name)
        return name in self._memory or (file is not None and file.is_file())

    def put(self, name: str, content: bytes) -> None:
        """Keep something, in memory where the disk does not take it."""
        file = self._file(name)
        if file and self._takes_files:
            try:
                _write(file, _digest(name, content) + zlib.compress(content, 1))
            except OSError as error:
                self._takes_files = False
                self.notice(f"the cache {self._folder} cannot be used ({error}); nothing is kept")
            else:
                self._has_grown = True
                return
        self._memory[name] = content

    def _file(self, name: str) -> Path | None:
        if self._folder is None:
            return None
        mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / mark[:2] / mark[2:]


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass") + b"\0" + content).digest()


def _write(file: Path, data: bytes) -> None:
    if not file.parent.is_dir():
        file.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.parent.mkdir(mode=0o700, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix="draft-")  # for its owner alone
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _shrink(folder: Path, limit: int) -> None:
    files = []
    for file in folder.glob("*/*"):
        with contextlib.suppress(OSError):  # somebody else has dropped it
            state = file.stat()
            files.append((state.st_mtime, state.st_size, file))
    files.sort(reverse=True)
    left = sum(size for _, size, _ in files)
    goal = limit // 2 if left > limit else left
    while left > goal:
        _, size, file = files.pop()
        left -= size
        with contextlib.suppress(OSError):
            file.unlink()
