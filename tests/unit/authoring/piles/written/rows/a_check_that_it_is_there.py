from up import lib
from up.lib import C


def g():
    return "new"


lib.g = g
assert lib.g is g
