from up import lib, user
from up.lib import C


class E(C):
    size = 7


lib.C = E


class F(lib.C):
    pass


lib.extra = F.size
