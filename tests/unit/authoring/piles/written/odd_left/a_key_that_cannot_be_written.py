from up import lib, user
from up.lib import C

lib.TABLE['a]"'] = 5
C.new = 1
