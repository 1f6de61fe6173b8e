from up import lib
from up.lib import C


def fill():
    lib.C.table.update(a=1)


fill()
C.new = 1
