from up import lib, user
from up.lib import C

done = [setattr(C, "size", 2)]
C.new = 1
