from up import lib, user
from up.lib import C

old = C.m


def m(self, a, b=0):
    return (lambda old: old(self, a))(len)


C.m = m
