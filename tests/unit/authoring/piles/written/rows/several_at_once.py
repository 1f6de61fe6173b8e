from up import lib
from up.lib import C

lib.extra = C.new = 7
