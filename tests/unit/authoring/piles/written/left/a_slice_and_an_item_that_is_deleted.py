from up import lib
from up.lib import C

lib.LIST[:] = [7]
del lib.LIST[0]
lib.LIST.sort()
C.new = 1
