"""Beartype's import hooks leave patchkit's own modules as they are.

What annotations name here is often imported for static checkers only, as a start has to be fast. A
check of them at run time finds no such name, and the first call would fail.
"""

import sys
from contextlib import suppress

CLAW = "beartype.claw"
"""The module of the hooks; once it is there, somebody may switch one on for every module."""


def leave_unchecked(claw: object) -> None:
    """Have beartype's import hooks check nothing in patchkit, unless somebody asked for that."""
    beartype = sys.modules["beartype"]
    with suppress(Exception):  # of an older one, or patchkit was named to it
        conf = beartype.BeartypeConf(strategy=beartype.BeartypeStrategy.O0, claw_is_pep526=False)
        claw.beartype_package(__name__.partition(".core.")[0], conf=conf)  # type: ignore[attr-defined]


if CLAW in sys.modules:
    leave_unchecked(sys.modules[CLAW])
