from up import lib
from up.lib import C

C.size += 1
C.new = 1
