from up import lib, user
from up.lib import C

vars(C).get("size") or vars(lib).update(extra=1)
C.new = 1
