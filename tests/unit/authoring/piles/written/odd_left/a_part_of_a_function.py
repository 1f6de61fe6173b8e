from up import lib, user
from up.lib import C

lib.f.__defaults__ = (5,)
C.new = 1
