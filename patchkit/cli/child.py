"""The environment with which `patchkit run` starts a command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import patchkit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WAY_IN = str(Path(patchkit.__file__).absolute().parent / "bootstrap" / "run")
"""The folder whose `sitecustomize` arms a Python process."""


def child_environment(
    environ: Mapping[str, str], packs: Iterable[str], journal: str
) -> dict[str, str]:
    """Make the environment that arms every Python process of a command, wherever it goes."""
    folders = environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [folder for folder in folders if folder != WAY_IN]
    path = WAY_IN if others in ([], [""]) else os.pathsep.join([WAY_IN, *others])
    ours = {
        "PYTHONPATH": path,
        "PATCHKIT": "1",
        "PATCHKIT_JOURNAL": str(Path(journal).absolute()),
        "PATCHKIT_PATCHES": ",".join(dict.fromkeys(packs)),
    }
    return {**environ, **{name: value for name, value in ours.items() if value}}
