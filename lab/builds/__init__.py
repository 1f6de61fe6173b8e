"""What releases of vLLM need after their install before they run on a machine without accelerators.

One module a release, whose `build(place)` works on the environment in the folder `place`; beside
them what they share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class BuildError(Exception):
    """A build failed; the message says what was found and what was expected."""


def packages_of(place: Path) -> Path:
    """The folder of an environment's packages.

    Raises:
        BuildError: there is not exactly one.
    """
    found = sorted(place.glob("lib/python3.*/site-packages"))
    if len(found) != 1:
        raise BuildError(
            f"{place}: found {len(found)} folders of packages, expected one"
        )
    return found[0]
