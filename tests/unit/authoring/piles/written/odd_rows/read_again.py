from up import lib, user
from up.lib import C

lib.g = lambda: "new"
lib.extra = lib.g()
C.new = 1
