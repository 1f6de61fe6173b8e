"""How a process begins that is patched from its own first line: by an import, or by an object.

Nothing of vLLM, torch or Ray may have been imported by then.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def of(words: Sequence[str]) -> None:
    """Do what the command line asks for before everything else."""
    if "--patchkit" in words:
        import patchkit.auto  # noqa: F401
    if "--object" in words:
        pickle.loads(Path(words[words.index("--object") + 1]).read_bytes())
