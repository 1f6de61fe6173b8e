from up import lib
from up.lib import C

setattr(C, "m".lower(), 1)
C.new = 1
