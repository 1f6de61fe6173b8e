from up import lib, user
from up.lib import C

lib.__setattr__("extra", 1)
C.new = 1
