"""Count the files of patchkit that one row passes through, from its declaration to "applied".

A pack with one Replace is armed, and its target imported, with a profiler on. For both steps this
tells how many files' functions are called, and how often a call is in another file than the one
before it. Run it as `python tools/row_path.py`; with `--files` it names the files, with their
switches.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

FILES = {
    "up/__init__.py": "",
    "up/mod.py": "def function(): return 'old'\n",
    "pack/__init__.py": """
from patchkit import Patch, Replace, Role
PATCHES = (
    Patch(
        name="p",
        body="patch_a",
        requires=("up>=1",),
        roles={Role.MAIN},
        changes=(Replace("up.mod:function", by="function"),),
    ),
)
""",
    "pack/patch_a.py": "def function(): return 'new'\n",
}

LATE = (
    "patchkit.runtime.reach.arming",
    "patchkit.runtime.process.applier",
    "patchkit.runtime.changes.objects.replace",
    "patchkit.runtime.copies.repointing",
    "patchkit.core.lock.files",
    "importlib.metadata",
    "packaging.requirements",
)
"""Imported first, as the import of patchkit's own modules is no part of a row's path."""


class Trail:
    """The files that calls were in, and how often a call was in another one than the last."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self._last = ""

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the calls of this thread."""
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        file = str(frame.f_globals.get("__name__", ""))
        # No module, no class body.
        is_function = bool(frame.f_code.co_flags & CO_OPTIMIZED)
        is_ours = (
            event == "call" and is_function and file.partition(".")[0] == "patchkit"
        )
        if file == "patchkit.core.record":  # an `__init__`, wherever it is inherited
            is_ours = False
        if is_ours and file != self._last:
            self.entered[file] += 1
            self._last = file

    def __str__(self) -> str:
        return f"{len(self.entered)} files, {self.entered.total() - 1} switches"


def follow(folder: Path) -> tuple[Trail, Trail]:
    """Arm for a pack in this folder, then import its target; return both paths."""
    for name, source in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
    sys.path.insert(0, str(folder))
    os.environ.update(PATCHKIT_PATCHES="pack", PATCHKIT_ONLY="p")
    os.environ.update(PATCHKIT_VERSIONS="up=1.0", PATCHKIT_VERIFY="0")
    for name in LATE:
        importlib.import_module(name)
    arming, applying = Trail(), Trail()
    with arming.followed():
        importlib.import_module("patchkit.auto")
    with applying.followed():
        module = importlib.import_module("up.mod")
    if module.function() != "new":
        raise SystemExit("the row was not applied")
    return arming, applying


def main() -> None:
    """Print both paths."""
    with tempfile.TemporaryDirectory() as folder:
        for words, path in zip(
            ("to arm", "to apply"), follow(Path(folder)), strict=True
        ):
            print(f"{words}: {path}")
            for name, times in (
                path.entered.most_common() if "--files" in sys.argv else ()
            ):
                print(f"  {times:4} {name}")


if __name__ == "__main__":
    main()
