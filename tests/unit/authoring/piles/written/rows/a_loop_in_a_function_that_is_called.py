from up import lib
from up.lib import C


def m(self, a, b=0):
    return "new"


def start():
    for name, value in (("m", m), ("new", m)):
        setattr(C, name, value)
    C.new = 7


start()
