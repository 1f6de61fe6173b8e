"""Says which file of some packs was changed last, for the error of processes that disagree."""

import os
import sys
import time
from collections.abc import Iterable, Iterator


def last_change(packs: Iterable[str]) -> str:
    """Say which file of packs was changed last, and when.

    A file that changes on disk after the main process has read it makes a worker disagree, too,
    even one on the same node.

    Args:
        packs: The names of the packs, which have been imported.

    Returns:
        Sentences that follow others; "" if there are no files.
    """
    changes: list[tuple[float, str]] = []
    for pack in packs:
        for folder in getattr(sys.modules.get(pack), "__path__", ()):
            changes += _changes(folder)
    if not changes:
        return ""
    changed, path = max(changes)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(changed))
    return (
        f" On this node, the file that was changed last is {path}, at {when}: if that was after "
        "the main process had started, restart the engine."
    )


def _changes(folder: str) -> Iterator[tuple[float, str]]:
    """Yield when each file was changed last, and its path; caches and hidden files are left out."""
    for parent, subfolders, names in os.walk(folder):
        subfolders[:] = [
            name
            for name in subfolders
            if name != "__pycache__" and not name.startswith(".")
        ]
        for name in names:
            path = f"{parent}/{name}"
            is_code = not name.startswith(".") and not name.endswith(".lock")
            if is_code and os.path.exists(path):  # noqa: PTH110 - links may lead nowhere
                yield os.path.getmtime(path), path  # noqa: PTH204
