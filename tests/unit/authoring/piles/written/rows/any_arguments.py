from up import lib
from up.lib import C

old = lib.f


def f(*args, **kwargs):
    return "new", old(*args, **kwargs)


lib.f = f
