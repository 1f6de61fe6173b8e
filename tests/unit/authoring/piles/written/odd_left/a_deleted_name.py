from up import lib, user
from up.lib import C

delattr(lib, "g")
C.new = 1
