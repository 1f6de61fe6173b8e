"""Finds the files of a workspace that a step has changed, and gives them back if it failed."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from patchkit.authoring.scripts.workspace import Workspace

_Stamp = tuple[int, int, int]
"""When a file was written, its bytes, and its number in the file system."""
_COMPILED = ".pyc"


class Snapshot:
    """The files of a workspace as they are now, to compare with later.

    Files in the folder for temporary ones, and the tools, do not count.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._folders = (workspace.prefix, workspace.root, workspace.home)
        self._folder = workspace.folder
        self._contents: dict[str, bytes] = {}
        self._stamps: dict[str, _Stamp] = {}
        # Compared with nothing, all files have changed: they are taken as they are.
        self.accept(self.changed())

    def changed(self) -> dict[str, bytes | None]:
        """Return the files that differ: by path in the workspace, what they hold; None if gone."""
        changed: dict[str, bytes | None] = {}
        stamps = dict(self._walk())
        for path, stamp in stamps.items():
            if self._stamps.get(path) == stamp:
                continue  # nobody has written it since, so it need not be read
            content = (self._folder / path).read_bytes()
            if self._contents.get(path) != content:
                changed[path] = content
        for path in self._contents:
            if path not in stamps:
                changed[path] = None
        return changed

    def accept(self, changed: Mapping[str, bytes | None]) -> None:
        """Take changed files for the state that later ones are compared with.

        Args:
            changed: What `changed` returned.
        """
        for path, content in changed.items():
            if content is None:
                del self._contents[path]
            else:
                self._contents[path] = content
        self._stamps = dict(self._walk())

    def revert(self, changed: Mapping[str, bytes | None]) -> None:
        """Give changed files back, as they were when they were accepted last.

        Args:
            changed: What `changed` returned.
        """
        for path in changed:
            file = self._folder / path
            original = self._contents.get(path)
            if original is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(original)
        self._stamps = dict(self._walk())

    def _walk(self) -> Iterator[tuple[str, _Stamp]]:
        """Yield the path in the workspace, and the stamp, of each file that counts."""
        for top in self._folders:
            for folder, _, names in os.walk(top):
                for name in names:
                    file = Path(folder, name)
                    if name.endswith(_COMPILED) or not file.is_file():
                        continue
                    status = file.stat()
                    stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                    yield file.relative_to(self._folder).as_posix(), stamp
