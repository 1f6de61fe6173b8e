from up import lib, user
from up.lib import C

old = C.m


def m(*args, **kwargs):
    return args[0].size, old(*args, **kwargs)


C.m = m
