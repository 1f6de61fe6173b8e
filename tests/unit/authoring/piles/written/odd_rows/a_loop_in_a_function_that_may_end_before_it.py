from up import lib, user
from up.lib import C


def g(*_):
    return 0


def start():
    if lib:
        return
    for name, value in (("g", g), ("f", g)):
        setattr(lib, name, value)


start()
lib.extra = 1
