from up import lib
from up.lib import C

C.size = 1 + 1
C.p = property(lambda self: "new")
