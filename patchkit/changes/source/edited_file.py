"""
Edited source as a file that tracebacks, debuggers and coverage find.

It lies in a folder of the user's own, by the hash of its content, so that processes share it.
Where none can be written, it is kept in memory for this process.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import linecache
import os
import stat
import tokenize
from pathlib import Path
from threading import get_ident

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def publish(text: str, file: str) -> str:
    """
    Make a module's edited text known, and return the file name for its code.

    Args:
        text: of the whole module.
        file: of the module; the new one has the same last name, which log lines show.

    """
    try:
        content = text.encode(_encoding(text))
        name = hashlib.sha256(content).hexdigest()[:32]
        path = _written(content, name, Path(file).name)
    except (OSError, UnicodeError, SyntaxError):
        return _remembered(text, file)
    linecache.cache.setdefault(path, (lambda: text,))  # should the file be cleaned away
    return path


def folder() -> Path:
    """
    Return the folder for edited files.

    Raises:
        OSError: there is no place for one.

    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path("~/.cache")
    try:
        root = root.expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(str(root)) from error
    return root / "patchkit" / "edited"


def _remembered(text: str, file: str) -> str:
    name = f"<patchkit edit of {file} {hashlib.sha256(text.encode()).hexdigest()[:32]}>"
    # Without a time of modification `checkcache` leaves it.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


def _encoding(text: str) -> str:
    """Find the encoding that readers of the file will take: what its first lines say."""
    head = "".join(text.split("\n", 2)[:2])
    if "coding" not in head:
        return "utf-8"
    lines = io.BytesIO("\n".join(text.split("\n", 2)[:2]).encode())
    return tokenize.detect_encoding(lines.readline)[0]


def _written(content: bytes, name: str, last: str) -> str:
    place = folder() / name
    file = place / last
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_foreign(place.parent)
    _refuse_foreign(place)
    if not _holds(file, content):
        _write(file, content)
    return str(file)


def _refuse_foreign(place: Path) -> None:
    """What others may write to could show other text than what runs."""
    info = place.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
        raise PermissionError(f"{place} is not this user's own")


def _holds(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() == content
    except OSError:
        return False


def _write(file: Path, content: bytes) -> None:
    draft = file.with_name(f".{os.getpid()}-{get_ident()}")
    try:
        with os.fdopen(os.open(draft, _NEW, 0o600), "wb") as out:
            out.write(content)
        draft.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
