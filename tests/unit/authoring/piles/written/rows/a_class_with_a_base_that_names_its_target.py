from up import lib
from up.lib import C

from pile.tools import ArcticPatch


class P(ArcticPatch[C]):
    new = 3

    def m(self, a, b=0):
        return "new"
