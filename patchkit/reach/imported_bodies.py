"""
A body that somebody else imports brings patchkit with it.

Unpickling an object of a body imports the body's pack, and the pack imports patchkit's vocabulary.
That installs a finder which arms the process just before a body executes. The session, once there,
loads bodies itself, and the finder goes.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from patchkit.imports.finder import Finder
from patchkit.process.lineage import tests_decide

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class BodyFinder(Finder):
    """Arms the process when a body is imported."""

    def __init__(self) -> None:
        super().__init__(self)
        self.is_resting = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Watch a name as soon as it turns out to be a body's."""
        if _is_body(name):
            self.watch((name,))
        return super().find_spec(name, path, target)

    def importing(self, name: str) -> None:  # noqa: ARG002 - any body will do
        """Arm, before the body executes and imports what it patches."""
        if self.is_resting or tests_decide(os.environ):
            return
        self.uninstall()
        importlib.import_module("patchkit.auto")  # by name: the session is a layer above

    def imported(self, name: str, module: ModuleType) -> None:
        """Nothing is left to do."""

    def import_ended(self, name: str) -> None:
        """Nor here."""

    def main_unreachable(self, name: str, reason: str) -> None:
        """Nor here: whoever arms the process will be told."""


def watch_bodies() -> None:
    """Install a BodyFinder, unless there is one."""
    if not any(isinstance(finder, BodyFinder) for finder in sys.meta_path):
        BodyFinder().install()


def stop_watching_bodies() -> None:
    """Remove it: the session takes over."""
    for finder in list(sys.meta_path):
        if isinstance(finder, BodyFinder):
            finder.uninstall()


def rest_from_bodies(*, resting: bool) -> None:
    """Have it do nothing for a while: a session that does not arm the process loads bodies."""
    for finder in list(sys.meta_path):
        if isinstance(finder, BodyFinder):
            finder.is_resting = resting


def _is_body(name: str) -> bool:
    pack, _, tail = name.rpartition(".")
    return tail.startswith("patch_") and hasattr(sys.modules.get(pack), "PATCHES")
