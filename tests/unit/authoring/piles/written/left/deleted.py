from up import lib
from up.lib import C

del C.size
C.new = 1
