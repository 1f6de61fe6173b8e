from up import lib, user
from up.lib import C


def g(*_):
    return 0


if not lib:
    for name, value in (("g", g), ("f", g)):
        setattr(lib, name, value)
lib.extra = 1
