from up import lib, user
from up.lib import C

LIMIT = 1
old = C.m


def m(self, a, b=LIMIT):
    return old(self, a, b)


C.m = m
LIMIT = 2
