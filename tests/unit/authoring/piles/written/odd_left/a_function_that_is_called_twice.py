from up import lib, user
from up.lib import C


def install(owner, value):
    def f(a, b=0):
        return value

    lib.f = f


install(lib, 1)
install(lib, 2)


C.new = 1
