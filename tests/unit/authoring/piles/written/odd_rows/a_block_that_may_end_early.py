from up import lib, user
from up.lib import C

import contextlib

with contextlib.suppress(ZeroDivisionError):
    1 / 0
    C.new = 1
lib.extra = 2
