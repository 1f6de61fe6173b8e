from up import lib, user
from up.lib import C

match 1:
    case 1:
        C.size = 1
C.new = 1
