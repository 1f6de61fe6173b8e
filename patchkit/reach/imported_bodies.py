"""
Arms a process in which other code imports a body.

Unpickling an object of a body imports the pack, and the pack imports patchkit. That installs a
finder which arms the process just before a body executes. A session loads bodies itself, so the
finder does nothing where the process has one.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from patchkit.imports.finder import Finder
from patchkit.process.roles import tests_decide

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class BodyFinder(Finder):
    """Arms the process when a body is imported."""

    def __init__(self) -> None:
        super().__init__(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Watch a name if it is that of a body."""
        if _has_session():
            return None
        if _is_body(name):
            self.watch((name,))
        return super().find_spec(name, path, target)

    def importing(self, name: str) -> None:  # noqa: ARG002 - any body will do
        """Arm the process before the body executes and imports its targets."""
        if not (_has_session() or tests_decide(os.environ)):
            importlib.import_module("patchkit.auto")  # by name: it is above this module

    def imported(self, name: str, module: ModuleType) -> None:
        """Do nothing."""

    def import_ended(self, name: str) -> None:
        """Do nothing."""

    def main_unreachable(self, name: str, reason: str) -> None:
        """Do nothing."""


def watch_bodies() -> None:
    """Install a BodyFinder, unless there is one."""
    if not any(isinstance(finder, BodyFinder) for finder in sys.meta_path):
        BodyFinder().install()


def _has_session() -> bool:
    """Whether this process has a session, which has a finder of its own."""
    return any(type(finder) is Finder for finder in sys.meta_path)


def _is_body(name: str) -> bool:
    pack, _, tail = name.rpartition(".")
    return tail.startswith("patch_") and hasattr(sys.modules.get(pack), "PATCHES")
