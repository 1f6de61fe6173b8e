from up import lib, user
from up.lib import C


def start():
    def g():
        return 0

    lib.g = g
    assert lib.g is g


start()
