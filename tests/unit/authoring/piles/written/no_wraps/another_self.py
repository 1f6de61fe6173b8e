from up import lib, user
from up.lib import C

old = C.m


def m(self, a, b=0):
    self = lib.D()
    return old(self, a)


C.m = m
