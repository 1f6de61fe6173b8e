from up import lib, user
from up.lib import C


def g():
    return "g"


own = lib.g = g
lib.extra = own()
