from up import lib
from up.lib import C


class E(C):
    def m(self, a, b=0):
        return "E"


lib.C = E
