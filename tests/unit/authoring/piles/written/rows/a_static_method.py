from up import lib
from up.lib import C

C.s = staticmethod(lambda a: "new")
