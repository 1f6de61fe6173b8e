from up import lib, user
from up.lib import C

import sys

sys.modules["up.other"] = lib
C.new = 1
