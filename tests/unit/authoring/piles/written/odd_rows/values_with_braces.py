from up import lib, user
from up.lib import C

setattr(lib, "extra", {"a": 1})
lib.g = C.new = {}
lib.g = print
