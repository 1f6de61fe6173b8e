from up import lib
from up.lib import C


def late():
    C.m = 1


C.size = 2
