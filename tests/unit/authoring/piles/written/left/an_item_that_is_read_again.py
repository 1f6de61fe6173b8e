from up import lib
from up.lib import C

lib.TABLE["a"] = 2
lib.extra = lib.TABLE["a"]
