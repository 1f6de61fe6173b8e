from up import lib, user
from up.lib import C

from up.lib import TABLE

TABLE |= {"b": 2}
C.new = 1
