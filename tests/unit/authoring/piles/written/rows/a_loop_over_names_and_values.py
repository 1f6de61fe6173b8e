from up import lib
from up.lib import C

NEW = 5


def m(self, a, b=0):
    return "new"


for name, value in (("m", m), ("new", NEW)):
    setattr(C, name, value)
