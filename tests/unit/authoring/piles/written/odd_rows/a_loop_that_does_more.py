from up import lib, user
from up.lib import C

WAS = {}


def g(*_):
    return 0


def h(*_, **__):
    return 1


for name, value in (("g", g), ("f", h)):
    WAS[name] = getattr(lib, name)
    setattr(lib, name, value)
lib.extra = sorted(WAS)
