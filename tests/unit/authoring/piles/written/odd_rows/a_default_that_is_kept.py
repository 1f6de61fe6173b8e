from up import lib, user
from up.lib import C

old = lib.f


def f(a, b=0, seen=[]):
    seen.append(a)
    return old(a, b), list(seen)


lib.f = f
