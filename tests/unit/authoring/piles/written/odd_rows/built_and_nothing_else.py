from up import lib, user
from up.lib import C

from pile.tools import register_patch


@register_patch(target="up.lib.C.s", reason="why", build=True)
def make():
    return staticmethod(lambda a: "new")
