"""
What has been read of upstream, kept on this machine by content.

One SQLite file, `$XDG_CACHE_HOME/patchkit/upstream/releases-1.sqlite`: a command that looks at
5,000 files opens one. Several processes may use it at once. Everything in it is addressed by the
hash of its content, which is compared when it is read; what does not agree is forgotten and
fetched again. A cache that cannot be used is done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

MAX_BYTES = 1 << 30
"""When the file is larger, the half of the releases that was not used for longest goes."""

_FILE = "releases-1.sqlite"
_PATIENCE = 30.0
_DAY = 86_400.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS blob (digest BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS archive (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, listing BLOB, used REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS member (
    archive INTEGER NOT NULL, path TEXT NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (archive, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page (
    url TEXT PRIMARY KEY, final TEXT NOT NULL, kind TEXT NOT NULL, etag TEXT NOT NULL,
    fetched REAL NOT NULL, digest BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS note (
    topic TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, used REAL NOT NULL,
    PRIMARY KEY (topic, key)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Page:
    """
    A page of an index.

    Args:
        url: where it came from in the end, after redirects: what its links are relative to.
        kind: its media type.
        etag: what the server calls this state of it, empty where it does not.
        fetched: when, in seconds since the epoch.
        body: its bytes.

    """

    url: str
    kind: str
    etag: str
    fetched: float
    body: bytes


def default_directory() -> Path:
    """Where the cache lies unless somebody says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    base = Path(home) if home.startswith("/") else Path.home() / ".cache"
    return base / "patchkit" / "upstream"


class Cache:
    """
    The cache; safe for threads and processes.

    Args:
        directory: where its file lies; None keeps everything in memory.
        notice: told, once, that the cache cannot be used.
        limit: bytes that the file may have.

    """

    def __init__(
        self,
        directory: Path | None,
        notice: Callable[[str], None] = lambda _: None,
        limit: int = MAX_BYTES,
    ) -> None:
        self._file = directory / _FILE if directory else None
        self._notice = notice
        self._limit = limit
        self._lock = threading.RLock()
        self._has_begun_anew = False
        self._database = self._opened()

    def close(self) -> None:
        """Close the file, after dropping what is too much."""
        with self._lock:
            if self._file and _size(self._file) > self._limit:
                self.write(_drop_oldest)
            self._database.close()

    def shelf(self, key: str) -> ArchiveShelf:
        """
        Return the place of one archive's files.

        Args:
            key: says which bytes the archive has, such as `sha256:…`.

        """
        return ArchiveShelf(self, key)

    def page(self, url: str) -> Page | None:
        """Return a page as it was last fetched, None where it was not."""
        question = "SELECT final, kind, etag, fetched, digest FROM page WHERE url = ?"
        for final, kind, etag, fetched, digest in self.ask(question, url):
            body = self.blob(digest, url)
            return None if body is None else Page(final, kind, etag, fetched, body)
        return None

    def keep_page(self, asked: str, page: Page) -> None:
        """Keep a page, by the URL that was asked for, in place of what was there."""
        blob = _Blob.of(page.body, asked)
        row = (asked, page.url, page.kind, page.etag, page.fetched, blob.digest)

        def work(database: sqlite3.Connection) -> None:
            database.execute(_ADD_BLOB, blob.row)
            database.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?)", row)

        self.write(work)

    def note(self, topic: str, key: str) -> bytes | None:
        """
        Return what was worked out before, None where nothing was.

        Args:
            topic: what it is about, with the version of the code that works it out.
            key: what it was worked out from, such as the hash of a file.

        """
        question = "SELECT digest FROM note WHERE topic = ? AND key = ?"
        rows = self.ask(question, topic, key)
        return next((self.blob(digest, f"{topic} {key}") for (digest,) in rows), None)

    def keep_notes(self, topic: str, notes: Mapping[str, bytes]) -> None:
        """Keep what was worked out, by key."""
        blobs = {key: _Blob.of(content, f"{topic} {key}") for key, content in notes.items()}
        rows = [(topic, key, blob.digest, time.time()) for key, blob in blobs.items()]

        def work(database: sqlite3.Connection) -> None:
            database.executemany(_ADD_BLOB, [blob.row for blob in blobs.values()])
            database.executemany("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?)", rows)

        self.write(work)

    def blob(self, digest: bytes, name: str = "") -> bytes | None:
        """
        Return what has this hash; None, and it is forgotten, where it has another.

        Args:
            digest: the hash.
            name: what the content was kept as, where that is part of the hash.

        """
        for (data,) in self.ask("SELECT data FROM blob WHERE digest = ?", digest):
            content = _inflated(data)
            if content is not None and _digest(content, name) == digest:
                return content
            self.write(lambda database: database.execute(_FORGET, (digest,)))
        return None

    def ask(self, question: str, *values: object) -> list[Any]:
        """Ask the database; one that cannot answer knows nothing."""
        with self._lock:
            try:
                return self._database.execute(question, values).fetchall()
            except sqlite3.Error as error:
                self._replace(error)
                return []

    def write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Write all that `work` writes, or nothing; to memory where the file takes nothing."""
        with self._lock:
            for _ in range(3):  # the file, a new file, memory
                try:
                    self._transact(work)
                    break
                except sqlite3.Error as error:
                    self._replace(error)

    def _transact(self, work: Callable[[sqlite3.Connection], object]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            work(self._database)
            self._database.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            return _connected(":memory:")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
            return _connected(str(self._file))
        except (OSError, sqlite3.Error) as error:
            return self._other(error)

    def _replace(self, error: sqlite3.Error) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._database.close()
        self._database = self._other(error)

    def _other(self, error: Exception) -> sqlite3.Connection:
        """Begin anew where the file is damaged, and else do without it."""
        file, damaged = self._file, type(error) is sqlite3.DatabaseError
        if file and damaged and not self._has_begun_anew:
            self._has_begun_anew = True
            with contextlib.suppress(OSError):
                for name in (file.name, f"{file.name}-journal"):
                    file.with_name(name).unlink(missing_ok=True)
                return self._opened()
        self._notice(f"the cache {file} cannot be used ({error}); nothing is kept")
        self._file = None
        return _connected(":memory:")


class ArchiveShelf:
    """
    The files of one archive that are kept.

    Args:
        cache: keeps them.
        key: says which archive.

    """

    def __init__(self, cache: Cache, key: str) -> None:
        self._cache = cache
        self._key = key

    def listing(self) -> str | None:
        """Return the listing, None where it has not been kept."""
        question = "SELECT listing, used FROM archive WHERE key = ?"
        for digest, used in self._cache.ask(question, self._key):
            self._touch(used)
            text = digest and self._cache.blob(digest, self._key)
            return text.decode() if text else None
        return None

    def read(self, path: str) -> bytes | None:
        """Return one file, None where it has not been kept."""
        digest = self._digest(path)
        return None if digest is None else self._cache.blob(digest)

    def held(self, paths: Collection[str]) -> set[str]:
        """Return those of the files that have been kept."""
        rows = self._cache.ask(_MEMBERS, self._key)
        return {path for path, _ in rows} & set(paths)

    def keep_listing(self, text: str) -> None:
        """Keep the listing."""
        blob = _Blob.of(text.encode(), self._key)

        def work(database: sqlite3.Connection) -> None:
            database.execute(_ADD_ARCHIVE, (self._key, time.time()))
            database.execute(_ADD_BLOB, blob.row)
            database.execute(
                "UPDATE archive SET listing = ? WHERE key = ?", (blob.digest, self._key)
            )

        self._cache.write(work)

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Keep some files."""
        blobs = {path: _Blob.of(content) for path, content in files.items()}
        rows = [(path, blob.digest, self._key) for path, blob in blobs.items()]

        def work(database: sqlite3.Connection) -> None:
            database.execute(_ADD_ARCHIVE, (self._key, time.time()))
            database.executemany(_ADD_BLOB, [blob.row for blob in blobs.values()])
            database.executemany(_ADD_MEMBER, rows)

        self._cache.write(work)

    def _digest(self, path: str) -> bytes | None:
        rows = self._cache.ask(f"{_MEMBERS} AND path = ?", self._key, path)
        return next((digest for _, digest in rows), None)

    def _touch(self, used: float) -> None:
        now = time.time()
        if now - used > _DAY:
            sets = "UPDATE archive SET used = ? WHERE key = ?"
            self._cache.write(lambda database: database.execute(sets, (now, self._key)))


_FORGET = "DELETE FROM blob WHERE digest = ?"
_ADD_BLOB = "INSERT OR IGNORE INTO blob VALUES (?, ?)"
_ADD_ARCHIVE = "INSERT OR IGNORE INTO archive (key, used) VALUES (?, ?)"
_ADD_MEMBER = (
    "INSERT OR REPLACE INTO member (archive, path, digest)"
    " SELECT id, ?, ? FROM archive WHERE key = ?"
)
# A member counts only with its content: that may have been damaged, and forgotten.
_MEMBERS = (
    "SELECT path, member.digest FROM archive JOIN member ON archive = id"
    " JOIN blob ON blob.digest = member.digest WHERE key = ?"
)


@dataclass(frozen=True)
class _Blob:
    """Some content, by its hash; the name is part of that where it must not be another's."""

    digest: bytes
    data: bytes

    @classmethod
    def of(cls, content: bytes, name: str = "") -> _Blob:
        return cls(_digest(content, name), zlib.compress(content, 1))

    @property
    def row(self) -> tuple[bytes, bytes]:
        return (self.digest, self.data)


def _digest(content: bytes, name: str) -> bytes:
    return hashlib.sha256(f"{name}\0".encode() + content if name else content).digest()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # somebody has removed it


def _inflated(data: bytes) -> bytes | None:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return None


def _connected(place: str) -> sqlite3.Connection:
    database = sqlite3.connect(
        place, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    # Nothing waits for the disk. A process that is killed does no harm; where the whole machine
    # fails, what was half written is noticed by its hash.
    try:
        database.executescript(f"PRAGMA auto_vacuum=FULL; PRAGMA synchronous=OFF; {_SCHEMA}")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _drop_oldest(database: sqlite3.Connection) -> None:
    """Drop the half of the archives and notes that was not used for longest."""
    for statement in _DROP:
        database.execute(statement)


_DROP = (
    "DELETE FROM archive WHERE used <= (SELECT used FROM archive ORDER BY used"
    " LIMIT 1 OFFSET (SELECT count(*) / 2 FROM archive))",
    "DELETE FROM note WHERE used <= (SELECT used FROM note ORDER BY used"
    " LIMIT 1 OFFSET (SELECT count(*) / 2 FROM note))",
    "DELETE FROM member WHERE archive NOT IN (SELECT id FROM archive)",
    "DELETE FROM blob WHERE digest NOT IN (SELECT digest FROM member UNION"
    " SELECT digest FROM note UNION SELECT digest FROM page UNION"
    " SELECT listing FROM archive WHERE listing IS NOT NULL)",
)
