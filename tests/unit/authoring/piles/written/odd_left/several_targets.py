from up import lib, user
from up.lib import C

C.size, lib.extra = 1, 2
C.new = 1
