from up import lib, user
from up.lib import C


class Patch:
    lib.TABLE.update(b=2)


C.new = 1
