from up import lib, user
from up.lib import C

import contextlib

with contextlib.suppress(Exception):
    old = lib.f


def f(a, b=0):
    return 0, old(a, b)


lib.f = f
