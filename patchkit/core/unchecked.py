"""Keeps beartype's import hooks from checking patchkit's own modules.

What annotations name here is often imported for static checkers only, as a start has to be fast. A
check of them at run time finds no such name, and the first call would fail.
"""

import sys
from contextlib import suppress

CLAW = "beartype.claw"
"""The module of the hooks; once it is there, somebody may switch one on for every module."""


def leave_unchecked(hooks: object) -> None:
    """Have beartype's import hooks check nothing in patchkit, unless somebody asked for that.

    Args:
        hooks: The module `beartype.claw`.
    """
    beartype = sys.modules["beartype"]
    with suppress(Exception):  # of an older one, or patchkit was named to it
        conf = beartype.BeartypeConf(
            strategy=beartype.BeartypeStrategy.O0, claw_is_pep526=False
        )
        package = __name__.partition(".core.")[0]
        hooks.beartype_package(package, conf=conf)  # type: ignore[attr-defined]


if CLAW in sys.modules:
    leave_unchecked(sys.modules[CLAW])
