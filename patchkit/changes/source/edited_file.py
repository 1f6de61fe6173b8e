"""
Edited source as a file that tracebacks, debuggers, coverage and vLLM's compile cache find.

It lies in a folder of the user's own, by the hash of its content, so that processes share it.
Where none can be written, it is kept in memory for this process.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import stat
from pathlib import Path
from threading import get_ident


def publish(text: str, file: str) -> str:
    """
    Make a module's edited text known, and return the file name for its code.

    Its last name is that of the module's file, which log lines show.
    """
    content = text.encode(errors="surrogatepass")
    digest = hashlib.sha256(content).hexdigest()[:32]
    try:
        name = _written(content, folder() / digest / Path(file).name)
    except (OSError, RuntimeError):  # also where nobody knows the home
        name = f"<patchkit edit of {file} {digest}>"
        # Without a time of modification `checkcache` leaves it.
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    linecache.cache.setdefault(name, (lambda: text,))  # should the file be cleaned away
    return name


def folder() -> Path:
    """Return the folder for edited files, which need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "patchkit" / "edited"


def _written(content: bytes, file: Path) -> str:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for place in (file.parent.parent, file.parent):
        info = place.lstat()
        # What others may write to could show other text than what runs.
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
            raise PermissionError(f"{place} is not this user's own")
    if not (file.is_file() and file.read_bytes() == content):
        draft = file.with_name(f".{os.getpid()}-{get_ident()}")
        draft.touch(0o600)
        draft.write_bytes(content)
        draft.replace(file)
    return str(file)
