"""Releases of `up`, of which `patchkit new` starts patches."""

from __future__ import annotations

OLD = "def f(alpha): return alpha\n"
MOD = '''\
import os
from .types import Mode

LIMIT = 3


def f(alpha, beta: int = 2, /, *rest, mode=Mode.FAST, path=os.sep, text: str | None = None):
    """Add them."""
    total = alpha + beta
    return total


def plain(alpha, beta: int = 2, /, *rest, mode="fast", text: str | None = None, **more): ...


async def later(): ...


class C:
    STEP = 2

    def m(self, size=STEP): ...
    @property
    def p(self): return 1
'''
TYPES = "class Mode:\n    FAST = 1\n"
GONE = """\
def gone(alpha, beta):
    pairs = {one: two for one, two in zip(alpha, beta) if two is not None}
    for one, two in pairs.items():
        if one < two:
            return [one + two, one - two, len(pairs)]
    return sorted(pairs, key=lambda one: pairs[one])
"""
MOVED = {"mod": MOD, "types": TYPES, "late": GONE}
RELEASES = {
    "1.0": {"mod": f"{OLD}{GONE}", "types": ""},
    "1.2": MOVED,
}
