"""
Modules that are being imported while a pass is made, by other threads most often.

The pass may have looked into one before it took its copy, from a module that the pass had yet to
come to; or while the copy lay in the body of a class that is not there yet.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from patchkit.imports.half_imported import (
    being_imported,
    is_initializing,
    spec_of,
    when_initialized,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Latecomers:
    """
    Those that are half imported now, and those that begin to be from now on.

    Args:
        modules: names of the modules that the pass is for.

    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._known = frozenset(modules)
        self._half = [
            name for name in self._known & being_imported() if is_initializing(_spec(name))
        ]

    def revisit(self, look: Callable[[str], None]) -> None:
        """Call `look(name)` of each as soon as it has been imported."""
        new = [name for name in list(sys.modules) if name not in self._known]
        for name in (*self._half, *new):
            spec = _spec(name)
            if not (is_initializing(spec) and when_initialized(spec, look, name)):
                look(name)


def _spec(name: str) -> object:
    module = sys.modules.get(name)
    return None if module is None else spec_of(module)
