"""Keeps beartype's import hooks from checking patchkit's own modules.

beartype can check the annotations of every module that is imported. Many names in patchkit's
annotations are imported for static checkers only (`if TYPE_CHECKING:`), as a start has to be fast.
At run time beartype would not find them, and the first call would fail.
"""

import sys
from contextlib import suppress

CLAW = "beartype.claw"
"""beartype's module of import hooks; once it is imported, a hook may be set for every module."""


def leave_unchecked(hooks: object) -> None:
    """Tell beartype's import hooks to check nothing in patchkit, unless a user has asked them to.

    Args:
        hooks: The module `beartype.claw`.
    """
    beartype = sys.modules["beartype"]
    # An older beartype lacks some of these names; and if a user has set a hook for patchkit,
    # beartype refuses another.
    with suppress(Exception):
        # O0: no check of calls; and none of annotated assignments (PEP 526).
        conf = beartype.BeartypeConf(
            strategy=beartype.BeartypeStrategy.O0, claw_is_pep526=False
        )
        package = __name__.partition(".core.")[0]
        hooks.beartype_package(package, conf=conf)  # type: ignore[attr-defined]


if CLAW in sys.modules:
    leave_unchecked(sys.modules[CLAW])
