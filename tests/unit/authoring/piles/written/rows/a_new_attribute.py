from up import lib
from up.lib import C

C.new = 5
lib.extra = "new"
