from up import lib, user
from up.lib import C


class Patch:
    lib.extra = 1


C.new = 1
