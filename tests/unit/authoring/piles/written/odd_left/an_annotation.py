from up import lib, user
from up.lib import C

C.size: int = 3
C.new = 1
