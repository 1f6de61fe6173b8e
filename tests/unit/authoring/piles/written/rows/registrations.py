from up import lib
from up.lib import C

from pile.tools import register_patch


@register_patch(target="up.lib.C.m", reason="why")
def m(self, a, b=0):
    return "new"


register_patch(target="up.lib.g", reason="too")(lambda: "new")
