from up import lib
from up.lib import C

for name, value in (("m", 1 + 1), ("new", 2)):
    setattr(C, name, value)
C.size = 2
