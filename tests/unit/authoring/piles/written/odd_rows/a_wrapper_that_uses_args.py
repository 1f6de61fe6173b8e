from up import lib, user
from up.lib import C

args = 5
old = lib.f


def f(a, b=0):
    return args, old(a, b)


lib.f = f
